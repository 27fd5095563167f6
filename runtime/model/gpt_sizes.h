//===- gpt_sizes.h - Buffer sizes and work of a GPT's layers ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer arithmetic on descriptions that the caller has checked: sizes are
// positive, heads divides hidden, and no product overflows 64 bits.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_GPT_SIZES_H
#define RONDO_RUNTIME_MODEL_GPT_SIZES_H

#include "runtime/model/cuda_layouts.h"
#include "runtime/model/layouts.h"

namespace rondo::runtime {

/// The largest head width that the CUDA bodies take.
inline constexpr int32_t maxHeadWidthCuda = 256;

/// Bytes of a layer's activations: its input or its output.
inline int64_t gptActivationBytes(const LayerDesc &layer) {
  const int64_t count = numTokens(layer) * layer.hidden;
  return layer.target == Target::Cuda ? cuda::activationBytes(layer, count)
                                      : 4 * count;
}
/// The same of a buffer that holds them.
inline int64_t gptActivationBuffer(const LayerDesc &layer) {
  return alignedBytes(gptActivationBytes(layer));
}

/// Sizes with weights and gradients of this many elements, and nothing else.
inline LayerSizes gptSizes(const LayerDesc &layer, int64_t weights) {
  LayerSizes sizes{};
  sizes.gradients = alignedBytes(4 * weights);
  sizes.weights = layer.target == Target::Cuda
                      ? cuda::weightBytes(layer, weights)
                      : sizes.gradients;
  return sizes;
}

/// Bytes of a buffer: its layout counts floats on the CPU, bytes on CUDA.
template <typename OnCpu, typename OnCuda>
int64_t gptBufferBytes(const LayerDesc &layer) {
  return layer.target == Target::Cuda
             ? OnCuda(layer).all.bytes()
             : alignedBytes(4 * OnCpu(layer).all.size());
}

/// Sets the bytes of a saved buffer, and of what may leave of it.
template <typename OnCpu, typename OnCuda>
void setSaved(const LayerDesc &layer, int64_t &all, int64_t &away) {
  const bool isCpu = layer.target == Target::Cpu;
  away = isCpu ? alignedBytes(4 * OnCpu(layer).all.goes.size())
               : OnCuda(layer).all.goes.bytes();
  all = away + (isCpu ? alignedBytes(4 * OnCpu(layer).all.stays.size())
                      : OnCuda(layer).all.stays.bytes());
}
template <typename OnCpu, typename OnCuda>
void setSavedForI(const LayerDesc &layer, LayerSizes &sizes) {
  setSaved<OnCpu, OnCuda>(layer, sizes.savedForInputGrad,
                          sizes.awayForInputGrad);
}
template <typename OnCpu, typename OnCuda>
void setSavedForW(const LayerDesc &layer, LayerSizes &sizes) {
  setSaved<OnCpu, OnCuda>(layer, sizes.savedForWeightGrad,
                          sizes.awayForWeightGrad);
}

inline LayerSizes gptEmbeddingSizes(const LayerDesc &layer) {
  LayerSizes sizes = gptSizes(layer, EmbeddingWeights(layer).all.size());
  setSavedForW<EmbeddingSavedForW, cuda::EmbeddingSavedForW>(layer, sizes);
  sizes.output = gptActivationBuffer(layer);
  sizes.data = alignedBytes(4 * numTokens(layer));
  return sizes;
}

inline LayerSizes gptBlockSizes(const LayerDesc &layer) {
  LayerSizes sizes = gptSizes(layer, BlockWeights(layer).all.size());
  setSavedForI<BlockSavedForI, cuda::BlockSavedForI>(layer, sizes);
  setSavedForW<BlockSavedForW, cuda::BlockSavedForW>(layer, sizes);
  sizes.input = sizes.output = gptActivationBuffer(layer);
  sizes.workspace = gptBufferBytes<BlockWorkspace, cuda::BlockWorkspace>(layer);
  return sizes;
}

inline LayerSizes gptHeadSizes(const LayerDesc &layer) {
  LayerSizes sizes = gptSizes(layer, HeadWeights(layer).all.size());
  setSavedForI<HeadSavedForI, cuda::HeadSavedForI>(layer, sizes);
  setSavedForW<HeadSavedForW, cuda::HeadSavedForW>(layer, sizes);
  sizes.input = gptActivationBuffer(layer);
  sizes.workspace = layer.target == Target::Cuda
                        ? cuda::HeadWorkspace(layer).all.bytes()
                        : sizes.input;
  sizes.data = alignedBytes(4 * numTokens(layer));
  return sizes;
}

/// Elements of the layer's dtype from one token's logits to the next, where F
/// of a head copies them.
inline int64_t logitsStride(const LayerDesc &layer) {
  return layer.target == Target::Cuda ? cuda::HeadChunks(layer).stride
                                      : layer.vocab;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_GPT_SIZES_H
