//===- ImportProfile.cpp - Profiled layers to the language ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/ops/Imports.h"

#include "plans/Layers.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace rondo;

std::string rondo::formats::layerName(const GraphProfile &profile,
                                      const ProfileLayer &layer) {
  const std::string &first = profile.nodes[layer.nodes.front()].id;
  return layer.nodes.size() == 1
             ? first
             : first + "_to_" + profile.nodes[layer.nodes.back()].id;
}

OwningOpRef<ModuleOp>
rondo::formats::importProfile(const GraphProfile &profile,
                              llvm::ArrayRef<ProfileLayer> layers,
                              llvm::StringRef name, MLIRContext *context) {
  context->loadDialect<pipe::PipeDialect>();
  OpBuilder builder(context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto model =
      pipe::ModelOp::create(builder, loc, builder.getStringAttr(name),
                            pipe::ArchitectureAttrInterface(), IntegerAttr());
  builder.setInsertionPointToEnd(&model.getBody().emplaceBlock());
  for (const ProfileLayer &layer : layers) {
    pipe::SyntheticCosts costs;
    int64_t weightBytes = 0;
    costs.outputBytes = layer.outputBytes;
    for (uint32_t place : layer.nodes) {
      const ProfileNode &node = profile.nodes[place];
      costs.activationBytes += node.activationBytes;
      weightBytes += node.parameterBytes;
      if (isModelInput(node))
        continue;
      costs.forwardNs += node.forwardNs;
      const int64_t ofWeights =
          node.parameterBytes > 0 ? node.backwardNs / 2 : 0;
      costs.inputGradNs += node.backwardNs - ofWeights;
      costs.weightGradNs += ofWeights;
    }
    pipe::LayerOp::create(builder, loc,
                          builder.getStringAttr(layerName(profile, layer)),
                          pipe::SyntheticAttr::get(context, costs, weightBytes),
                          pipe::LayerCostsAttr());
  }
  if (failed(mlir::verify(*module)) || failed(pipe::checkLayerSizes(model)))
    return nullptr;
  return module;
}
