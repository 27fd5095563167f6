//===- saved_parts.h - Named parts of what a layer saves --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The activations that F of a layer saves have parts with names, `@h0.qkv` in
// the language. A copy moves the parts that LayerDesc::offloads lists. These
// lie in buffers of their own, so that the others stay on the device.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_SAVED_PARTS_H
#define RONDO_RUNTIME_MODEL_SAVED_PARTS_H

#include "runtime/model/layer.h"

namespace rondo::runtime {

/// The first two are all that I needs and the rest; layers of every kind have
/// these. The others are regions of a kind's layouts; model/saved_part_names.h
/// has their names.
// clang-format off: a line each would be long
enum class Part : uint8_t {
  ForInputGrad, ForWeightGrad, Statistics, HeadNorms, Norm1, Qkv, Attention,
  Norm2, Ffn, Activation, Norm, Logits, Tokens, Gradients
};
// clang-format on

/// A set of parts has a bit for each. Those that a custom layer lists follow
/// the first 32 bits.
constexpr uint64_t bitOf(Part part) {
  return uint64_t(1) << static_cast<int>(part);
}
constexpr uint64_t bitOfListed(int32_t part) {
  return uint64_t(1) << 32 << part;
}
static_assert(maxLayerParts <= 32, "a set has a bit for each");
inline constexpr uint64_t allSavedParts =
    bitOf(Part::ForInputGrad) | bitOf(Part::ForWeightGrad);
/// Set in addition to parts: I does not read what leaves, which comes back for
/// W.
inline constexpr uint64_t leavesUntilWeightGrad = uint64_t(1) << 30;
/// Set in place of parts, in the layer with which R begins: its input leaves.
inline constexpr uint64_t checkpointLeaves = uint64_t(1) << 31;

constexpr bool leaves(const LayerDesc &layer, Part part) {
  return (layer.offloads & bitOf(part)) != 0;
}

/// An offset with this bit counts from the start of what leaves, any other from
/// the start of what stays.
inline constexpr int64_t inAway = int64_t(1) << 62;

/// Places the regions of one saved buffer: those that leave after one another,
/// and those that stay.
template <typename Placer> struct SavedLayout {
  /// `whole` is the name of the buffer.
  constexpr SavedLayout(const LayerDesc &layer, Part whole)
      : parts(leaves(layer, whole) ? ~uint64_t(0) : layer.offloads) {}

  /// Appends a region of a part and returns its offset.
  constexpr int64_t place(Part part, int64_t count) {
    return place(bitOf(part), count);
  }
  constexpr int64_t place(uint64_t bit, int64_t count) {
    return parts & bit ? inAway | goes.place(count) : stays.place(count);
  }
  uint64_t parts;
  Placer stays, goes;
};

/// Places regions of bytes one after another.
class ByteLayout {
public:
  constexpr int64_t place(int64_t count) {
    const int64_t offset = bytes;
    bytes += alignedBytes(count);
    return offset;
  }
  constexpr int64_t size() const { return bytes; }

private:
  int64_t bytes = 0;
};

/// The places of the parts that a custom layer lists. Offsets count bytes in
/// the buffer of the part's readers.
struct ListedParts {
  SavedLayout<ByteLayout> forInputGrad, forWeightGrad;
  int64_t offsets[maxLayerParts] = {};

  constexpr explicit ListedParts(const LayerDesc &layer)
      : forInputGrad(layer, Part::ForInputGrad),
        forWeightGrad(layer, Part::ForWeightGrad) {
    for (int32_t k = 0; k < layer.custom.numParts; ++k) {
      const SavedPart &part = layer.custom.parts[k];
      auto &layout =
          part.readBy == ReadBy::InputGrad ? forInputGrad : forWeightGrad;
      offsets[k] = layout.place(bitOfListed(k), part.bytes);
    }
  }
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_SAVED_PARTS_H
