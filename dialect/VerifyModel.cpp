//===- VerifyModel.cpp - Local rules of models and their layers -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/SourceRules.h"

#include "kinds/Counts.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace rondo::pipe;

SmallVector<LayerOp, 0> ModelOp::getLayers() {
  return opsOf<LayerOp>(getBody());
}

std::optional<ModelSizes> ModelOp::getSizes() {
  auto sizesOf = [](auto family) -> ModelSizes {
    return {family.getVocab(), family.getSequence(), family.getHidden(),
            family.getHeads(), family.getFfn(),      family.getBatch(),
            family.getTied()};
  };
  if (auto gpt = getGpt())
    return sizesOf(*gpt);
  if (auto llama = getLlama())
    return sizesOf(*llama);
  return std::nullopt;
}

LayerOp ModelOp::findLayerOfOneSize() {
  const bool hasSizes = getSizes().has_value();
  for (LayerOp layer : getLayers())
    if (layer.getCustomAttr() || (hasSizes && layer.getSyntheticAttr()))
      return layer;
  return nullptr;
}

LogicalResult rondo::pipe::verifySamples(PlanOp plan, ModelOp model) {
  LayerOp layer = model.findLayerOfOneSize();
  if (!plan.getSamplesAttr() || !layer)
    return success();
  const int64_t samples = plan.getSamplesAttr().getInt();
  const std::optional<ModelSizes> sizes = model.getSizes();
  InFlightDiagnostic error = plan.emitError()
                             << "plan @" << plan.getSymName()
                             << " says how many samples a micro-batch has, but "
                                "layers of model @"
                             << model.getSymName() << " state their sizes for ";
  if (sizes)
    error << "the model's own batch of "
          << rondo::countOf(sizes->batch, "sample");
  else
    error << "a micro-batch of the model's own";
  error << ": leave out `samples(" << samples << ")`";
  if (sizes && sizes->batch != samples)
    error << ", or use a model with batch = " << samples
          << " whose layers state their sizes for it";
  error.attachNote(layer.getLoc())
      << "layer @" << layer.getSymName() << " states its sizes";
  return error;
}

/// A number of a Llama that is no size.
static LogicalResult verifyReal(ModelOp op, StringRef name,
                                const llvm::APFloat &value, double above,
                                StringRef limit) {
  if (value.isFinite() && value.convertToDouble() > above)
    return success();
  llvm::SmallString<32> text;
  value.toString(text);
  return op.emitError() << name << " is " << text << "; it must be more than "
                        << limit;
}

static LogicalResult verifyScaling(ModelOp op, RopeScalingAttr scaling) {
  if (failed(verifyReal(op, "factor", scaling.getFactor(), 0, "0")) ||
      failed(
          verifyReal(op, "low_frequency", scaling.getLowFrequency(), 0, "0")) ||
      failed(verifyReal(op, "high_frequency", scaling.getHighFrequency(),
                        scaling.getLowFrequency().convertToDouble(),
                        "low_frequency")))
    return failure();
  return verifyFigures(
      op, {{"original_positions", scaling.getOriginalPositions()}}, 1);
}

static LogicalResult verifyLlama(ModelOp op, LlamaAttr llama) {
  if (failed(verifyFigures(op, {{"kv_heads", llama.getKvHeads()},
                                {"head_width", llama.getHeadWidth()}})))
    return failure();
  if (llama.getHeads() % llama.getKvHeadsOrDefault() != 0)
    return op.emitError() << "heads is " << llama.getHeads()
                          << ", not a multiple of the "
                          << llama.getKvHeadsOrDefault() << " kv_heads";
  if (llama.getHeadWidthOrDefault() % 2 != 0)
    return op.emitError() << "a head has " << llama.getHeadWidthOrDefault()
                          << " numbers, but rotary positions take pairs: give "
                             "an even head_width";
  if (failed(verifyReal(op, "norm_epsilon", llama.getNormEpsilon(), 0, "0")) ||
      failed(verifyReal(op, "rope_theta", llama.getRopeTheta(), 0, "0")))
    return failure();
  if (RopeScalingAttr scaling = llama.getRopeScaling())
    return verifyScaling(op, scaling);
  return success();
}

LogicalResult ModelOp::verify() {
  auto sizes = getSizes();
  if (!sizes)
    return success();
  auto llama = getLlama();
  if (getGpt() && llama)
    return emitError() << "model @" << getSymName()
                       << " is both a gpt and a llama; leave out one";
  if (failed(verifyFigures(*this,
                           {{"vocab", sizes->vocab},
                            {"sequence", sizes->sequence},
                            {"hidden", sizes->hidden},
                            {"heads", sizes->heads},
                            {"ffn", sizes->ffn},
                            {"batch", sizes->batch}},
                           1)))
    return failure();
  for (int64_t size :
       {sizes->vocab, sizes->sequence, sizes->hidden, sizes->heads, sizes->ffn,
        sizes->batch, llama ? llama->getKvHeads() : 0,
        llama ? llama->getHeadWidth() : 0})
    if (size > std::numeric_limits<int32_t>::max())
      return emitError() << "size " << size << " is too large; the maximum is "
                         << std::numeric_limits<int32_t>::max();
  if (!(llama && llama->getHeadWidth()) && sizes->hidden % sizes->heads != 0)
    return emitError() << "hidden is " << sizes->hidden
                       << ", not a multiple of the " << sizes->heads
                       << " heads";
  return llama ? verifyLlama(*this, *llama) : success();
}

/// Which kinds a model may have, and where.
static LogicalResult verifyPlace(ModelOp model, LayerOp layer, bool isFirst,
                                 bool isLast) {
  const LayerKind kind = layer.getKind();
  const bool isSynthetic = kind == LayerKind::Synthetic;
  const bool hasSizes = model.getSizes().has_value();
  const StringRef family = model.getLlama() ? "llama" : "gpt";
  if (isSynthetic && hasSizes)
    return layer.emitError()
               .append("layer @", layer.getSymName(),
                       " is synthetic, but its model is a ", family)
               .attachNote(model.getLoc())
           << "a model is either a " << family << " or all synthetic";
  if (layer.hasLoss() && !isLast)
    return layer.emitError()
               .append("layer @", layer.getSymName(),
                       " writes the loss, but is not the last")
               .attachNote(model.getLoc())
           << "layers after it would have nothing to do";
  if (!isSynthetic && !hasSizes &&
      (kind != LayerKind::Custom || layer.getData() != LayerData::None))
    return layer.emitError()
               .append("layer @", layer.getSymName(), " ",
                       kind == LayerKind::Custom ? "reads " : "is of kind ",
                       kind == LayerKind::Custom
                           ? stringifyLayerData(layer.getData())
                           : stringifyLayerKind(kind),
                       ", but its model gives no sizes")
               .attachNote(model.getLoc())
           << "add gpt<vocab = ..., sequence = ..., hidden = ..., heads = "
              "..., ffn = ..., batch = ...> after @"
           << model.getSymName();
  if (hasSizes && kind != LayerKind::Custom) {
    const bool needsEmbedding = isFirst && layer.getData() != LayerData::Tokens;
    const bool needsHead = isLast && layer.getData() != LayerData::Targets;
    if (needsEmbedding || needsHead)
      return layer.emitError()
                 .append(needsEmbedding ? "an embedding is missing before"
                                        : "a head is missing after",
                         " layer @", layer.getSymName(), " of kind ",
                         stringifyLayerKind(kind))
                 .attachNote(model.getLoc())
             << "a " << family
             << " is one embedding, then blocks, then one head";
  }
  if (hasSizes && (isFirst != (layer.getData() == LayerData::Tokens) ||
                   isLast != (layer.getData() == LayerData::Targets)))
    return layer.emitError()
               .append("layer @", layer.getSymName(), " of kind ",
                       stringifyLayerKind(kind), " is not allowed here")
               .attachNote(model.getLoc())
           << (kind == LayerKind::Custom
                   ? "only the first layer of a " + family +
                         " has data = tokens, and only the last one data = "
                         "targets"
                   : "a " + family +
                         " is one embedding, then blocks, then one head");
  return success();
}

LogicalResult ModelOp::verifyRegions() {
  if (failed(verifyBody<LayerOp>(*this, getBody(), "pipe.layer")))
    return failure();
  SmallVector<LayerOp> layers = getLayers();
  if (layers.empty())
    return emitError() << "model @" << getSymName() << " has no layers";
  auto sizes = getSizes();
  if (sizes && sizes->tied)
    for (LayerOp layer : {layers.front(), layers.back()})
      if (layer.getKind() == LayerKind::Custom)
        return layer.emitError()
                   .append("layer @", layer.getSymName(),
                           " is custom, but its model is tied")
                   .attachNote(getLoc())
               << "the embedding and the head share a weight: leave out tied = "
                  "true";
  for (LayerOp layer : layers)
    if (failed(verifyPlace(*this, layer, layer == layers.front(),
                           layer == layers.back())))
      return failure();
  return success();
}

LayerData LayerOp::getData() {
  if (auto custom = getCustom())
    return custom->getData();
  if (getKind() == LayerKind::Embedding)
    return LayerData::Tokens;
  return getKind() == LayerKind::Head ? LayerData::Targets : LayerData::None;
}

bool LayerOp::hasLoss() {
  auto custom = getCustom();
  return custom ? custom->getLoss() : getKind() == LayerKind::Head;
}

static LogicalResult verifyCustom(LayerOp op, CustomAttr custom) {
  const StringRef body = custom.getBody();
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (body.empty() || llvm::isDigit(body.front()) ||
      !llvm::all_of(body, isPart))
    return op.emitError() << "body '" << body
                          << "' is not a C name: letters, digits and _, not "
                             "beginning with a digit";
  if (failed(verifyFigures(
          op,
          {{"weight_bytes", custom.getWeightBytes()},
           {"saved_for_input_grad_bytes", custom.getSavedForInputGradBytes()},
           {"saved_for_weight_grad_bytes", custom.getSavedForWeightGradBytes()},
           {"output_bytes", custom.getOutputBytes()},
           {"workspace_bytes", custom.getWorkspaceBytes()},
           {"forward_flops", custom.getForwardFlops()},
           {"input_grad_flops", custom.getInputGradFlops()},
           {"weight_grad_flops", custom.getWeightGradFlops()}})))
    return failure();
  if (custom.getWeightBytes() % 4 != 0)
    return op.emitError() << "weight_bytes is " << custom.getWeightBytes()
                          << ", not a multiple of the 4 bytes of a weight";
  if (custom.getData() == LayerData::Targets && !custom.getLoss())
    return op.emitError() << "only a layer that writes the loss reads targets: "
                             "add loss = true";
  return success();
}

/// Times of a micro-batch as the model states it, or of sizes in ascending
/// order.
static LogicalResult verifyCosts(LayerOp op, LayerCostsAttr costs) {
  if (failed(verifyFigures(op, {{"forward_ns", costs.getForwardNs()},
                                {"input_grad_ns", costs.getInputGradNs()},
                                {"weight_grad_ns", costs.getWeightGradNs()}})))
    return failure();
  const ArrayRef<int64_t> samples = costs.getSamples();
  const std::pair<const char *, ArrayRef<int64_t>> lists[] = {
      {"forwards_ns", costs.getForwardsNs()},
      {"input_grads_ns", costs.getInputGradsNs()},
      {"weight_grads_ns", costs.getWeightGradsNs()}};
  for (auto [name, list] : lists) {
    if (list.size() != samples.size())
      return op.emitError()
             << name << " has " << countOf(list.size(), "time") << " for "
             << countOf(samples.size(), "number") << " of samples (samples)";
    for (int64_t ns : list)
      if (failed(verifyFigures(op, Figure{name, ns})))
        return failure();
  }
  if (samples.empty())
    return success();
  if (costs.getForwardNs() + costs.getInputGradNs() + costs.getWeightGradNs() >
      0)
    return op.emitError() << "costs are of the model's size (forward_ns, "
                             "input_grad_ns and weight_grad_ns) or of sizes "
                             "that they state (samples and lists), not both";
  if (samples.front() < 1 ||
      !llvm::is_sorted(samples, std::less_equal<int64_t>()))
    return op.emitError() << "samples must be numbers from 1 on, ascending";
  return success();
}

LogicalResult LayerOp::verify() {
  auto synthetic = getSynthetic();
  if ((getKind() == LayerKind::Synthetic) != synthetic.has_value())
    return emitError() << "a layer of kind synthetic, and no other, states its "
                          "own figures";
  auto custom = getCustom();
  if ((getKind() == LayerKind::Custom) != custom.has_value())
    return emitError() << "a layer of kind custom, and no other, names a body";
  if (auto costs = getCosts())
    if (failed(verifyCosts(*this, *costs)))
      return failure();
  if (custom)
    return verifyCustom(*this, *custom);
  if (!synthetic)
    return success();
  if (failed(verifyFigures(
          *this,
          {{"forward_ns", synthetic->getForwardNs()},
           {"input_grad_ns", synthetic->getInputGradNs()},
           {"weight_grad_ns", synthetic->getWeightGradNs()},
           {"activation_bytes", synthetic->getActivationBytes()},
           {"input_grad_frees_bytes", synthetic->getInputGradFreesBytes()},
           {"output_bytes", synthetic->getOutputBytes()},
           {"weight_bytes", synthetic->getWeightBytes()}})))
    return failure();
  return verifyFrees(*this, synthetic->getInputGradFreesBytes(),
                     synthetic->getActivationBytes());
}
