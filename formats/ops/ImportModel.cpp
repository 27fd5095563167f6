//===- ImportModel.cpp - Configurations to the language -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/ops/Imports.h"

#include "plans/Layers.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace rondo;
using llvm::StringRef;
using llvm::Twine;

namespace {

pipe::ArchitectureAttrInterface gptOf(const json::ModelConfig &config,
                                      int64_t batch, MLIRContext *context) {
  pipe::GptAttr::Fields fields;
  fields.vocab = config.vocab;
  fields.sequence = config.sequence;
  fields.hidden = config.hidden;
  fields.heads = config.heads;
  fields.ffn = config.ffn;
  fields.batch = batch;
  fields.tied = config.tied;
  return pipe::GptAttr::get(context, fields);
}

pipe::ArchitectureAttrInterface llamaOf(const json::ModelConfig &config,
                                        int64_t batch, MLIRContext *context) {
  pipe::RopeScalingAttr scaling;
  if (config.ropeScaling.kind == json::RopeScaling::Llama3)
    scaling = pipe::RopeScalingAttr::get(
        context, APFloat(config.ropeScaling.factor),
        APFloat(config.ropeScaling.lowFrequencyFactor),
        APFloat(config.ropeScaling.highFrequencyFactor),
        config.ropeScaling.originalPositions);
  pipe::LlamaAttr::Fields fields;
  fields.vocab = config.vocab;
  fields.sequence = config.sequence;
  fields.hidden = config.hidden;
  fields.heads = config.heads;
  fields.kv_heads = config.keyHeads;
  fields.head_width = config.headWidth;
  fields.ffn = config.ffn;
  fields.batch = batch;
  fields.tied = config.tied;
  fields.norm_epsilon = APFloat(config.normEpsilon);
  fields.rope_theta = APFloat(config.ropeTheta);
  fields.rope_scaling = scaling;
  fields.qkv_bias = config.qkvBias;
  fields.head_norm = config.headNorm;
  return pipe::LlamaAttr::get(context, fields);
}

/// Names of layers as in checkpoints of the architecture.
struct LayerNames {
  const char *embedding, *block, *head;
};
constexpr LayerNames gptNames = {"wte", "h", "ln_f"},
                     llamaNames = {"embed_tokens", "model.layers.", "lm_head"};

} // namespace

OwningOpRef<ModuleOp>
rondo::formats::importModel(const json::ModelConfig &config, StringRef name,
                            int64_t batch, MLIRContext *context) {
  context->loadDialect<pipe::PipeDialect>();
  OpBuilder builder(context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());
  const bool isGpt = config.architecture == json::Architecture::Gpt;
  auto model = pipe::ModelOp::create(builder, loc, builder.getStringAttr(name),
                                     isGpt ? gptOf(config, batch, context)
                                           : llamaOf(config, batch, context),
                                     IntegerAttr());
  builder.setInsertionPointToEnd(&model.getBody().emplaceBlock());
  auto add = [&](const Twine &layer, pipe::LayerKind role) {
    pipe::LayerOp::create(builder, loc, builder.getStringAttr(layer),
                          pipe::RoleAttr::get(context, role),
                          pipe::LayerCostsAttr());
  };
  const LayerNames &names = isGpt ? gptNames : llamaNames;
  add(names.embedding, pipe::LayerKind::Embedding);
  for (int64_t k = 0; k < config.layers; ++k)
    add(names.block + Twine(k), pipe::LayerKind::Block);
  add(names.head, pipe::LayerKind::Head);
  if (failed(mlir::verify(*module)) || failed(pipe::checkLayerSizes(model)))
    return nullptr;
  return module;
}

pipe::PlanOp rondo::formats::addPlanOfAllLayers(ModuleOp module,
                                                pipe::TargetAttr target) {
  auto model = *module.getOps<pipe::ModelOp>().begin();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = builder.getUnknownLoc();
  auto cluster = pipe::ClusterOp::create(
      builder, loc, builder.getStringAttr(model.getSymName() + "_cluster"),
      pipe::ChannelsAttr(), pipe::LinkAttr());
  builder.setInsertionPointToEnd(&cluster.getBody().emplaceBlock());
  pipe::DeviceOp::create(builder, loc, builder.getStringAttr("d0"),
                         pipe::DeviceAttr(), pipe::GroupAttr());
  return addPlanOfAllLayers(model, cluster, target,
                            (model.getSymName() + "_plan").str());
}

pipe::PlanOp rondo::formats::addPlanOfAllLayers(pipe::ModelOp model,
                                                pipe::ClusterOp cluster,
                                                pipe::TargetAttr target,
                                                StringRef planName) {
  OpBuilder builder = OpBuilder::atBlockEnd(model->getBlock());
  // Errors about the plan are about the model.
  Location loc = model.getLoc();
  auto name = [&](const Twine &text) { return builder.getStringAttr(text); };
  auto reference = [&](StringAttr text) {
    return FlatSymbolRefAttr::get(text);
  };
  auto plan = pipe::PlanOp::create(
      builder, loc, name(planName), reference(model.getSymNameAttr()),
      reference(cluster.getSymNameAttr()),
      /*microbatches=*/1, /*samples=*/IntegerAttr(),
      /*documents=*/mlir::ArrayAttr(), /*tokens=*/pipe::TokensAttr(), target);
  SmallVector<Attribute> layers;
  for (pipe::LayerOp layer : model.getLayers())
    layers.push_back(reference(layer.getSymNameAttr()));
  builder.setInsertionPointToEnd(&plan.getBody().emplaceBlock());
  pipe::StageOp::create(
      builder, loc, name("s0"), builder.getArrayAttr(layers),
      builder.getDenseI64ArrayAttr({0}), /*shares=*/DenseI64ArrayAttr(),
      /*round_robin=*/false, pipe::ShardedAttr(), /*recompute=*/ArrayAttr(),
      /*across=*/false, /*offload=*/ArrayAttr(), pipe::LoadBefore::InputGrad,
      /*inputs=*/ArrayAttr(), pipe::StageCostsAttr(),
      /*buffers=*/ArrayAttr());
  return plan;
}

void rondo::formats::printOps(ModuleOp module, llvm::raw_ostream &os) {
  for (Operation &op : *module.getBody()) {
    op.print(os, OpPrintingFlags().useLocalScope());
    os << "\n";
  }
}
