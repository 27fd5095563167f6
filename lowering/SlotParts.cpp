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
  constexpr size_t overhead = 4;
  const size_t n =
      std::max(slots.size(), static_cast<size_t>(std::max<int64_t>(count, 0)));
  std::vector<int32_t> all(slots);
  all.reserve(n);
  while (all.size() < n)
    all.push_back(all[all.size() - slots.size()]);
  // From the end: how far the list goes on with each period, and the least that
  // listing the rest takes, as a part of which period and length.
  std::array<size_t, longestPeriod + 1> lengths{};
  struct Rest {
    size_t slots = 0, period = 0, length = 0;
  };
  std::vector<Rest> rests(n + 1);
  for (size_t i = n; i-- > 0;)
    for (size_t period = 1; period <= longestPeriod && i + period <= n;
         ++period) {
      size_t &length = lengths[period];
      if (i + period == n)
        length = period;
      else
        length = all[i] == all[i + period] ? length + 1 : period;
      const size_t needed = period + overhead + rests[i + length].slots;
      if (rests[i].period == 0 || needed < rests[i].slots)
        rests[i] = {needed, period, length};
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
