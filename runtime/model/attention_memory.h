//===- attention_memory.h - What cuDNN's attention takes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_MODEL_ATTENTION_MEMORY_H
#define RONDO_RUNTIME_MODEL_ATTENTION_MEMORY_H

#include "runtime/model/llama_cuda_layouts.h"

namespace rondo::runtime {

/// If cuDNN's attention needs a larger workspace than this, own kernels run.
inline constexpr int64_t maxAttentionWorkspaceBytes = int64_t(1) << 30;

/// Device memory, in bytes, that a rank needs in addition to its arena for
/// cuDNN's attention of the layer; 0 if own kernels run. A rank's layers share
/// it. The gradients of q, k and v, which cannot take their place at once, and
/// what cuDNN 9.19 asks for on an H200: a matrix of sequence x sequence in bf16
/// and a row of fp32 for each head. Other versions may ask for more or less.
inline int64_t attentionMemoryBytes(const LayerDesc &layer) {
  const bool hasAttention =
      layer.kind == LayerKind::GptBlock || layer.kind == LayerKind::LlamaBlock;
  if (!hasAttention || layer.target != Target::Cuda ||
      layer.dtype != DType::Bf16)
    return 0;
  const bool isLlama = layer.kind == LayerKind::LlamaBlock;
  const int64_t width = isLlama ? headWidth(layer) : layer.hidden / layer.heads;
  const int64_t columns =
      isLlama ? cuda::QkvColumns(layer).stride : 3 * int64_t(layer.hidden);
  const int64_t rows = numTokens(layer) * layer.heads;
  const int64_t workspace = rows * (2 * int64_t(layer.sequence) + 4) + 256;
  if (width % 8 != 0 || workspace > maxAttentionWorkspaceBytes)
    return 0;
  return alignedBytes(2 * numTokens(layer) * columns) + workspace;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_ATTENTION_MEMORY_H
