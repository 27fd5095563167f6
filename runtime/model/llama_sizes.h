//===- llama_sizes.h - Buffer sizes and work of a Llama's layers - C++ ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer arithmetic on descriptions that the caller has checked, like
// model/gpt_sizes.h. An embedding and a head differ from a GPT's in their
// layouts alone.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_LLAMA_SIZES_H
#define RONDO_RUNTIME_MODEL_LLAMA_SIZES_H

#include "runtime/model/gpt_sizes.h"
#include "runtime/model/llama_cuda_layouts.h"
#include "runtime/model/llama_layouts.h"

namespace rondo::runtime {

inline LayerSizes llamaBlockSizes(const LayerDesc &layer) {
  LayerSizes sizes = gptSizes(layer, LlamaBlockWeights(layer).all.size());
  sizes.savedForInputGrad =
      gptBufferBytes<LlamaBlockSavedForI, cuda::LlamaBlockSavedForI>(layer);
  sizes.savedForWeightGrad =
      gptBufferBytes<LlamaBlockSavedForW, cuda::LlamaBlockSavedForW>(layer);
  sizes.workspace =
      gptBufferBytes<LlamaBlockWorkspace, cuda::LlamaBlockWorkspace>(layer);
  sizes.input = sizes.output = gptActivationBuffer(layer);
  return sizes;
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
  const int64_t causal = tokens * width * (int64_t(layer.sequence) + 1);
  return {linear + 2 * causal, linear + 5 * causal, linear};
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_LLAMA_SIZES_H
