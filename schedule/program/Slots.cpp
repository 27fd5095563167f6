//===- Slots.cpp - Numbering of the slots of all pools ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/program/Slots.h"

#include <algorithm>

using namespace rondo;

Slots::Slots(const Program &program) : begins(1, 0) {
  for (const Pool &pool : program.pools)
    begins.push_back(begins.back() + std::max(pool.slots, 0));
  rows.resize(program.places.size());
  for (size_t buffer = 0; buffer < rows.size(); ++buffer) {
    const Place &place = program.places[buffer];
    if (place.pool < 0)
      continue;
    Row &row = rows[buffer];
    if (place.pool >= static_cast<int64_t>(program.pools.size()) ||
        place.slotOf.empty() ||
        (!place.spans.empty() && place.spans.size() != place.slotOf.size())) {
      row.period = -1;
      continue;
    }
    row.slotOf = place.slotOf.data();
    row.spans = place.spans.empty() ? nullptr : place.spans.data();
    row.period = static_cast<int32_t>(place.slotOf.size());
    row.slots = program.pools[place.pool].slots;
    row.begin = begins[place.pool];
  }
}

std::vector<bool> Slots::sharedWith(const std::vector<int32_t> &others) const {
  std::vector<bool> isTaken(count()), result(rows.size());
  if (rows.empty())
    return result;
  for (int32_t buffer : others)
    for (int32_t i = 0; i < rows[buffer].period; ++i)
      if (const int64_t slot = of(buffer, i); slot >= 0)
        std::fill_n(isTaken.begin() + slot, span(buffer, i), true);
  for (size_t k = 0; k < rows.size(); ++k) {
    const auto buffer = static_cast<int32_t>(k);
    for (int32_t i = 0; i < rows[k].period && !result[k]; ++i)
      if (const int64_t slot = of(buffer, i); slot >= 0)
        for (int64_t s = slot; s < slot + span(buffer, i); ++s)
          result[k] = result[k] || isTaken[s];
  }
  return result;
}

int32_t Slots::poolOf(int64_t slot) const {
  return static_cast<int32_t>(
      std::upper_bound(begins.begin(), begins.end(), slot) - begins.begin() -
      1);
}
