//===- Llama.cpp - The architecture Llama ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/SourceRules.h"
#include "runtime/model/layer.h"

#include "llvm/ADT/SmallString.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

static_assert(int(runtime::LayerKind::LlamaHead) ==
                  int(runtime::LayerKind::LlamaEmbedding) +
                      int(pipe::LayerKind::Head),
              "the runtime's kinds are in the order of the roles");

ModelSizes LlamaAttr::getSizes() const {
  return {getVocab(), getSequence(), getHidden(), getHeads(),
          getFfn(),   getBatch(),    getTied()};
}

ArchitectureAttrInterface LlamaAttr::withBatch(int64_t batch) const {
  Fields fields = getFields();
  fields.batch = batch;
  return get(getContext(), fields);
}

int64_t LlamaAttr::getKvHeadsOrDefault() const {
  return getKvHeads() ? getKvHeads() : getHeads();
}

/// A number of a Llama that is no size.
static LogicalResult verifyReal(Operation *op, StringRef name,
                                const llvm::APFloat &value, double above,
                                StringRef limit) {
  if (value.isFinite() && value.convertToDouble() > above)
    return success();
  llvm::SmallString<32> text;
  value.toString(text);
  return op->emitError() << name << " is " << text << "; it must be more than "
                         << limit;
}

static LogicalResult verifyScaling(Operation *op, RopeScalingAttr scaling) {
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

LogicalResult LlamaAttr::verifyModel(Operation *op) const {
  for (int64_t size : {getKvHeads(), getHeadWidth()})
    if (failed(verifySize(op, size)))
      return failure();
  if (getHeadWidth() == 0 && failed(verifyHeads(op, getSizes())))
    return failure();
  if (failed(verifyFigures(
          op, {{"kv_heads", getKvHeads()}, {"head_width", getHeadWidth()}})))
    return failure();
  if (getHeads() % getKvHeadsOrDefault() != 0)
    return op->emitError() << "heads is " << getHeads()
                           << ", not a multiple of the "
                           << getKvHeadsOrDefault() << " kv_heads";
  if (getQueryWidth() % 2 != 0)
    return op->emitError() << "a head has " << getQueryWidth()
                           << " numbers, but rotary positions take pairs: give "
                              "an even head_width";
  if (failed(verifyReal(op, "norm_epsilon", getNormEpsilon(), 0, "0")) ||
      failed(verifyReal(op, "rope_theta", getRopeTheta(), 0, "0")))
    return failure();
  if (RopeScalingAttr scaling = getRopeScaling())
    return verifyScaling(op, scaling);
  return success();
}

llvm::StringRef LlamaAttr::getTiedTensor() const {
  return "model.embed_tokens.weight";
}

int64_t LlamaAttr::getQueryWidth() const {
  return getHeadWidth() ? getHeadWidth() : getHidden() / getHeads();
}

int64_t LlamaAttr::getKeysWidth() const {
  return getKvHeadsOrDefault() * getQueryWidth();
}

void LlamaAttr::describe(pipe::LayerKind kind,
                         runtime::LayerDesc &layer) const {
  if (kind <= pipe::LayerKind::Head)
    layer.kind = static_cast<runtime::LayerKind>(
        int(runtime::LayerKind::LlamaEmbedding) + int(kind));
  runtime::LlamaDesc &desc = layer.llama;
  desc.kvHeads = getKvHeadsOrDefault();
  desc.headWidth = getQueryWidth();
  desc.normEpsilon = getNormEpsilon().convertToDouble();
  desc.ropeTheta = getRopeTheta().convertToDouble();
  if (RopeScalingAttr scaling = getRopeScaling())
    desc.ropeScaling = {scaling.getFactor().convertToDouble(),
                        scaling.getLowFrequency().convertToDouble(),
                        scaling.getHighFrequency().convertToDouble(),
                        scaling.getOriginalPositions()};
  desc.qkvBias = getQkvBias();
  desc.headNorm = getHeadNorm();
}
