//===- layer_sizes.h - Buffer sizes and work of layers ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler sizes the arena with layerSizes(); the bodies use the same
// function, so the memory plan and the program cannot disagree. Everything is
// inline.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_LAYER_SIZES_H
#define RONDO_RUNTIME_MODEL_LAYER_SIZES_H

#include "runtime/model/layer_kinds.h"

namespace rondo::runtime {

/// Each buffer's bytes are a multiple of bufferAlignment.
inline LayerSizes layerSizes(const LayerDesc &layer) {
  return rowOf(layer.kind).sizes(layer);
}

inline LayerFlops layerFlops(const LayerDesc &layer) {
  return rowOf(layer.kind).flops(layer);
}

/// Activations between a stage's layers are at the beginning of its workspace,
/// in this many buffers of innerBytes(), used in turn.
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

/// Sizes of one or more consecutive layers that run as one stage. In the
/// workspace, the layers' own scratch follows the inner activations. Weights,
/// saved buffers and data are consecutive, in the order of the layers.
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

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_LAYER_SIZES_H
