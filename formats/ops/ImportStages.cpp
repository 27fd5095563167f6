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
    pipe::SyntheticAttr::Fields fields;
    fields.forward_ns = timeOf(problem, s, ActionKind::Forward);
    fields.input_grad_ns = timeOf(problem, s, ActionKind::InputGrad);
    fields.weight_grad_ns = timeOf(problem, s, ActionKind::WeightGrad);
    fields.activation_bytes = costs.activationBytes;
    fields.input_grad_frees_bytes = costs.freedBytes;
    fields.output_bytes = outputBytes[s];
    fields.input_grad_keeps_bytes = costs.keptBytes;
    if (!problem.weightBytes.empty())
      fields.weight_bytes = problem.weightBytes[s];
    pipe::LayerOp::create(
        builder, loc, builder.getStringAttr("s" + std::to_string(s)),
        pipe::SyntheticAttr::get(context, fields), pipe::LayerCostsAttr());
  }
  if (failed(mlir::verify(*module)) || failed(pipe::checkLayerSizes(model)))
    return nullptr;
  return module;
}
