//===- PlannedModel.cpp - Whether a model can be planned ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/PlannedModel.h"

#include "passes/Passes.h"
#include "tools/driver/ChosenPlan.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Report.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace rondo::driver {

int keepModelBatch(pipe::ModelOp model, int64_t samples,
                   std::vector<int64_t> &microbatchSamples) {
  const std::optional<pipe::ModelSizes> sizes = model.getSizes();
  if (!sizes && microbatchSamples.size() != 1)
    return reportUsage("the layers of @" + model.getSymName() +
                       " state times of a micro-batch; --microbatch-samples N "
                       "says how many samples that has, such as the batch of "
                       "a profile");
  pipe::LayerOp layer = model.findLayerOfOneSize();
  if (!sizes || !layer)
    return Success;
  const std::string batch = std::to_string(sizes->batch);
  const std::string reason =
      ("layers of model @" + model.getSymName() + ", such as @" +
       layer.getSymName() +
       ", state their sizes for the model's own batch of " +
       countOf(sizes->batch, "sample"))
          .str();
  for (int64_t size : microbatchSamples)
    if (size != sizes->batch)
      return reportUsage("--microbatch-samples has " + Twine(size) + ", but " +
                         reason + ": give --microbatch-samples " + batch +
                         ", or leave it out");
  if (samples % sizes->batch != 0)
    return reportUsage("--samples is " + Twine(samples) + ", but " + reason +
                       ": give a multiple of " + batch +
                       ", such as --samples " +
                       Twine(alignTo(samples, sizes->batch)));
  microbatchSamples = {sizes->batch};
  return Success;
}

mlir::LogicalResult checkModel(pipe::PlanOp allLayers) {
  const ChosenPlan alone =
      moduleOfPlan(allLayers, allLayers.getSymName(), allLayers.getModel());
  mlir::PassManager passes(allLayers.getContext());
  passes.addPass(pipe::createResolveStages());
  passes.addPass(pipe::createVerifyPartitioned());
  return passes.run(*alone.module);
}

void noteGraphs(ModuleFile &file, pipe::ModelOp model) {
  for (pipe::PlanOp plan : file.module().getOps<pipe::PlanOp>())
    if (plan.lookupModel() == model && !plan.isChain())
      reportNote("the stages of plan @" + plan.getSymName() +
                 " form a graph, but `rondo plan` writes a chain of all layers "
                 "of @" +
                 model.getSymName() +
                 ", in which each layer takes the output of the one before");
}

} // namespace rondo::driver
