//===- layer_sizes.h - Buffer sizes and work of each layer kind -*- C++ -*-===//
//
// The compiler sizes the arena with layerSizes(); the bodies use the same
// function, so that plan and program cannot disagree. Everything is inline:
// integer arithmetic on descriptions that the caller has checked: sizes are
// positive, heads divides hidden, and no product overflows 64 bits.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_LAYER_SIZES_H
#define RONDO_RUNTIME_MODEL_LAYER_SIZES_H

#include "runtime/model/cuda_layouts.h"
#include "runtime/model/layouts.h"

namespace rondo::runtime {

/// The largest width of a head that the bodies of a target take.
inline constexpr int32_t maxHeadWidthCuda = 256;

/// Of a gpt layer on CUDA.
inline LayerSizes layerSizesCuda(const LayerDesc &layer) {
  const int64_t activations = alignedBytes(
      cuda::activationBytes(layer, numTokens(layer) * layer.hidden));
  LayerSizes sizes{};
  int64_t weights = 0;
  switch (layer.kind) {
  case LayerKind::GptEmbedding:
    weights = EmbeddingWeights(layer).all.size();
    sizes.savedForWeightGrad = cuda::EmbeddingSavedForW(layer).all.bytes();
    sizes.output = activations;
    sizes.data = alignedBytes(4 * numTokens(layer));
    break;
  case LayerKind::GptBlock:
    weights = BlockWeights(layer).all.size();
    sizes.savedForInputGrad = cuda::BlockSavedForI(layer).all.bytes();
    sizes.savedForWeightGrad = cuda::BlockSavedForW(layer).all.bytes();
    sizes.input = activations;
    sizes.output = activations;
    sizes.workspace = cuda::BlockWorkspace(layer).all.bytes();
    break;
  case LayerKind::GptHead:
    weights = HeadWeights(layer).all.size();
    sizes.savedForInputGrad = cuda::HeadSavedForI(layer).all.bytes();
    sizes.savedForWeightGrad = cuda::HeadSavedForW(layer).all.bytes();
    sizes.input = activations;
    sizes.workspace = cuda::HeadWorkspace(layer).all.bytes();
    sizes.data = alignedBytes(4 * numTokens(layer));
    break;
  case LayerKind::Synthetic:
    break;
  }
  sizes.weights = cuda::weightBytes(layer, weights);
  sizes.gradients = alignedBytes(cuda::floatBytes(weights));
  return sizes;
}

/// Each buffer's bytes are a multiple of bufferAlignment.
inline LayerSizes layerSizes(const LayerDesc &layer) {
  if (layer.target == Target::Cuda && layer.kind != LayerKind::Synthetic)
    return layerSizesCuda(layer);
  auto floats = [](int64_t count) { return alignedBytes(4 * count); };
  int64_t activations = floats(numTokens(layer) * layer.hidden);
  LayerSizes sizes{};
  switch (layer.kind) {
  case LayerKind::GptEmbedding:
    sizes.weights = floats(EmbeddingWeights(layer).all.size());
    sizes.savedForWeightGrad = floats(EmbeddingSavedForW(layer).all.size());
    sizes.output = activations;
    sizes.data = alignedBytes(4 * numTokens(layer));
    break;
  case LayerKind::GptBlock:
    sizes.weights = floats(BlockWeights(layer).all.size());
    sizes.savedForInputGrad = floats(BlockSavedForI(layer).all.size());
    sizes.savedForWeightGrad = floats(BlockSavedForW(layer).all.size());
    sizes.input = activations;
    sizes.output = activations;
    sizes.workspace = floats(BlockWorkspace(layer).all.size());
    break;
  case LayerKind::GptHead:
    sizes.weights = floats(HeadWeights(layer).all.size());
    sizes.savedForInputGrad = floats(HeadSavedForI(layer).all.size());
    sizes.savedForWeightGrad = floats(HeadSavedForW(layer).all.size());
    sizes.input = activations;
    sizes.workspace = activations;
    sizes.data = alignedBytes(4 * numTokens(layer));
    break;
  case LayerKind::Synthetic:
    sizes.weights = alignedBytes(layer.weightBytes);
    sizes.savedForInputGrad = alignedBytes(layer.inputGradFreesBytes);
    sizes.savedForWeightGrad =
        alignedBytes(layer.activationBytes - layer.inputGradFreesBytes);
    sizes.input = alignedBytes(layer.inputBytes);
    sizes.output = alignedBytes(layer.outputBytes);
    break;
  }
  sizes.gradients = sizes.weights;
  return sizes;
}

/// Activations between the layers of a stage lie at the beginning of its
/// workspace, in so many buffers of innerBytes() that are used in turn.
constexpr int32_t numInnerBuffers(int64_t count) {
  return count > 2 ? 2 : static_cast<int32_t>(count) - 1;
}
inline int64_t innerBytes(const LayerDesc *layers, int64_t count) {
  int64_t most = 0;
  for (int64_t i = 0; i + 1 < count; ++i) {
    int64_t bytes = layerSizes(layers[i]).output;
    most = bytes > most ? bytes : most;
  }
  return most;
}

/// Sizes of one or more consecutive layers that run as one stage. Behind the
/// inner activations the workspace is the layers' own scratch. Weights, saved
/// buffers and data lie layer after layer.
inline LayerSizes stageSizes(const LayerDesc *layers, int64_t count) {
  LayerSizes sum{};
  for (int64_t i = 0; i < count; ++i) {
    LayerSizes sizes = layerSizes(layers[i]);
    sum.weights += sizes.weights;
    sum.gradients += sizes.gradients;
    sum.savedForInputGrad += sizes.savedForInputGrad;
    sum.savedForWeightGrad += sizes.savedForWeightGrad;
    sum.data += sizes.data;
    if (sizes.workspace > sum.workspace)
      sum.workspace = sizes.workspace;
    if (i == 0)
      sum.input = sizes.input;
    sum.output = sizes.output;
  }
  sum.workspace += numInnerBuffers(count) * innerBytes(layers, count);
  return sum;
}

/// Floating-point operations: a multiply and an add count as two. Only matrix
/// products count, and the additions of an embedding. Attention counts the
/// causal half, and its probabilities again in I, which computes them anew.
inline LayerFlops layerFlops(const LayerDesc &layer) {
  int64_t tokens = numTokens(layer), hidden = layer.hidden;
  switch (layer.kind) {
  case LayerKind::GptEmbedding:
    return {tokens * hidden, 0, 2 * tokens * hidden};
  case LayerKind::GptBlock: {
    int64_t linear = 2 * tokens * hidden * (4 * hidden + 2 * layer.ffn);
    int64_t causal = tokens * hidden * (int64_t(layer.sequence) + 1);
    return {linear + 2 * causal, linear + 5 * causal, linear};
  }
  case LayerKind::GptHead: {
    int64_t linear = 2 * tokens * hidden * layer.vocab;
    return {linear, linear, linear};
  }
  case LayerKind::Synthetic:
    break;
  }
  return {0, 0, 0};
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_LAYER_SIZES_H
