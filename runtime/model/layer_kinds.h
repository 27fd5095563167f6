//===- layer_kinds.h - Properties of each kind of layer ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One row per kind of layer. Bodies have tables in the same order for each
// target: bodies/body.cpp and bodies/cuda/body.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_LAYER_KINDS_H
#define RONDO_RUNTIME_MODEL_LAYER_KINDS_H

#include "runtime/model/llama_sizes.h"

namespace rondo::runtime {

/// Uses the sizes that the layer states.
inline LayerSizes syntheticSizes(const LayerDesc &layer) {
  LayerSizes sizes{};
  sizes.weights = sizes.gradients = alignedBytes(layer.weightBytes);
  sizes.savedForInputGrad = alignedBytes(layer.inputGradFreesBytes);
  sizes.savedForWeightGrad =
      alignedBytes(layer.activationBytes - layer.inputGradFreesBytes);
  if (leaves(layer, Part::ForInputGrad))
    sizes.awayForInputGrad = sizes.savedForInputGrad;
  if (leaves(layer, Part::ForWeightGrad))
    sizes.awayForWeightGrad = sizes.savedForWeightGrad;
  sizes.keptForWeightGrad = alignedBytes(layer.inputGradKeepsBytes);
  for (int32_t k = 0; k < layer.numInputs; ++k)
    sizes.input += alignedBytes(layer.inputBytes[k]);
  sizes.output = alignedBytes(layer.outputBytes);
  return sizes;
}

constexpr int64_t bytesOfNumber(StreamType type) {
  return type == StreamType::Uint8 ? 1 : 4;
}
/// Numbers of a stream for one sample.
constexpr int64_t rowElements(const StreamDesc &stream) {
  int64_t count = 1;
  for (int32_t d = 0; d < stream.numDims; ++d)
    count *= stream.sizes[d];
  return count;
}
constexpr int64_t rowBytes(const StreamDesc &stream) {
  return rowElements(stream) * bytesOfNumber(stream.type);
}
/// Offset of a stream in the layer's staged data; the end of the data if
/// `stream` is the number of streams.
constexpr int64_t streamOffset(const LayerDesc &layer, int32_t stream) {
  int64_t offset = 0;
  for (int32_t s = 0; s < stream; ++s)
    offset += alignedBytes(layer.batch * rowBytes(layer.custom.streams[s]));
  return offset;
}

inline LayerSizes customSizes(const LayerDesc &layer) {
  LayerSizes sizes = syntheticSizes(layer);
  if (layer.custom.numParts > 0) {
    const ListedParts parts(layer);
    sizes.awayForInputGrad = parts.forInputGrad.goes.size();
    sizes.savedForInputGrad =
        sizes.awayForInputGrad + parts.forInputGrad.stays.size();
    sizes.awayForWeightGrad = parts.forWeightGrad.goes.size();
    sizes.savedForWeightGrad =
        sizes.awayForWeightGrad + parts.forWeightGrad.stays.size();
  }
  sizes.gradients = alignedBytes(layer.weightBytes - layer.custom.frozenBytes);
  if (layer.target == Target::Cuda)
    sizes.weights = cuda::weightBytes(layer, sizes.weights / 4);
  sizes.workspace = alignedBytes(layer.custom.workspaceBytes >
                                         layer.custom.backwardWorkspaceBytes
                                     ? layer.custom.workspaceBytes
                                     : layer.custom.backwardWorkspaceBytes);
  if (layer.custom.data != LayerData::None)
    sizes.data = alignedBytes(4 * numTokens(layer));
  sizes.data += streamOffset(layer, layer.custom.numStreams);
  return sizes;
}

struct LayerKindRow {
  LayerKind kind;
  /// Spelled like the enumerator.
  const char *name;
  LayerSizes (*sizes)(const LayerDesc &);
  /// The number of inputs its bodies take.
  int32_t minInputs, maxInputs;
  /// Custom layers state this themselves: see dataOf() and hasLoss().
  LayerData data;
  /// Whether F writes a micro-batch's loss.
  bool hasLoss;
  /// Whether it adds to the residual stream: the more of these, the smaller the
  /// initial values (TensorInit::ResidualNormal).
  bool isResidual;
};

inline constexpr LayerKindRow layerKinds[] = {
    {LayerKind::GptEmbedding, "GptEmbedding", gptEmbeddingSizes, 0, 0,
     LayerData::Tokens, false, false},
    {LayerKind::GptBlock, "GptBlock", gptBlockSizes, 1, 1, LayerData::None,
     false, true},
    {LayerKind::GptHead, "GptHead", gptHeadSizes, 1, 1, LayerData::Targets,
     true, false},
    {LayerKind::Synthetic, "Synthetic", syntheticSizes, 0, maxLayerInputs,
     LayerData::None, false, false},
    {LayerKind::Custom, "Custom", customSizes, 0, maxLayerInputs,
     LayerData::None, false, false},
    {LayerKind::LlamaEmbedding, "LlamaEmbedding", gptEmbeddingSizes, 0, 0,
     LayerData::Tokens, false, false},
    {LayerKind::LlamaBlock, "LlamaBlock", llamaBlockSizes, 1, 1,
     LayerData::None, false, true},
    {LayerKind::LlamaHead, "LlamaHead", gptHeadSizes, 1, 1, LayerData::Targets,
     true, false},
};
inline constexpr int numLayerKinds = sizeof layerKinds / sizeof layerKinds[0];

constexpr bool areLayerKindsInOrder() {
  for (int k = 0; k < numLayerKinds; ++k)
    if (static_cast<int>(layerKinds[k].kind) != k)
      return false;
  return true;
}
static_assert(areLayerKindsInOrder(), "a kind is the number of its row");

constexpr const LayerKindRow &rowOf(LayerKind kind) {
  return layerKinds[static_cast<int>(kind)];
}

/// The data that the layer reads from the data set.
constexpr LayerData dataOf(const LayerDesc &layer) {
  return layer.kind == LayerKind::Custom ? layer.custom.data
                                         : rowOf(layer.kind).data;
}
/// Whether the layer reads anything from the data set.
constexpr bool readsData(const LayerDesc &layer) {
  return dataOf(layer) != LayerData::None || layer.custom.numStreams > 0;
}
/// Whether its F writes a micro-batch's loss.
constexpr bool hasLoss(const LayerDesc &layer) {
  return layer.kind == LayerKind::Custom ? layer.custom.hasLoss
                                         : rowOf(layer.kind).hasLoss;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_LAYER_KINDS_H
