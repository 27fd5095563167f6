//===- PlannedModel.cpp - Whether a model can be planned ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "modules/SinglePlan.h"
#include "passes/Passes.h"
#include "plans/Layers.h"
#include "tools/driver/Commands.h"
#include "tools/driver/PlanModel.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace rondo::driver {

/// Keeps to sizes that all custom layers state.
static int keepStatedSizes(pipe::ModelOp model, int64_t samples,
                           std::vector<int64_t> &microbatchSamples) {
  auto describe = [&](int64_t size) {
    pipe::LayerOp layer = model.findLayerWithoutSize(size);
    return ("layer @" + layer.getSymName() + " of model @" +
            model.getSymName() + " states its sizes for " +
            layer.getCustomAttr().describeSamples())
        .str();
  };
  for (int64_t size : microbatchSamples)
    if (model.findLayerWithoutSize(size))
      return reportUsage("--microbatch-samples has " + Twine(size) + ", but " +
                         describe(size) + ": give others, or add " +
                         Twine(size) + " to `samples` of the layer");
  if (!microbatchSamples.empty())
    return Success;
  std::vector<int64_t> missing;
  for (int64_t size = 1; size <= samples; ++size)
    if (samples % size == 0)
      (model.findLayerWithoutSize(size) ? missing : microbatchSamples)
          .push_back(size);
  // Without such layers any size may be tried.
  if (missing.empty())
    microbatchSamples.clear();
  if (missing.empty() || !microbatchSamples.empty())
    return Success;
  return reportUsage("--samples is " + Twine(samples) + ", but " +
                     describe(missing.front()) +
                     ": give a multiple of one of these");
}

int keepModelBatch(pipe::ModelOp model, int64_t samples,
                   std::vector<int64_t> &microbatchSamples) {
  const int64_t stated = model.getStatedSamples();
  if (stated == 0 && microbatchSamples.size() != 1)
    return reportUsage("the layers of @" + model.getSymName() +
                       " state times of a micro-batch; --microbatch-samples N "
                       "says how many samples that has, such as the batch of "
                       "a profile");
  pipe::LayerOp layer = model.findLayerOfOneSize();
  if (stated == 0 || !layer)
    return keepStatedSizes(model, samples, microbatchSamples);
  const std::string batch = std::to_string(stated);
  const std::string reason =
      ("layers of model @" + model.getSymName() + ", such as @" +
       layer.getSymName() +
       ", state their sizes for the model's own batch of " +
       countOf(stated, "sample"))
          .str();
  for (int64_t size : microbatchSamples)
    if (size != stated)
      return reportUsage("--microbatch-samples has " + Twine(size) + ", but " +
                         reason + ": give --microbatch-samples " + batch +
                         ", or leave it out");
  if (samples % stated != 0)
    return reportUsage("--samples is " + Twine(samples) + ", but " + reason +
                       ": give a multiple of " + batch +
                       ", such as --samples " +
                       Twine(alignTo(samples, stated)));
  microbatchSamples = {stated};
  return Success;
}

mlir::LogicalResult checkModel(pipe::PlanOp allLayers) {
  const pipe::SinglePlan alone = pipe::moduleOfPlan(
      allLayers, allLayers.getSymName(), allLayers.getModel());
  mlir::PassManager passes(allLayers.getContext());
  passes.addPass(pipe::createResolveStages());
  passes.addPass(pipe::createVerifyPartitioned());
  return passes.run(*alone.module);
}

void noteGraphs(Session &session, pipe::ModelOp model) {
  for (pipe::PlanOp plan : session.module().getOps<pipe::PlanOp>())
    if (plan.lookupModel() == model && !plan.isChain())
      reportNote("the stages of plan @" + plan.getSymName() +
                 " form a graph, but `rondo plan` writes a chain of all layers "
                 "of @" +
                 model.getSymName() +
                 ", in which each layer takes the output of the one before");
}

mlir::LogicalResult checkPlansOf(Session &session, pipe::ModelOp model) {
  for (pipe::PlanOp plan : session.module().getOps<pipe::PlanOp>())
    if (plan.lookupModel() == model && plan.isUneven())
      return plan.emitError()
             << "the micro-batches of plan @" << plan.getSymName()
             << " differ, and those of `rondo plan` are equal: `rondo plan "
                "--layers` judges cuts by sampled batches; or give the model "
                "and the cluster without this plan";
  return mlir::success();
}

ModelFigures modelFigures(pipe::PlanOp allLayers, int64_t samples) {
  ModelFigures figures;
  figures.samples = samples;
  pipe::ModelOp model = allLayers.lookupModel();
  if (const std::optional<pipe::ModelSizes> sizes = model.getSizes())
    figures.tokens = sizes->sequence;
  for (const pipe::LayerFigures &layer : pipe::layerFigures(allLayers))
    figures.flopsOfSample += double(layer.forwardFlops) +
                             double(layer.inputGradFlops) +
                             double(layer.weightGradFlops);
  figures.flopsOfSample /=
      double(std::max<int64_t>(1, allLayers.getSamplesOfMicrobatch()));
  for (pipe::LayerOp layer : model.getLayers()) {
    ++figures.layers;
    figures.measured += bool(layer.getCostsAttr());
    figures.stated += bool(layer.getSyntheticAttr());
  }
  for (pipe::DeviceOp device : allLayers.lookupCluster().getDevices()) {
    if (device.getPeakFlopsPerUs() == 0) {
      figures.peakFlopsPerUs = 0;
      break;
    }
    figures.peakFlopsPerUs += double(device.getPeakFlopsPerUs());
  }
  return figures;
}

} // namespace rondo::driver
