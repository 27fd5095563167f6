//===- layer_work.h - Work, parameters and other memory of layers -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For the compiler: programs only need sizes (model/layer_sizes.h).
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_LAYER_WORK_H
#define RONDO_RUNTIME_MODEL_LAYER_WORK_H

#include "runtime/model/llama_sizes.h"

namespace rondo::runtime {

// Parameters: values of the weights, each of the model once.

inline int64_t gptEmbeddingParameters(const LayerDesc &layer) {
  return EmbeddingWeights(layer).all.values();
}

inline int64_t gptBlockParameters(const LayerDesc &layer) {
  return BlockWeights(layer).all.values();
}

/// A tied vocabulary matrix counts in the embedding.
inline int64_t gptHeadParameters(const LayerDesc &layer) {
  return HeadWeights(layer).all.values() -
         (layer.tied ? int64_t(layer.vocab) * layer.hidden : 0);
}

// Floating-point operations; a multiply and an add count as two. Only matrix
// products count, and the additions of an embedding. Attention counts the
// causal half, and its probabilities again in I, which recomputes them.

inline LayerFlops gptEmbeddingFlops(const LayerDesc &layer) {
  const int64_t values = numTokens(layer) * layer.hidden;
  return {values, 0, 2 * values};
}

inline LayerFlops gptBlockFlops(const LayerDesc &layer) {
  const int64_t tokens = numTokens(layer), hidden = layer.hidden;
  const int64_t linear = 2 * tokens * hidden * (4 * hidden + 2 * layer.ffn);
  const int64_t causal = tokens * hidden * (maxDocumentTokens(layer) + 1);
  return {linear + 2 * causal, linear + 5 * causal, linear};
}

inline LayerFlops gptHeadFlops(const LayerDesc &layer) {
  const int64_t linear = 2 * numTokens(layer) * layer.hidden * layer.vocab;
  return {linear, linear, linear};
}

inline int64_t llamaBlockParameters(const LayerDesc &layer) {
  return LlamaBlockWeights(layer).all.values();
}

/// W adds the gradients of the tokens' rows.
inline LayerFlops llamaEmbeddingFlops(const LayerDesc &layer) {
  return {0, 0, numTokens(layer) * layer.hidden};
}

/// Counted as a GPT block's are.
inline LayerFlops llamaBlockFlops(const LayerDesc &layer) {
  const int64_t tokens = numTokens(layer), width = attentionWidth(layer);
  const int64_t linear = 2 * tokens * layer.hidden *
                         (qkvWidth(layer) + width + 3 * int64_t(layer.ffn));
  const int64_t causal = tokens * width * (maxDocumentTokens(layer) + 1);
  return {linear + 2 * causal, linear + 5 * causal, linear};
}

/// Values of the weights without padding. What another layer has too, as tied
/// weights, counts in the first.
inline int64_t layerParameters(const LayerDesc &layer) {
  switch (layer.kind) {
  case LayerKind::GptEmbedding:
  case LayerKind::LlamaEmbedding:
    return gptEmbeddingParameters(layer);
  case LayerKind::GptBlock:
    return gptBlockParameters(layer);
  case LayerKind::LlamaBlock:
    return llamaBlockParameters(layer);
  case LayerKind::GptHead:
  case LayerKind::LlamaHead:
    return gptHeadParameters(layer);
  case LayerKind::Synthetic:
  case LayerKind::Custom:
    break;
  }
  return layer.weightBytes / 4; // fp32
}

inline LayerFlops layerFlops(const LayerDesc &layer) {
  switch (layer.kind) {
  case LayerKind::GptEmbedding:
    return gptEmbeddingFlops(layer);
  case LayerKind::LlamaEmbedding:
    return llamaEmbeddingFlops(layer);
  case LayerKind::GptBlock:
    return gptBlockFlops(layer);
  case LayerKind::LlamaBlock:
    return llamaBlockFlops(layer);
  case LayerKind::GptHead:
  case LayerKind::LlamaHead:
    return gptHeadFlops(layer);
  case LayerKind::Custom:
    return layer.custom.flops;
  case LayerKind::Synthetic:
    break;
  }
  return {0, 0, 0};
}

//===----------------------------------------------------------------------===//
// Memory of cuDNN's attention, of Llama's layers and GPT's.
//===----------------------------------------------------------------------===//

/// Device memory, in bytes, that a rank needs in addition to its arena for
/// cuDNN's attention of the layer; 0 if own kernels run, as for rows of
/// documents. A rank's layers share it. The gradients of q, k and v, which
/// cannot take their place at once, and what cuDNN 9.19 asks for on an H200: a
/// matrix of sequence x sequence in bf16 and a row of fp32 for each head. Other
/// versions may ask for more or less.
inline int64_t attentionMemoryBytes(const LayerDesc &layer) {
  const bool hasAttention =
      layer.kind == LayerKind::GptBlock || layer.kind == LayerKind::LlamaBlock;
  if (!hasAttention || layer.target != Target::Cuda ||
      layer.dtype != DType::Bf16 || layer.rowTokens != 0)
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

#endif // RONDO_RUNTIME_MODEL_LAYER_WORK_H
