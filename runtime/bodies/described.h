//===- described.h - A custom layer as its body sees it ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_DESCRIBED_H
#define RONDO_RUNTIME_BODIES_DESCRIBED_H

#include "runtime/bodies/body.h"
#include "runtime/bodies/rondo_body.h"

#include <string>
#include <vector>

namespace rondo::runtime {

/// The layer as its body sees it.
struct Described {
  explicit Described(const LayerDesc &layer);
  Described(const Described &) = delete;
  Described &operator=(const Described &) = delete;

  rondo_layer layer{};

private:
  int64_t inputGrads[maxLayerInputs];
  rondo_stream streams[maxLayerStreams];
};

/// `body 'mlp'`.
std::string nameOfBody(const LayerDesc &layer);

/// Throws Error: what is wrong with the layer.
[[noreturn]] void failOf(const LayerDesc &layer, const std::string &what);

/// The number of tensors that the body says it has; may be any number.
int32_t countTensors(const LayerDesc &layer);
/// The body's own descriptions; one more than allowed if there are too many.
std::vector<rondo_tensor> describeTensors(const LayerDesc &layer);
int64_t countOf(const rondo_tensor &tensor);
/// Whether it is the weight that the first and the last layer of a tied model
/// share.
bool isTied(const LayerDesc &layer, const char *name);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_DESCRIBED_H
