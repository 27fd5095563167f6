//===- layers.h - The computations that the body tables list ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_LAYERS_H
#define RONDO_RUNTIME_BODIES_LAYERS_H

#include "runtime/bodies/body.h"

#include <algorithm>

namespace rondo::runtime {

template <typename Real> LayerBody embeddingBody();
template <typename Real> LayerBody blockBody();
template <typename Real> LayerBody headBody();
template <typename Real> LayerBody llamaBlockBody();
LayerBody syntheticBody();
/// Calls the custom body that the layer names.
LayerBody customBody();

/// The global name of the token embedding's weight, which a tied head shares.
constexpr const char *tokenWeightName(bool isLlama) {
  return isLlama ? "model.embed_tokens.weight" : "wte.weight";
}

/// Fills an array of LayerTensor as LayerBody::tensors requires.
class TensorList {
public:
  TensorList(LayerTensor *tensors, int32_t capacity)
      : tensors(tensors), capacity(capacity) {}

  /// A vector: no weight decay.
  void add(const char *prefix, const char *suffix, TensorInit init,
           int64_t offset, int64_t length) {
    append(
        {prefix, suffix, 1, {length, 1}, offset, length, false, init, nullptr});
  }

  /// A matrix.
  void add(const char *prefix, const char *suffix, TensorInit init,
           int64_t offset, int64_t rows, int64_t columns,
           const char *sharedWith = nullptr) {
    append({prefix,
            suffix,
            2,
            {rows, columns},
            offset,
            rows * columns,
            true,
            init,
            sharedWith});
  }

  int32_t size() const { return count; }

private:
  void append(const LayerTensor &tensor) {
    if (count < capacity)
      tensors[count] = tensor;
    ++count;
  }

  LayerTensor *tensors;
  int32_t capacity;
  int32_t count = 0;
};

/// Element `offset` of a buffer.
template <typename Real> Real *at(void *buffer, int64_t offset) {
  return static_cast<Real *>(buffer) + offset;
}
template <typename Real> Real *at(const SavedPlace &place) {
  return at<Real>(place.base, place.offset);
}
template <typename Real> const Real *at(const void *buffer, int64_t offset) {
  return static_cast<const Real *>(buffer) + offset;
}

/// The documents of a layer's micro-batch: its samples, or those of a row.
struct TaskDocuments {
  TaskDocuments(const LayerDesc &layer, const LayerArgs &args)
      : layer(layer), starts(args.documentStarts),
        size(starts            ? args.numDocuments
             : layer.rowTokens ? 1
                               : layer.batch) {}

  /// The first token, and the number of tokens.
  int64_t first(int64_t document) const {
    return starts ? starts[document] : numTokens(layer) / size * document;
  }
  int64_t tokens(int64_t document) const {
    return first(document + 1) - first(document);
  }
  /// The place of a token in its document.
  int64_t placeOf(int64_t token) const {
    return starts
               ? token - *(std::upper_bound(starts, starts + size, token) - 1)
               : token % (numTokens(layer) / size);
  }

  const LayerDesc &layer;
  const int32_t *const starts;
  const int64_t size;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_LAYERS_H
