//===- tensors.h - Global names and initial values of tensors ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_TENSORS_H
#define RONDO_RUNTIME_BODIES_TENSORS_H

#include "runtime/bodies/body.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::runtime {

/// The tensors of a layer, in the order of its weights.
std::vector<LayerTensor> layerTensors(const LayerDesc &layer);

/// The tensor's global name, such as "h3.attn.c_attn.weight".
std::string tensorName(const LayerTensor &tensor);

/// The first tensor whose values F replaces, if there is one.
std::optional<LayerTensor> findRunning(const LayerDesc &layer);

/// Its sizes, as many as it has dimensions.
std::vector<int64_t> shapeOf(const LayerTensor &tensor);

/// Writes the initial values of `tensor` into the layer's `weights`. They
/// depend only on the seed, the tensor's global name, its init and `numBlocks`
/// (the model's layers that add to the residual stream), not on partition, rank
/// or order. Integer arithmetic up to the last scaling gives the same bits on
/// every machine.
void initialiseTensor(const LayerTensor &tensor, uint64_t seed,
                      int32_t numBlocks, float *weights);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_TENSORS_H
