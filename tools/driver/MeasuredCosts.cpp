//===- MeasuredCosts.cpp - Puts measured times into a module --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/MeasuredCosts.h"

#include "dialect/Pipe.h"
#include "formats/json/CostsReader.h"
#include "passes/LayerTimes.h"
#include "passes/Layers.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <array>
#include <cmath>
#include <map>
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

namespace {

/// Times of a layer by the samples of a micro-batch, ascending.
using TimesBySize = std::map<int64_t, pipe::LayerTimes>;

/// A rondo-costs/1 file that says what was measured, for this plan's target;
/// nothing, with an error reported, if it is not.
std::optional<json::Costs> readLayerCosts(pipe::PlanOp allLayers,
                                          StringRef path) {
  std::optional<json::Costs> costs = readCosts(path);
  if (!costs)
    return {};
  const auto target = stringifyTarget(allLayers.getTargetKind());
  const auto dtype = stringifyDType(allLayers.getDType());
  if (costs->microbatchSamples == 0 || costs->target.empty() ||
      costs->dtype.empty())
    reportError(path + ": it does not say what was measured (layers, "
                       "microbatch_samples, target, dtype): measure again with "
                       "--profile");
  else if (costs->target != target || costs->dtype != dtype)
    reportError(path + ": measured on target " + costs->target + " in " +
                costs->dtype + ", but the plan is for " + target + " in " +
                dtype);
  else if (all_of(costs->stages, [](const json::StageTimes &times) {
             return times.forwardNs + times.inputGradNs + times.weightGradNs ==
                    0;
           }))
    reportError(path + ": all times are 0: measure again with --profile");
  else
    return costs;
  return {};
}

/// Divides a stage's times over its layers, in proportion to estimates.
void divide(const json::StageTimes &stage, int64_t samples,
            const StringMap<pipe::LayerFigures> &estimates,
            StringMap<TimesBySize> &times) {
  double sums[3] = {};
  auto estimateOf = [&](StringRef name) {
    const pipe::LayerFigures &own = estimates.find(name)->second;
    return std::array<int64_t, 3>{own.forwardNs, own.inputGradNs,
                                  own.weightGradNs};
  };
  for (const std::string &name : stage.layers)
    for (int k = 0; k < 3; ++k)
      sums[k] += double(estimateOf(name)[k]);
  const int64_t measured[3] = {stage.forwardNs, stage.inputGradNs,
                               stage.weightGradNs};
  for (const std::string &name : stage.layers)
    for (int k = 0; k < 3; ++k) {
      const double share = sums[k] > 0 ? double(estimateOf(name)[k]) / sums[k]
                                       : 1 / double(stage.layers.size());
      times[name][samples].ns[k] = std::min(
          static_cast<int64_t>(std::llround(double(measured[k]) * share)),
          pipe::maxLayerNs);
    }
}

/// Of one size, for a micro-batch of the model's samples; of several, by size.
pipe::LayerCostsAttr costsOf(pipe::ModelOp model, const TimesBySize &times) {
  mlir::MLIRContext *context = model.getContext();
  if (times.size() == 1) {
    const auto &[samples, only] = *times.begin();
    const std::optional<pipe::ModelSizes> sizes = model.getSizes();
    const double batches = double(sizes ? sizes->batch : 1) / double(samples);
    auto scaled = [&](int64_t ns) {
      return std::min(static_cast<int64_t>(std::llround(double(ns) * batches)),
                      pipe::maxLayerNs);
    };
    return pipe::LayerCostsAttr::get(context, scaled(only.ns[0]),
                                     scaled(only.ns[1]), scaled(only.ns[2]), {},
                                     {}, {}, {});
  }
  SmallVector<int64_t> samples, lists[3];
  for (const auto &[size, own] : times) {
    samples.push_back(size);
    for (int k = 0; k < 3; ++k)
      lists[k].push_back(own.ns[k]);
  }
  return pipe::LayerCostsAttr::get(context, 0, 0, 0, samples, lists[0],
                                   lists[1], lists[2]);
}

} // namespace

bool applyLayerCosts(pipe::PlanOp allLayers, ArrayRef<std::string> paths) {
  pipe::ModelOp model = allLayers.lookupModel();
  StringMap<pipe::LayerFigures> estimates;
  for (auto [layer, needed] :
       zip_equal(model.getLayers(), pipe::layerFigures(allLayers)))
    estimates[layer.getSymName()] = needed;
  StringMap<TimesBySize> times;
  for (const std::string &path : paths) {
    const std::optional<json::Costs> costs = readLayerCosts(allLayers, path);
    if (!costs)
      return false;
    for (const json::StageTimes &stage : costs->stages) {
      for (const std::string &name : stage.layers) {
        if (!estimates.contains(name)) {
          reportError(path + ": @" + model.getSymName() + " has no layer @" +
                      name + ", of stage @" + stage.name);
          return false;
        }
        if (times[name].count(costs->microbatchSamples)) {
          reportError(path + ": @" + name + " with micro-batches of " +
                      Twine(costs->microbatchSamples) +
                      " samples was measured in another file too");
          return false;
        }
      }
      divide(stage, costs->microbatchSamples, estimates, times);
    }
  }
  if (!model.getSizes() && paths.size() > 1) {
    reportError("the layers of @" + model.getSymName() +
                " have one size of micro-batches; give one --costs file");
    return false;
  }
  for (pipe::LayerOp layer : model.getLayers())
    if (auto found = times.find(layer.getSymName()); found != times.end())
      layer.setCostsAttr(costsOf(model, found->second));
  return true;
}

} // namespace rondo::driver
