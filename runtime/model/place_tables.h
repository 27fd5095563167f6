//===- place_tables.h - Where buffers lie in arenas -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_MODEL_PLACE_TABLES_H
#define RONDO_RUNTIME_MODEL_PLACE_TABLES_H

#include <cstdint>

namespace rondo::runtime {

/// Equal slots in the arena of `rank`, at `offset` from its start.
struct PoolDesc {
  int32_t rank;
  int64_t offset;
  int64_t slotBytes;
  int32_t slots;
  /// In the rank's arena on its host.
  bool isOnHost = false;
};

/// Slots that repeat from an instance on.
struct SlotPartDesc {
  int32_t begin;
  int32_t period;
  const uint16_t *slots;
};

/// Place of a replica's buffer: slots of a pool. pool < 0: the stage has no
/// such buffer.
struct PlaceDesc {
  int32_t pool = -1;
  /// Slots repeat, until a later part begins, if there is one.
  int32_t period = 1;
  const uint16_t *slots = nullptr;
  int32_t numLater = 0;
  const SlotPartDesc *later = nullptr;
  /// If micro-batches differ in size: the number of consecutive slots that each
  /// takes, one entry for each. Null: one slot.
  const int32_t *spans = nullptr;
};

/// The slot of instance i, a micro-batch or a version of the weights.
inline int32_t slotOf(const PlaceDesc &place, int64_t i) {
  auto within = [](const uint16_t *slots, int64_t number, int32_t period) {
    return slots[static_cast<uint32_t>(number) % static_cast<uint32_t>(period)];
  };
  for (int32_t k = place.numLater; k-- > 0;)
    if (const SlotPartDesc &part = place.later[k]; i >= part.begin)
      return within(part.slots, i - part.begin, part.period);
  return within(place.slots, i, place.period);
}

/// Instances up to where the last part has been read once.
inline int32_t numListed(const PlaceDesc &place) {
  if (place.numLater == 0)
    return place.period;
  const SlotPartDesc &last = place.later[place.numLater - 1];
  return last.begin + last.period;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_PLACE_TABLES_H
