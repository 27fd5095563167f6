//===- PlanFigures.cpp - What lowering needs to know of a plan ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/PlanFigures.h"

#include "dialect/Bridge.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// What the ranks of a plan do together at the end of an iteration; empty where
/// no stage has weights.
static std::vector<Collective> planCollectives(PlanOp plan) {
  std::vector<Collective> collectives;
  if (!declaresWeights(plan))
    return collectives;
  SmallVector<StageOp> stages = plan.getStages();
  Collective norm;
  for (size_t s = 0; s < stages.size(); ++s)
    norm.homes.push_back(static_cast<int32_t>(s));

  ModelOp model = plan.lookupModel();
  if (model.getGptAttr() && model.getGptAttr().getTied()) {
    Collective tied;
    tied.kind = rondo::CollectiveKind::TiedGradients;
    tied.tensor = "wte.weight";
    // The embedding and the head, which share the weight.
    llvm::StringMap<LayerData> data;
    for (LayerOp layer : model.getLayers())
      data[layer.getSymName()] = layer.getData();
    for (auto [s, stage] : llvm::enumerate(stages))
      for (FlatSymbolRefAttr layer :
           stage.getLayers().getAsRange<FlatSymbolRefAttr>())
        if (data[layer.getValue()] != LayerData::None)
          tied.homes.push_back(s);
    if (tied.homes.size() > 1)
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
