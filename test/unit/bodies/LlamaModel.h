//===- LlamaModel.h - A small Llama for tests -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_BODIES_LLAMAMODEL_H
#define RONDO_TEST_UNIT_BODIES_LLAMAMODEL_H

#include "Model.h"

namespace rondo::runtime {

/// Sizes and options of a test.
struct Llama {
  Sizes sizes;
  int32_t kvHeads, headWidth;
  bool qkvBias, headNorm, isScaled, tied;
};

inline LayerDesc llamaLayer(LayerKind kind, const char *name,
                            const Llama &options) {
  LayerDesc layer = gptLayer(kind, name, options.sizes);
  layer.tied = options.tied;
  layer.llama = {options.kvHeads, options.headWidth, 1e-5, 100, {},
                 options.qkvBias, options.headNorm};
  if (options.isScaled)
    layer.llama.ropeScaling = {8, 1, 4, 16};
  return layer;
}

inline std::vector<LayerDesc> llamaModel(const Llama &options) {
  return {llamaLayer(LayerKind::LlamaEmbedding, "wte", options),
          llamaLayer(LayerKind::LlamaBlock, "model.layers.0", options),
          llamaLayer(LayerKind::LlamaBlock, "model.layers.1", options),
          llamaLayer(LayerKind::LlamaHead, "lm_head", options)};
}

} // namespace rondo::runtime

#endif // RONDO_TEST_UNIT_BODIES_LLAMAMODEL_H
