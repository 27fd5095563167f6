//===- PlanFactory.cpp - Plans that planners try, as ops ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/PlanFactory.h"

#include "dialect/Bridge.h"
#include "plans/Layers.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

static StringAttr freeName(Operation *module, const Twine &wanted) {
  std::string name = wanted.str();
  while (SymbolTable::lookupSymbolIn(module, name))
    name += "_";
  return StringAttr::get(module->getContext(), name);
}

PlanFactory::PlanFactory(PlanOp source)
    : scratch(ModuleOp::create(source.getLoc())), source(source) {
  OpBuilder builder = OpBuilder::atBlockEnd(scratch->getBody());
  Operation *model = source.lookupModel(), *cluster = source.lookupCluster();
  for (Operation &op : *source->getBlock())
    if (&op == model || &op == cluster || &op == source.getOperation())
      if (auto plan = dyn_cast<PlanOp>(builder.clone(op)))
        basePlan = plan;
}

PlanOp PlanFactory::addToSource(size_t id, const Twine &name) {
  PlanOp plan = kept[id];
  if (plan == basePlan)
    return source;
  OpBuilder builder(source);
  builder.setInsertionPointAfter(source);
  auto copy = cast<PlanOp>(builder.clone(*plan));
  copy.setSymNameAttr(freeName(source->getParentOp(), name));
  return copy;
}

OwningOpRef<PlanOp> PlanFactory::copyOfBase() {
  OpBuilder builder(basePlan);
  builder.setInsertionPointAfter(basePlan);
  auto plan = cast<PlanOp>(builder.clone(*basePlan));
  plan.setSymNameAttr(freeName(*scratch, basePlan.getSymName() + "_" +
                                             std::to_string(kept.size())));
  return plan;
}

/// `value` for a micro-batch of the size that `after` of them have, if it is
/// `value` for one of `before`. A result over 64 bits becomes more than
/// findUnsoundSize() accepts.
static int64_t scaled(int64_t value, int64_t before, int64_t after) {
  constexpr uint64_t most = std::numeric_limits<int64_t>::max() / 2;
  const uint64_t whole =
      llvm::SaturatingMultiply<uint64_t>(value / after, before);
  return std::min(whole, most) + (value % after * before + after - 1) / after;
}

static void scaleLayer(LayerOp layer, int64_t before, int64_t after) {
  auto to = [&](int64_t value) { return scaled(value, before, after); };
  MLIRContext *context = layer.getContext();
  // Costs of several sizes hold for any.
  if (LayerCostsAttr costs = layer.getCostsAttr();
      costs && costs.areOfModelSize())
    layer.setCostsAttr(LayerCostsAttr::get(
        context, /*samples=*/{}, to(costs.getForwardNs().front()),
        to(costs.getInputGradNs().front()),
        to(costs.getWeightGradNs().front())));
  if (SyntheticAttr figures = layer.getSyntheticAttr()) {
    // Only plans of equal micro-batches are resized.
    const SyntheticCosts costs = figures.of(0);
    layer.setBodyAttr(SyntheticAttr::get(
        context,
        SyntheticCosts{to(costs.forwardNs), to(costs.inputGradNs),
                       to(costs.weightGradNs), to(costs.activationBytes),
                       to(costs.inputGradFreesBytes), to(costs.outputBytes),
                       to(costs.inputGradKeepsBytes)},
        figures.getWeightBytes()));
  }
}

ModelOp PlanFactory::resizedModel(int64_t after) {
  ModelOp &resized = models[after];
  if (resized)
    return resized;
  const int64_t before = basePlan.getMicrobatches();
  ModelOp model = basePlan.lookupModel();
  OpBuilder builder(model);
  builder.setInsertionPointAfter(model);
  resized = cast<ModelOp>(builder.clone(*model));
  resized.setSymNameAttr(
      freeName(*scratch, model.getSymName() + "_m" + std::to_string(after)));
  if (ArchitectureAttrInterface architecture = model.getArchitectureAttr())
    resized.setArchitectureAttr(
        architecture.withBatch(model.getSizes()->batch * before / after));
  if (IntegerAttr samples = model.getSamplesAttr())
    resized.setSamplesAttr(
        builder.getI64IntegerAttr(samples.getInt() * before / after));
  for (LayerOp layer : resized.getLayers())
    scaleLayer(layer, before, after);
  return resized;
}

/// The first error of the op's verifiers, which can only report it as a
/// diagnostic. Nobody wrote the op, so the diagnostic's location and notes
/// would not help.
static std::optional<Fault> findVerifierFault(PlanOp plan) {
  std::optional<Fault> fault;
  ScopedDiagnosticHandler handler(
      plan.getContext(), [&](Diagnostic &diagnostic) {
        if (!fault && diagnostic.getSeverity() == DiagnosticSeverity::Error)
          fault = makeFault<FaultKind::PlanRefused>(diagnostic.str());
        return success();
      });
  // verify() leaves out the symbols that the plan uses outside of it.
  SymbolTableCollection tables;
  if (succeeded(verify(plan)) && succeeded(plan.verifySymbolUses(tables)))
    return std::nullopt;
  assert(fault && "a verifier fails with a diagnostic");
  return fault;
}

std::optional<Fault> PlanFactory::check(PlanOp plan) const {
  if (std::optional<Fault> fault = findVerifierFault(plan))
    return fault;
  if (std::optional<UnsoundSize> size =
          findUnsoundSize(plan.lookupModel(), plan))
    return std::move(size->fault);
  return std::nullopt;
}

Result<size_t> PlanFactory::add(PlanOp plan, Problem &problem) {
  Result<Problem> stated = problemOf(plan);
  if (!stated)
    return std::move(stated.fault());
  problem = std::move(*stated);
  problem.name = basePlan.getSymName().str();
  kept.push_back(plan);
  return kept.size() - 1;
}

Result<size_t> PlanFactory::keep(OwningOpRef<PlanOp> plan, Problem &problem) {
  Result<size_t> id = add(*plan, problem);
  if (id)
    plan.release();
  return id;
}

Result<size_t> PlanFactory::keepBase(Problem &problem) {
  return add(basePlan, problem);
}

StageOp rondo::pipe::addStage(PlanOp plan, ArrayRef<LayerOp> layers,
                              ArrayRef<int64_t> ranks) {
  OpBuilder builder = OpBuilder::atBlockEnd(&plan.getBody().front());
  SmallVector<Attribute> names;
  for (LayerOp layer : layers)
    names.push_back(FlatSymbolRefAttr::get(layer.getSymNameAttr()));
  return StageOp::create(
      builder, plan.getLoc(), "s" + std::to_string(plan.getStages().size()),
      builder.getArrayAttr(names), builder.getDenseI64ArrayAttr(ranks),
      /*shares=*/DenseI64ArrayAttr(), /*round_robin=*/false, ShardedAttr(),
      /*recompute=*/ArrayAttr(), /*across=*/false, /*offload=*/ArrayAttr(),
      LoadBefore::InputGrad, /*inputs=*/ArrayAttr(), StageCostsAttr(),
      /*buffers=*/ArrayAttr());
}

void rondo::pipe::resolveStages(PlanOp plan) {
  const StageFigures figures(plan);
  for (StageOp stage : plan.getStages()) {
    stage.setCostsAttr(figures.costs(stage));
    stage.setBuffersByReplica(figures.buffers(stage));
  }
}
