//===- Slots.cpp - Numbers of the slots of all pools ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Slots.h"

#include <algorithm>

using namespace rondo;

Slots::Slots(const Program &program) : program(program), begins(1, 0) {
  for (const Pool &pool : program.pools)
    begins.push_back(begins.back() + std::max(pool.slots, 0));
}

int64_t Slots::of(int32_t buffer, int64_t number) const {
  if (program.places.empty())
    return none;
  const Place &place = program.places[buffer];
  if (place.pool < 0)
    return none;
  if (place.pool >= static_cast<int64_t>(program.pools.size()) ||
      place.slotOf.empty())
    return invalid;
  int32_t slot = place.slot(number);
  if (slot < 0 || slot >= program.pools[place.pool].slots)
    return invalid;
  return begins[place.pool] + slot;
}

int32_t Slots::poolOf(int64_t slot) const {
  return static_cast<int32_t>(
      std::upper_bound(begins.begin(), begins.end(), slot) - begins.begin() -
      1);
}
