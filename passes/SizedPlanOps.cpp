//===- SizedPlanOps.cpp - A plan with other micro-batches, as ops ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/SizedPlanOps.h"

#include "dialect/Bridge.h"
#include "passes/Layers.h"
#include "passes/PlanFigures.h"
#include "passes/ScratchDiagnostics.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/ScopeExit.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// How many sizes are tried at most: those nearest to the plan's own.
static constexpr size_t maxSizes = 12;

/// Whether a stage's buffers are those that its layers need. If they are
/// stated, nobody knows them for other sizes.
static bool areDerived(StageOp stage, const StageFigures &figures) {
  const SmallVector<BuffersAttr, 1> derived = figures.buffers(stage);
  return llvm::equal(stage.getBuffersAttr().getAsRange<BuffersAttr>(), derived);
}

/// A time of a stage for which a plan of another size has `measured`, and
/// estimates are known for both.
static int64_t inProportion(int64_t measured, int64_t estimate,
                            int64_t estimateHere) {
  if (measured == estimate || estimate == 0)
    return measured == estimate ? estimateHere : measured;
  const double ns =
      double(measured) * (double(estimateHere) / double(estimate));
  return std::min<int64_t>(std::llround(ns), maxLayerNs);
}

/// The costs of a stage of another size: of its layers, with times in
/// proportion to the base's own.
static StageCostsAttr costsLike(StageOp base, StageCostsAttr estimate,
                                StageCostsAttr here) {
  const StageCostsAttr own = base.getCostsAttr();
  auto time = [&](auto get) {
    return inProportion((own.*get)(), (estimate.*get)(), (here.*get)());
  };
  return StageCostsAttr::get(
      base.getContext(), time(&StageCostsAttr::getForwardNs),
      time(&StageCostsAttr::getInputGradNs),
      time(&StageCostsAttr::getWeightGradNs), here.getActivationBytes(),
      here.getInputGradFreesBytes(), here.getOutputBytes(), own.getStepNs(),
      time(&StageCostsAttr::getRecomputeNs), here.getRecomputedBytes(),
      here.getCheckpointBytes());
}

PlanOp SizedPlanOps::copyOfBase(int64_t microbatches) {
  OpBuilder builder(base);
  builder.setInsertionPointAfter(base);
  auto plan = cast<PlanOp>(builder.clone(*base));
  const int64_t samples =
      base.getSamplesOfMicrobatch() * int64_t(base.getMicrobatches());
  std::string name =
      (base.getSymName() + "_m" + std::to_string(microbatches)).str();
  while (SymbolTable::lookupSymbolIn(base->getParentOp(), name))
    name += "_";
  plan.setSymName(name);
  plan.setMicrobatches(microbatches);
  plan.setSamplesAttr(builder.getI64IntegerAttr(samples / microbatches));
  for (StageOp stage : plan.getStages())
    if (const std::optional<ArrayRef<int64_t>> own = stage.getShares()) {
      SmallVector<int64_t> shares;
      for (int64_t share : *own)
        shares.push_back(share * int64_t(base.getMicrobatches()) /
                         microbatches);
      stage.setSharesAttr(builder.getDenseI64ArrayAttr(shares));
    }
  return plan;
}

static bool haveSameTimes(StageCostsAttr a, StageCostsAttr b) {
  return a.getForwardNs() == b.getForwardNs() &&
         a.getInputGradNs() == b.getInputGradNs() &&
         a.getWeightGradNs() == b.getWeightGradNs();
}

/// Where stages of the base have times of their own, those of other sizes are
/// in proportion to them.
CostSources SizedPlanOps::sourcesOf(PlanOp plan) {
  const StageFigures ofBase(base), figures(plan);
  CostSources sources;
  for (auto [stage, written] :
       llvm::zip_equal(plan.getStages(), base.getStages()))
    if (haveSameTimes(StageOp(written).getCostsAttr(), ofBase.costs(written)))
      sources.addAll(figures.sources(stage));
    else if (plan == base)
      sources.add({CostSource::Kind::Stated});
    else
      sources.add(
          {CostSource::Kind::InProportion, base.getSamplesOfMicrobatch()});
  return sources;
}

Result<SizedPlan> SizedPlanOps::valueOf(PlanOp plan) {
  ScratchDiagnostics refusals(plan.getContext());
  FailureOr<Problem> problem = buildProblem(plan);
  if (failed(problem))
    return *refusals.fault;
  SizedPlan sized;
  sized.id = made.size();
  sized.problem = std::move(*problem);
  sized.problem.name = base.getSymName().str();
  sized.figures = figuresOf(plan, hasNorm);
  sized.costs = sourcesOf(plan);
  const std::vector<int64_t> state = stateBytes(plan);
  for (size_t rank = 0; rank < sized.figures.devices.size(); ++rank) {
    int64_t &device = sized.figures.devices[rank];
    int64_t &cap = sized.problem.memoryCaps[rank];
    device = std::min(device, memoryBytes);
    if (memoryBytes != noMemoryCap)
      cap = std::min(cap, std::max<int64_t>(0, memoryBytes - state[rank]));
  }
  made.push_back(plan);
  return sized;
}

Result<SizedPlan> SizedPlanOps::make(int64_t microbatches) {
  if (microbatches == 0)
    return valueOf(base);
  ScratchDiagnostics refusals(base.getContext());
  PlanOp plan = copyOfBase(microbatches);
  llvm::scope_exit erase([&] { plan.erase(); });
  const StageFigures estimates(base), figures(plan);
  if (failed(verify(plan)) || failed(checkLayerSizes(plan.lookupModel(), plan)))
    return *refusals.fault;
  for (auto [stage, written] :
       llvm::zip_equal(plan.getStages(), base.getStages())) {
    if (!areDerived(written, estimates))
      return makeFault<FaultKind::BuffersOfOneSize>(
          StageOp(written).getSymName().str(), int64_t(base.getMicrobatches()));
    StageOp(stage).setCostsAttr(
        costsLike(written, estimates.costs(written), figures.costs(stage)));
    StageOp(stage).setBuffersByReplica(figures.buffers(stage));
  }
  Result<SizedPlan> sized = valueOf(plan);
  if (sized)
    erase.release();
  return sized;
}

void SizedPlanOps::eraseUnused(const std::vector<bool> &used) {
  for (size_t id = 1; id < made.size(); ++id)
    if (!used[id])
      made[id].erase();
}

/// Numbers of micro-batches into which the samples of an iteration can be
/// split, those nearest to the plan's own, in ascending order.
static std::vector<int64_t> numbersFor(PlanOp plan) {
  const int64_t own = plan.getMicrobatches();
  const int64_t samples = plan.getSamplesOfMicrobatch() * own;
  const bool knowOneSize =
      llvm::any_of(plan.lookupModel().getLayers(), [](LayerOp layer) {
        return layer.getCustomAttr() || layer.getSyntheticAttr();
      });
  if (samples == 0 || knowOneSize)
    return {own};
  std::vector<int64_t> numbers;
  for (int64_t number = 1; number <= samples; ++number)
    if (samples % number == 0)
      numbers.push_back(number);
  auto distance = [&](int64_t number) {
    return std::abs(std::log(double(number) / double(own)));
  };
  std::stable_sort(numbers.begin(), numbers.end(), [&](int64_t a, int64_t b) {
    return distance(a) < distance(b);
  });
  numbers.resize(std::min(numbers.size(), maxSizes));
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

SizedPlans SizedPlanOps::plans() {
  SizedPlans plans;
  plans.samples = std::max<int64_t>(1, base.getSamplesOfMicrobatch()) *
                  int64_t(base.getMicrobatches());
  plans.microbatches = numbersFor(base);
  plans.make = [this](int64_t microbatches) { return make(microbatches); };
  return plans;
}
