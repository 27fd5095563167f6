//===- MeasuredCosts.cpp - Puts measured times into a module --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/MeasuredCosts.h"

#include "dialect/Pipe.h"
#include "formats/json/CostsReader.h"
#include "plans/LayerTimes.h"
#include "plans/Layers.h"
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
    reportUnread(path, (*text)->getBuffer(), {formats::FileKind::Costs},
                 toString(costs.takeError()));
    return {};
  }
  return std::move(*costs);
}

} // namespace

static void reportUnmeasured(StringRef path, pipe::PlanOp plan,
                             size_t measured) {
  reportNote(path + ": measured times for " + Twine(measured) + " of " +
             Twine(llvm::range_size(plan.getStages())) + " stages of @" +
             plan.getSymName() + "; the others keep their estimates");
}

static bool applyToStages(mlir::ModuleOp module, StringRef path,
                          const json::Costs &costs) {
  MapVector<pipe::PlanOp, size_t> measured;
  for (const json::StageTimes &times : costs.stages) {
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
    if (stages < llvm::range_size(plan.getStages()))
      reportUnmeasured(path, plan, stages);
  return true;
}

bool applyCosts(mlir::ModuleOp module, StringRef path) {
  const std::optional<json::Costs> costs = readCosts(path);
  return costs && applyToStages(module, path, *costs);
}

namespace {

/// Times of a layer by the samples of a micro-batch, ascending.
using TimesBySize = std::map<int64_t, pipe::LayerTimes>;

/// A file and what it says.
struct CostsFile {
  std::string path;
  json::Costs costs;
};

/// Whether a file says what was measured, for this plan's target; reports an
/// error if not.
bool checkMeasured(pipe::PlanOp allLayers, const CostsFile &file) {
  const std::string &path = file.path;
  const json::Costs *costs = &file.costs;
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
    return true;
  return false;
}

/// The samples of a stage's tasks.
int64_t taskSamplesOf(const json::StageTimes &stage, const json::Costs &costs) {
  return stage.taskSamples > 0 ? stage.taskSamples : costs.microbatchSamples;
}

/// Divides a stage's times over its layers, in proportion to estimates; those
/// of a task of `samples`, of a micro-batch of `ofAll`.
void divide(const json::StageTimes &stage, int64_t samples, int64_t ofAll,
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
      const double ns =
          double(measured[k]) * share * (double(samples) / double(ofAll));
      times[name][samples].ns[k] =
          std::min(static_cast<int64_t>(std::llround(ns)), pipe::maxLayerNs);
    }
}

/// Of the model's size, without a list; else by size.
pipe::LayerCostsAttr costsOf(pipe::ModelOp model, const TimesBySize &times) {
  mlir::MLIRContext *context = model.getContext();
  const std::optional<pipe::ModelSizes> sizes = model.getSizes();
  const auto &[first, only] = *times.begin();
  if (times.size() == 1 && (!sizes || sizes->batch == first))
    return pipe::LayerCostsAttr::get(context, only.ns[0], only.ns[1],
                                     only.ns[2], {}, {}, {}, {});
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

static bool applyToLayers(pipe::PlanOp allLayers, ArrayRef<CostsFile> files) {
  pipe::ModelOp model = allLayers.lookupModel();
  StringMap<pipe::LayerFigures> estimates;
  for (auto [layer, needed] :
       zip_equal(model.getLayers(), pipe::layerFigures(allLayers)))
    estimates[layer.getSymName()] = needed;
  StringMap<TimesBySize> times;
  for (const CostsFile &file : files) {
    if (!checkMeasured(allLayers, file))
      return false;
    for (const json::StageTimes &stage : file.costs.stages) {
      const int64_t samples = taskSamplesOf(stage, file.costs);
      for (const std::string &name : stage.layers) {
        if (!estimates.contains(name)) {
          reportError(file.path + ": @" + model.getSymName() +
                      " has no layer @" + name + ", of stage @" + stage.name);
          return false;
        }
        if (times[name].count(samples)) {
          reportError(file.path + ": @" + name + " with micro-batches of " +
                      Twine(samples) +
                      " samples was measured in another file too");
          return false;
        }
      }
      divide(stage, samples, file.costs.microbatchSamples, estimates, times);
    }
  }
  if (!model.getSizes() && files.size() > 1) {
    reportError("the layers of @" + model.getSymName() +
                " have one size of micro-batches; give one --costs file");
    return false;
  }
  for (pipe::LayerOp layer : model.getLayers())
    if (auto found = times.find(layer.getSymName()); found != times.end())
      layer.setCostsAttr(costsOf(model, found->second));
  return true;
}

static bool readAll(ArrayRef<std::string> paths,
                    std::vector<CostsFile> &files) {
  for (const std::string &path : paths) {
    std::optional<json::Costs> costs = readCosts(path);
    if (!costs)
      return false;
    files.push_back({path, std::move(*costs)});
  }
  return true;
}

bool applyLayerCosts(pipe::PlanOp allLayers, ArrayRef<std::string> paths) {
  std::vector<CostsFile> files;
  return readAll(paths, files) && applyToLayers(allLayers, files);
}

namespace {

/// Times of the stages from their layers, as far as those were measured. R was
/// measured for a stage as a whole, if at all.
void setTimesOfLayers(pipe::PlanOp plan, ArrayRef<CostsFile> files) {
  const pipe::StageFigures figures(plan);
  size_t stages = 0, measured = 0;
  for (pipe::StageOp stage : plan.getStages()) {
    const bool isMeasured =
        any_of(stage.getLayers().getAsRange<mlir::FlatSymbolRefAttr>(),
               [&](mlir::FlatSymbolRefAttr name) {
                 return any_of(files, [&](const CostsFile &file) {
                   return any_of(file.costs.stages, [&](const auto &times) {
                     return is_contained(times.layers, name.getValue());
                   });
                 });
               });
    ++stages;
    if (!isMeasured)
      continue;
    ++measured;
    const pipe::StageCostsAttr ofLayers = figures.costs(stage);
    json::StageTimes times{stage.getSymName().str(), ofLayers.getForwardNs(),
                           ofLayers.getInputGradNs(),
                           ofLayers.getWeightGradNs(),
                           ofLayers.getRecomputeNs()};
    for (const CostsFile &file : files)
      for (const json::StageTimes &own : file.costs.stages)
        if (own.name == times.name && own.recomputeNs &&
            file.costs.microbatchSamples == plan.getSamplesOfMicrobatch())
          times.recomputeNs = own.recomputeNs;
    setTimes(stage, times);
  }
  if (measured < stages)
    reportUnmeasured(files.front().path, plan, measured);
}

} // namespace

bool applyCosts(pipe::PlanOp plan, ArrayRef<std::string> paths,
                bool areSizesTried) {
  auto module = plan->getParentOfType<mlir::ModuleOp>();
  pipe::ModelOp model = plan.lookupModel();
  std::vector<CostsFile> files;
  if (!readAll(paths, files))
    return false;
  SmallVector<pipe::PlanOp> plans;
  for (pipe::PlanOp other : module.getOps<pipe::PlanOp>())
    if (other.lookupModel() == model)
      plans.push_back(other);
  const json::Costs &first = files.front().costs;
  const bool sayWhat = first.microbatchSamples > 0 && model.getSizes() &&
                       all_of(first.stages, [](const auto &times) {
                         return !times.layers.empty();
                       });
  const bool areOfPlan = all_of(plans, [&](pipe::PlanOp each) {
    return each.getSamplesOfMicrobatch() == first.microbatchSamples;
  });
  if (files.size() == 1 && (!sayWhat || (areOfPlan && !areSizesTried)))
    return applyToStages(module, files.front().path, first);
  if (!applyToLayers(plan, files))
    return false;
  for (pipe::PlanOp each : plans)
    setTimesOfLayers(each, files);
  return true;
}

} // namespace rondo::driver
