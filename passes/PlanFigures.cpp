//===- PlanFigures.cpp - What lowering needs to know of a plan ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/PlanFigures.h"

#include "dialect/Bridge.h"
#include "schedule/CollectiveTime.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// Sums of gradients over the homes of stages that have several, from the last
/// stage to the first: the last is the first to have all of its own.
static std::vector<Collective> homeSums(PlanOp plan, const Homes &homes) {
  std::vector<Collective> sums;
  if (!homes.hasReplicas())
    return sums;
  FailureOr<Problem> problem = buildProblem(plan);
  const std::vector<HomeBuffers> buffers = homeBuffers(plan);
  for (int32_t stage = homes.numStages() - 1; stage >= 0; --stage) {
    if (homes.of(stage).size() == 1)
      continue;
    Collective sum;
    sum.kind = rondo::CollectiveKind::HomeGradients;
    for (const Home &home : homes.of(stage))
      sum.homes.push_back(homes.numberOf(stage, home.replica));
    const int64_t bytes =
        buffers[sum.homes.front()][int(BufferKind::Gradients)];
    if (bytes == 0)
      continue;
    if (succeeded(problem))
      sum.ns = sumOverHomesNs(*problem, sum.homes, bytes);
    sums.push_back(std::move(sum));
  }
  return sums;
}

/// What the ranks of a plan do together at the end of an iteration; empty where
/// no stage has weights.
static std::vector<Collective> planCollectives(PlanOp plan) {
  if (!declaresWeights(plan))
    return {};
  const Homes homes = plan.getHomes();
  std::vector<Collective> collectives = homeSums(plan, homes);
  Collective norm;
  for (int32_t home = 0; home < homes.size(); ++home)
    norm.homes.push_back(home);

  ModelOp model = plan.lookupModel();
  if (model.getGptAttr() && model.getGptAttr().getTied()) {
    Collective tied;
    tied.kind = rondo::CollectiveKind::TiedGradients;
    tied.tensor = "wte.weight";
    // The embedding and the head, which share the weight.
    llvm::StringMap<LayerData> data;
    for (LayerOp layer : model.getLayers())
      data[layer.getSymName()] = layer.getData();
    std::vector<bool> isShared(homes.numStages());
    for (auto [s, stage] : llvm::enumerate(plan.getStages()))
      for (FlatSymbolRefAttr layer :
           stage.getLayers().getAsRange<FlatSymbolRefAttr>())
        if (data[layer.getValue()] != LayerData::None)
          isShared[s] = true;
    for (int32_t home = 0; home < homes.size(); ++home)
      if (isShared[homes[home].stage])
        tied.homes.push_back(home);
    if (llvm::count(isShared, true) > 1)
      collectives.push_back(std::move(tied));
  }
  collectives.push_back(std::move(norm));
  return collectives;
}

PlanFigures rondo::pipe::figuresOf(PlanOp plan) {
  return {homeBuffers(plan), planCollectives(plan), deviceBytes(plan),
          declaresWeights(plan)};
}

PlanFigures rondo::pipe::figuresOf(ScheduleOp schedule) {
  PlanFigures figures = figuresOf(schedule.lookupPlan());
  figures.hasNorm = schedule.computesNorm();
  return figures;
}
