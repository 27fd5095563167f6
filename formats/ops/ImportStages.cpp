//===- ImportStages.cpp - Profiled stages to the language -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/PlannedCosts.h"
#include "formats/StageEdges.h"
#include "formats/ops/Imports.h"
#include "plans/Layers.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace rondo;

/// For all samples: the figure of the first replica, scaled from its share.
static int64_t timeOf(const Problem &problem, int32_t stage, ActionKind kind) {
  const int32_t replica = problem.replicas.numberOf(stage);
  return static_cast<int64_t>(std::min<__int128>(
      static_cast<__int128>(problem.cost(replica, kind).ns) * problem.samples /
          problem.replicas[replica].samples,
      pipe::maxLayerNs));
}

int32_t rondo::formats::stagesOfCheaperBackward(const Problem &problem) {
  int32_t count = 0;
  for (int32_t s = 0; s < problem.numStages(); ++s)
    count += timeOf(problem, s, ActionKind::Backward) <
             timeOf(problem, s, ActionKind::InputGrad) +
                 timeOf(problem, s, ActionKind::WeightGrad);
  return count;
}

OwningOpRef<ModuleOp> rondo::formats::importStages(const Problem &problem,
                                                   llvm::StringRef name,
                                                   MLIRContext *context) {
  context->loadDialect<pipe::PipeDialect>();
  OpBuilder builder(context);
  Location loc = builder.getUnknownLoc();
  if (const int32_t stage = firstOutsideChain(problem); stage >= 0) {
    emitError(loc) << "the stages are no chain: stage " << stage
                   << (stage == 0 ? " is fed by others"
                                  : " is not fed by stage " +
                                        std::to_string(stage - 1) + " alone");
    return nullptr;
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto model =
      pipe::ModelOp::create(builder, loc, builder.getStringAttr(name),
                            pipe::ArchitectureAttrInterface(), IntegerAttr());
  builder.setInsertionPointToEnd(&model.getBody().emplaceBlock());
  const std::vector<int64_t> outputBytes = outputBytesOf(problem);
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const WholeCosts costs = wholeCosts(problem, s);
    pipe::SyntheticCosts figures;
    int64_t weightBytes = 0;
    figures.forwardNs = timeOf(problem, s, ActionKind::Forward);
    figures.inputGradNs = timeOf(problem, s, ActionKind::InputGrad);
    figures.weightGradNs = timeOf(problem, s, ActionKind::WeightGrad);
    figures.activationBytes = costs.activationBytes;
    figures.inputGradFreesBytes = costs.freedBytes;
    figures.outputBytes = outputBytes[s];
    figures.inputGradKeepsBytes = costs.keptBytes;
    if (!problem.weightBytes.empty())
      weightBytes = problem.weightBytes[s];
    pipe::LayerOp::create(
        builder, loc, builder.getStringAttr("s" + std::to_string(s)),
        pipe::SyntheticAttr::get(context, figures, weightBytes),
        pipe::LayerCostsAttr());
  }
  if (failed(mlir::verify(*module)) || failed(pipe::checkLayerSizes(model)))
    return nullptr;
  return module;
}
