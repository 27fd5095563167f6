//===- SlotParts.cpp - Compact slot tables --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/SlotParts.h"

#include <algorithm>
#include <array>
#include <cstddef>

using namespace rondo;

std::vector<SlotPart> rondo::slotParts(const std::vector<int32_t> &slots,
                                       int64_t count) {
  // Overhead of a part, in addition to its slots and in units of a slot.
  constexpr uint32_t overhead = 4;
  const size_t n =
      std::max(slots.size(), static_cast<size_t>(std::max<int64_t>(count, 0)));
  // Sentinel after the end of the table; equals no slot.
  constexpr int32_t behindEnd = -2;
  std::vector<int32_t> all(slots);
  all.reserve(n + longestPeriod);
  while (all.size() < n)
    all.push_back(all[all.size() - slots.size()]);
  all.resize(n + longestPeriod, behindEnd);
  // Dynamic programming from the end of the table. lengths[period - 1]: number
  // of entries from i on that one part with this period covers. rests[i]: the
  // least cost of writing the entries from i on, and the period and length of
  // the first part.
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
      // The cost of writing the list from i on never increases with i, so a
      // longer period pays off only if its part is longer.
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
