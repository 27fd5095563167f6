//===- SlotParts.cpp - Slots by micro-batch, in a short form --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/SlotParts.h"

#include <algorithm>
#include <array>
#include <cstddef>

using namespace rondo;

std::vector<SlotPart> rondo::slotParts(const std::vector<int32_t> &slots,
                                       int64_t count) {
  // What writing a later part takes beside its slots, in slots.
  constexpr uint32_t overhead = 4;
  const size_t n =
      std::max(slots.size(), static_cast<size_t>(std::max<int64_t>(count, 0)));
  // The end is followed by what no slot equals.
  constexpr int32_t behindEnd = -2;
  std::vector<int32_t> all(slots);
  all.reserve(n + longestPeriod);
  while (all.size() < n)
    all.push_back(all[all.size() - slots.size()]);
  all.resize(n + longestPeriod, behindEnd);
  // From the end: how far the list goes on with each period, and the least that
  // listing the rest takes, as a part of which period and length.
  std::array<uint32_t, longestPeriod> lengths{};
  struct Rest {
    uint32_t slots = 0, period = 0, length = 0;
  };
  std::vector<Rest> rests(n + 1);
  for (size_t i = n; i-- > 0;) {
    const int32_t *next = all.data() + i + 1;
    for (uint32_t p = 0; p < longestPeriod; ++p)
      lengths[p] = all[i] == next[p] ? lengths[p] + 1 : p + 1;
    Rest &rest = rests[i];
    const size_t longest = std::min(longestPeriod, n - i);
    for (uint32_t period = 1; period <= longest; ++period) {
      // A longer rest takes no less, so a longer period needs to get further.
      const uint32_t length = lengths[period - 1];
      if (length <= rest.length)
        continue;
      const uint32_t needed = period + overhead + rests[i + length].slots;
      if (rest.period == 0 || needed < rest.slots)
        rest = {needed, period, length};
    }
  }
  if (rests[0].slots >= slots.size() + overhead)
    return {{0, slots}};
  std::vector<SlotPart> parts;
  for (size_t i = 0; i < n; i += rests[i].length) {
    const int32_t *first = all.data() + i;
    parts.push_back(
        {static_cast<int64_t>(i), {first, first + rests[i].period}});
  }
  return parts;
}
