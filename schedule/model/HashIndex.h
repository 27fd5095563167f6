//===- HashIndex.h - Numbers by hash ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_MODEL_HASHINDEX_H
#define RONDO_SCHEDULE_MODEL_HASHINDEX_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rondo {

/// Finds entries that the caller keeps in an array, by a hash of each: open
/// addressing, at most half full. The upper 32 bits of a hash count. Clearing
/// keeps the memory.
class HashIndex {
public:
  void clear() {
    used = 0;
    places.assign(leastPlaces, {});
  }

  /// Returns the number of an entry with this hash for which `isSame(number)`
  /// is true. If there is none, adds `newNumber` and returns it. Expected O(1).
  template <typename IsSame>
  uint32_t findOrAdd(uint64_t hash, uint32_t newNumber, const IsSame &isSame) {
    const auto tag = static_cast<uint32_t>(hash >> 32);
    size_t at = tag & (places.size() - 1);
    for (; places[at].numberPlus1 > 0; at = (at + 1) & (places.size() - 1))
      if (places[at].tag == tag && isSame(places[at].numberPlus1 - 1))
        return places[at].numberPlus1 - 1;
    places[at] = {newNumber + 1, tag};
    if (2 * ++used > places.size())
      enlarge();
    return newNumber;
  }

private:
  /// A power of two.
  static constexpr size_t leastPlaces = 64;

  struct Place {
    /// 0: free.
    uint32_t numberPlus1 = 0;
    uint32_t tag = 0;
  };

  void enlarge() {
    const std::vector<Place> old = std::move(places);
    places.assign(2 * old.size(), {});
    for (const Place &place : old) {
      if (place.numberPlus1 == 0)
        continue;
      size_t at = place.tag & (places.size() - 1);
      while (places[at].numberPlus1 > 0)
        at = (at + 1) & (places.size() - 1);
      places[at] = place;
    }
  }

  size_t used = 0;
  std::vector<Place> places = std::vector<Place>(leastPlaces);
};

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_HASHINDEX_H
