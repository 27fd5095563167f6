//===- SizedPlans.cpp - A plan with other micro-batches -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "plans/Layers.h"
#include "plans/PlanFactory.h"
#include "plans/PlanFigures.h"

#include "mlir/IR/Builders.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// Tries at most this many sizes: those nearest to the plan's own.
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
    // Only plans of equal micro-batches have copies of other sizes.
    return inProportion((own.*get)().front(), (estimate.*get)().front(),
                        (here.*get)().front());
  };
  return StageCostsAttr::get(
      base.getContext(), time(&StageCostsAttr::getForwardNs),
      time(&StageCostsAttr::getInputGradNs),
      time(&StageCostsAttr::getWeightGradNs), here.getActivationBytes(),
      here.getInputGradFreesBytes(), here.getOutputBytes(), own.getStepNs(),
      time(&StageCostsAttr::getRecomputeNs), here.getRecomputedBytes(),
      here.getCheckpointBytes(), here.getInputGradKeepsBytes(),
      here.getOutputWithoutGradBytes(), here.getOffloadBytes());
}

/// With the same samples in another number of micro-batches.
static OwningOpRef<PlanOp> copyOfBase(PlanFactory &factory,
                                      int64_t microbatches) {
  PlanOp base = factory.base();
  OwningOpRef<PlanOp> plan = factory.copyOfBase();
  Builder builder(plan->getContext());
  const int64_t samples =
      base.getSamplesOfMicrobatch() * int64_t(base.getMicrobatches());
  plan->setMicrobatches(microbatches);
  plan->setSamplesAttr(builder.getI64IntegerAttr(samples / microbatches));
  for (StageOp stage : plan->getStages())
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

/// If stages of the base have times of their own, those of other sizes are in
/// proportion to them.
static CostSources sourcesOf(PlanOp plan, PlanOp base) {
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

/// Keeps a copy of the base with other micro-batches.
static Result<size_t> keepSized(PlanFactory &factory, int64_t microbatches,
                                Problem &problem) {
  PlanOp base = factory.base();
  OwningOpRef<PlanOp> plan = copyOfBase(factory, microbatches);
  if (std::optional<Fault> fault = factory.check(*plan))
    return std::move(*fault);
  const StageFigures estimates(base), figures(*plan);
  for (auto [stage, written] :
       llvm::zip_equal(plan->getStages(), base.getStages())) {
    if (!areDerived(written, estimates))
      return makeFault<FaultKind::BuffersOfOneSize>(
          StageOp(written).getSymName().str(), int64_t(base.getMicrobatches()));
    StageOp(stage).setCostsAttr(
        costsLike(written, estimates.costs(written), figures.costs(stage)));
    StageOp(stage).setBuffersByReplica(figures.buffers(stage));
  }
  return factory.keep(std::move(plan), problem);
}

static Result<SizedPlan> makeSized(PlanFactory &factory, int64_t microbatches,
                                   int64_t memoryBytes, bool hasNorm) {
  SizedPlan sized;
  Result<size_t> id = microbatches == 0
                          ? factory.keepBase(sized.problem)
                          : keepSized(factory, microbatches, sized.problem);
  if (!id)
    return std::move(id.fault());
  sized.id = *id;
  PlanOp plan = factory.plan(sized.id);
  sized.figures = figuresOf(plan, hasNorm);
  sized.costs = sourcesOf(plan, factory.base());
  const std::vector<int64_t> state = stateBytes(plan);
  for (size_t rank = 0; rank < sized.figures.devices.size(); ++rank) {
    int64_t &device = sized.figures.devices[rank];
    int64_t &cap = sized.problem.memoryCaps[rank];
    device = std::min(device, memoryBytes);
    if (memoryBytes != noMemoryCap)
      cap = std::min(cap, std::max<int64_t>(0, memoryBytes - state[rank]));
  }
  return sized;
}

/// Numbers of micro-batches into which the samples of an iteration can be
/// split, those nearest to the plan's own, in ascending order.
static std::vector<int64_t> numbersFor(PlanOp plan) {
  const int64_t own = plan.getMicrobatches();
  const int64_t samples = plan.getSamplesOfMicrobatch() * own;
  ModelOp model = plan.lookupModel();
  if (samples == 0 || model.findLayerOfOneSize() ||
      llvm::any_of(model.getLayers(), [](LayerOp layer) {
        return bool(layer.getSyntheticAttr());
      }))
    return {own};
  std::vector<int64_t> numbers;
  for (int64_t number = 1; number <= samples; ++number)
    if (samples % number == 0 && !model.findLayerWithoutSize(samples / number))
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

SizedPlans rondo::pipe::sizedPlans(PlanFactory &factory, int64_t memoryBytes,
                                   bool hasNorm) {
  PlanOp base = factory.base();
  SizedPlans plans;
  plans.samples = std::max<int64_t>(1, base.getSamplesOfMicrobatch()) *
                  int64_t(base.getMicrobatches());
  plans.microbatches = numbersFor(base);
  plans.make = [&factory, memoryBytes, hasNorm](int64_t microbatches) {
    return makeSized(factory, microbatches, memoryBytes, hasNorm);
  };
  return plans;
}
