//===- MeasuredCosts.cpp - Puts measured times into a module --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/MeasuredCosts.h"

#include "dialect/Pipe.h"
#include "formats/json/CostsReader.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/MapVector.h"

using namespace llvm;

namespace rondo::driver {

namespace {

/// Replaces the stage's times and keeps its bytes.
void setTimes(pipe::StageOp stage, const json::StageTimes &times) {
  pipe::StageCostsAttr costs = stage.getCostsAttr();
  stage.setCostsAttr(pipe::StageCostsAttr::get(
      stage.getContext(), times.forwardNs, times.inputGradNs,
      times.weightGradNs, costs.getActivationBytes(),
      costs.getInputGradFreesBytes(), costs.getOutputBytes(), costs.getStepNs(),
      times.recomputeNs.value_or(costs.getRecomputeNs()),
      costs.getRecomputedBytes(), costs.getCheckpointBytes()));
}

} // namespace

bool applyCosts(mlir::ModuleOp module, StringRef path) {
  Expected<std::unique_ptr<MemoryBuffer>> text = readFile(path);
  if (!text) {
    reportError(toString(text.takeError()));
    return false;
  }
  Expected<std::vector<json::StageTimes>> costs =
      json::readCosts((*text)->getBuffer());
  if (!costs) {
    reportError(path + ": " + toString(costs.takeError()));
    return false;
  }
  MapVector<pipe::PlanOp, size_t> measured;
  for (const json::StageTimes &times : *costs) {
    bool isUsed = false;
    for (pipe::PlanOp plan : module.getOps<pipe::PlanOp>())
      for (pipe::StageOp stage : plan.getStages())
        if (stage.getSymName() == times.name) {
          setTimes(stage, times);
          ++measured[plan];
          isUsed = true;
        }
    if (!isUsed) {
      reportError(path + ": no plan has a stage @" + times.name);
      return false;
    }
  }
  for (auto [plan, stages] : measured)
    if (size_t all = llvm::range_size(plan.getStages()); stages < all)
      reportNote(path + ": measured times for " + Twine(stages) + " of " +
                 Twine(all) + " stages of @" + plan.getSymName() +
                 "; the others keep their estimates");
  return true;
}

} // namespace rondo::driver
