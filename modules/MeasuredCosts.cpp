//===- MeasuredCosts.cpp - Puts measured times into a module --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "modules/MeasuredCosts.h"

#include "plans/LayerTimes.h"
#include "plans/Layers.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <array>
#include <cmath>
#include <map>
#include <optional>

using namespace llvm;

namespace rondo::pipe {

namespace {

/// Replaces the stage's times and keeps its bytes. Micro-batches are equal.
void setTimes(StageOp stage, const json::StageTimes &times) {
  StageCosts costs = stage.getCostsAttr().of(0);
  costs.forwardNs = times.forwardNs;
  costs.inputGradNs = times.inputGradNs;
  costs.weightGradNs = times.weightGradNs;
  costs.recomputeNs = times.recomputeNs.value_or(costs.recomputeNs);
  stage.setCostsAttr(StageCostsAttr::get(stage.getContext(), costs));
}

Error fail(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

} // namespace

static std::string noteUnmeasured(StringRef path, PlanOp plan,
                                  size_t measured) {
  return (path + ": measured times for " + Twine(measured) + " of " +
          Twine(llvm::range_size(plan.getStages())) + " stages of @" +
          plan.getSymName() + "; the others keep their estimates")
      .str();
}

Error applyCosts(mlir::ModuleOp module, const CostsFile &file,
                 std::vector<std::string> &notes) {
  MapVector<PlanOp, size_t> measured;
  for (const json::StageTimes &times : file.costs.stages) {
    bool isUsed = false;
    for (PlanOp plan : module.getOps<PlanOp>())
      for (StageOp stage : plan.getStages())
        if (stage.getSymName() == times.name) {
          if (plan.isUneven())
            return fail(file.path + ": stage @" + times.name +
                        " has one time for all micro-batches, and those of "
                        "plan @" +
                        plan.getSymName() +
                        " differ: write lists into costs<...> of the stage");
          setTimes(stage, times);
          ++measured[plan];
          isUsed = true;
        }
    if (!isUsed)
      return fail(file.path + ": no plan has a stage @" + times.name);
  }
  for (auto [plan, stages] : measured)
    if (stages < llvm::range_size(plan.getStages()))
      notes.push_back(noteUnmeasured(file.path, plan, stages));
  return Error::success();
}

namespace {

/// Times of a layer by the samples of a micro-batch, ascending.
using TimesBySize = std::map<int64_t, LayerTimes>;

/// Whether a file says what was measured, for this plan's target.
Error checkMeasured(PlanOp allLayers, const CostsFile &file) {
  const json::Costs &costs = file.costs;
  const auto target = stringifyTarget(allLayers.getTargetKind());
  const auto dtype = stringifyDType(allLayers.getDType());
  if (costs.microbatchSamples == 0 || costs.target.empty() ||
      costs.dtype.empty())
    return fail(file.path + ": it does not say what was measured (layers, "
                            "microbatch_samples, target, dtype): measure again "
                            "with --profile");
  if (costs.target != target || costs.dtype != dtype)
    return fail(file.path + ": measured on target " + costs.target + " in " +
                costs.dtype + ", but the plan is for " + target + " in " +
                dtype);
  if (all_of(costs.stages, [](const json::StageTimes &times) {
        return times.forwardNs + times.inputGradNs + times.weightGradNs == 0;
      }))
    return fail(file.path + ": all times are 0: measure again with --profile");
  return Error::success();
}

/// The samples of a stage's tasks.
int64_t taskSamplesOf(const json::StageTimes &stage, const json::Costs &costs) {
  return stage.taskSamples > 0 ? stage.taskSamples : costs.microbatchSamples;
}

/// Divides a stage's times over its layers, in proportion to estimates; those
/// of a task of `samples`, of a micro-batch of `ofAll`.
void divide(const json::StageTimes &stage, int64_t samples, int64_t ofAll,
            const StringMap<LayerFigures> &estimates,
            StringMap<TimesBySize> &times) {
  double sums[3] = {};
  auto estimateOf = [&](StringRef name) {
    const LayerFigures &own = estimates.find(name)->second;
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
          std::min(static_cast<int64_t>(std::llround(ns)), maxLayerNs);
    }
}

/// Returns one time per task if all were measured at the model's batch,
/// otherwise lists by size.
LayerCostsAttr costsOf(ModelOp model, const TimesBySize &times) {
  mlir::MLIRContext *context = model.getContext();
  const std::optional<ModelSizes> sizes = model.getSizes();
  const auto &[first, only] = *times.begin();
  if (times.size() == 1 && (!sizes || sizes->batch == first))
    return LayerCostsAttr::get(context, /*samples=*/{}, only.ns[0], only.ns[1],
                               only.ns[2]);
  SmallVector<int64_t> samples, lists[3];
  for (const auto &[size, own] : times) {
    samples.push_back(size);
    for (int k = 0; k < 3; ++k)
      lists[k].push_back(own.ns[k]);
  }
  return LayerCostsAttr::get(context, samples, lists[0], lists[1], lists[2]);
}

} // namespace

Error applyLayerCosts(PlanOp allLayers, ArrayRef<CostsFile> files) {
  ModelOp model = allLayers.lookupModel();
  StringMap<LayerFigures> estimates;
  for (auto [layer, needed] :
       zip_equal(model.getLayers(), layerFigures(allLayers)))
    estimates[layer.getSymName()] = needed;
  StringMap<TimesBySize> times;
  for (const CostsFile &file : files) {
    if (Error error = checkMeasured(allLayers, file))
      return error;
    for (const json::StageTimes &stage : file.costs.stages) {
      const int64_t samples = taskSamplesOf(stage, file.costs);
      for (const std::string &name : stage.layers) {
        if (!estimates.contains(name))
          return fail(file.path + ": @" + model.getSymName() +
                      " has no layer @" + name + ", of stage @" + stage.name);
        if (times[name].count(samples))
          return fail(file.path + ": @" + name + " with micro-batches of " +
                      Twine(samples) +
                      " samples was measured in another file too");
      }
      divide(stage, samples, file.costs.microbatchSamples, estimates, times);
    }
  }
  if (!model.getSizes() && files.size() > 1)
    return fail("the layers of @" + model.getSymName() +
                " have one size of micro-batches; give one --costs file");
  for (LayerOp layer : model.getLayers())
    if (auto found = times.find(layer.getSymName()); found != times.end())
      layer.setCostsAttr(costsOf(model, found->second));
  return Error::success();
}

/// Times of the stages from their layers, as far as those were measured. R was
/// measured for a stage as a whole, if at all.
static void setTimesOfLayers(PlanOp plan, ArrayRef<CostsFile> files,
                             std::vector<std::string> &notes) {
  const StageFigures figures(plan);
  size_t stages = 0, measured = 0;
  for (StageOp stage : plan.getStages()) {
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
    if (plan.isUneven()) {
      stage.setCostsAttr(figures.costs(stage));
      continue;
    }
    const StageCosts ofLayers = figures.costs(stage).of(0);
    json::StageTimes times{stage.getSymName().str(), ofLayers.forwardNs,
                           ofLayers.inputGradNs, ofLayers.weightGradNs,
                           ofLayers.recomputeNs};
    for (const CostsFile &file : files)
      for (const json::StageTimes &own : file.costs.stages)
        if (own.name == times.name && own.recomputeNs &&
            file.costs.microbatchSamples == plan.getSamplesOfMicrobatch())
          times.recomputeNs = own.recomputeNs;
    setTimes(stage, times);
  }
  if (measured < stages)
    notes.push_back(noteUnmeasured(files.front().path, plan, measured));
}

Error applyCosts(PlanOp plan, ArrayRef<CostsFile> files, bool areSizesTried,
                 std::vector<std::string> &notes) {
  auto module = plan->getParentOfType<mlir::ModuleOp>();
  ModelOp model = plan.lookupModel();
  SmallVector<PlanOp> plans;
  for (PlanOp other : module.getOps<PlanOp>())
    if (other.lookupModel() == model)
      plans.push_back(other);
  const json::Costs &first = files.front().costs;
  const bool sayWhat = first.microbatchSamples > 0 && model.getSizes() &&
                       all_of(first.stages, [](const auto &times) {
                         return !times.layers.empty();
                       });
  const bool areOfPlan = all_of(plans, [&](PlanOp each) {
    return each.getSamplesOfMicrobatch() == first.microbatchSamples;
  });
  if (files.size() == 1 && (!sayWhat || (areOfPlan && !areSizesTried)))
    return applyCosts(module, files.front(), notes);
  if (Error error = applyLayerCosts(plan, files))
    return error;
  for (PlanOp each : plans)
    setTimesOfLayers(each, files, notes);
  return Error::success();
}

} // namespace rondo::pipe
