//===- MeasuredCosts.cpp - Puts measured times into a module --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/MeasuredCosts.h"

#include "dialect/Pipe.h"
#include "formats/json/CostsReader.h"
#include "passes/Layers.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <optional>

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

std::optional<json::Costs> readCosts(StringRef path) {
  Expected<std::unique_ptr<MemoryBuffer>> text = readFile(path);
  if (!text) {
    reportError(toString(text.takeError()));
    return {};
  }
  Expected<json::Costs> costs = json::readCosts((*text)->getBuffer());
  if (!costs) {
    reportError(path + ": " + toString(costs.takeError()));
    return {};
  }
  return std::move(*costs);
}

} // namespace

bool applyCosts(mlir::ModuleOp module, StringRef path) {
  const std::optional<json::Costs> costs = readCosts(path);
  if (!costs)
    return false;
  MapVector<pipe::PlanOp, size_t> measured;
  for (const json::StageTimes &times : costs->stages) {
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

bool applyLayerCosts(pipe::PlanOp allLayers, StringRef path) {
  const std::optional<json::Costs> costs = readCosts(path);
  if (!costs)
    return false;
  const auto target = stringifyTarget(allLayers.getTargetKind());
  const auto dtype = stringifyDType(allLayers.getDType());
  if (costs->microbatchSamples == 0 || costs->target.empty() ||
      costs->dtype.empty()) {
    reportError(path + ": it does not say what was measured (layers, "
                       "microbatch_samples, target, dtype): measure again with "
                       "--profile");
    return false;
  }
  if (costs->target != target || costs->dtype != dtype) {
    reportError(path + ": measured on target " + costs->target + " in " +
                costs->dtype + ", but the plan is for " + target + " in " +
                dtype);
    return false;
  }
  pipe::ModelOp model = allLayers.lookupModel();
  llvm::StringMap<pipe::LayerOp> layers;
  llvm::StringMap<pipe::LayerFigures> figures;
  for (auto [layer, needed] :
       zip_equal(model.getLayers(), pipe::layerFigures(allLayers))) {
    layers[layer.getSymName()] = layer;
    figures[layer.getSymName()] = needed;
  }
  if (all_of(costs->stages, [](const json::StageTimes &times) {
        return times.forwardNs + times.inputGradNs + times.weightGradNs == 0;
      })) {
    reportError(path + ": all times are 0: measure again with --profile");
    return false;
  }
  const std::optional<pipe::ModelSizes> sizes = model.getSizes();
  const double batches =
      double(sizes ? sizes->batch : 1) / double(costs->microbatchSamples);
  for (const json::StageTimes &times : costs->stages) {
    double sums[3] = {};
    for (const std::string &name : times.layers) {
      if (!layers.contains(name)) {
        reportError(path + ": @" + model.getSymName() + " has no layer @" +
                    name + ", of stage @" + times.name);
        return false;
      }
      sums[0] += double(figures[name].forwardNs);
      sums[1] += double(figures[name].inputGradNs);
      sums[2] += double(figures[name].weightGradNs);
    }
    // In proportion to estimates, where a stage has several.
    for (const std::string &name : times.layers) {
      auto part = [&](int64_t measured, int64_t own, double sum) {
        const double share =
            sum > 0 ? double(own) / sum : 1 / double(times.layers.size());
        return std::min(static_cast<int64_t>(
                            std::llround(double(measured) * share * batches)),
                        pipe::maxLayerNs);
      };
      const pipe::LayerFigures &own = figures[name];
      layers[name].setCostsAttr(pipe::LayerCostsAttr::get(
          model.getContext(), part(times.forwardNs, own.forwardNs, sums[0]),
          part(times.inputGradNs, own.inputGradNs, sums[1]),
          part(times.weightGradNs, own.weightGradNs, sums[2])));
    }
  }
  return true;
}

} // namespace rondo::driver
