//===- Arena.cpp - L4: pools lie apart and fit ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/ProgramNames.h"

#include <algorithm>

using namespace rondo;

namespace {

constexpr ProgramRule rule = ProgramRule::Arena;

std::string number(int64_t n) { return std::to_string(n); }

std::optional<ProgramViolation> checkPool(const Program &program,
                                          int32_t index) {
  const Pool &pool = program.pools[index];
  std::string name = "pool " + number(index);
  int64_t numArenas = static_cast<int64_t>(program.arenaBytes.size());
  if (pool.rank < 0 || pool.rank >= numArenas)
    return violationAt(rule, -1, -1,
                       name + " lies on rank " + number(pool.rank) +
                           "; there are " + number(numArenas) + " arenas");
  int64_t arena = program.arenaBytes[pool.rank];
  std::string what = name + " of " + number(pool.slots) + " slots of " +
                     number(pool.slotBytes) + " bytes at offset " +
                     number(pool.offset);
  if (pool.offset < 0 || pool.slotBytes < 0 || pool.slots < 0)
    return violationAt(rule, pool.rank, -1, what + " has a figure below 0");
  if (pool.slots > maxSlots)
    return violationAt(rule, pool.rank, -1,
                       what + " has more slots than a table names, " +
                           number(maxSlots));
  if (pool.offset % bufferAlignment != 0 ||
      (pool.slots > 1 && pool.slotBytes % bufferAlignment != 0))
    return violationAt(rule, pool.rank, -1,
                       what +
                           " has a slot that does not begin at a multiple "
                           "of " +
                           number(bufferAlignment) + " bytes");
  if (pool.offset > arena ||
      (pool.slots > 0 && pool.slotBytes > (arena - pool.offset) / pool.slots))
    return violationAt(rule, pool.rank, -1,
                       what + " does not lie in the " + number(arena) +
                           " bytes of rank " + number(pool.rank) + "'s arena");
  return std::nullopt;
}

} // namespace

std::optional<ProgramViolation>
rondo::checkArena(const Program &program, const std::vector<int64_t> &caps) {
  for (size_t r = 0; r < std::min(program.arenaBytes.size(), caps.size()); ++r)
    if (program.arenaBytes[r] > caps[r]) {
      ProgramViolation violation =
          violationAt(rule, static_cast<int32_t>(r), -1,
                      "rank " + number(r) + " needs an arena of " +
                          number(program.arenaBytes[r]) + " bytes, " +
                          number(program.arenaBytes[r] - caps[r]) +
                          " more than its device's " + number(caps[r]));
      violation.isOverCap = true;
      return violation;
    }
  std::vector<int32_t> order;
  for (int32_t p = 0; p < static_cast<int32_t>(program.pools.size()); ++p) {
    if (auto violation = checkPool(program, p))
      return violation;
    if (program.pools[p].slots > 0 && program.pools[p].slotBytes > 0)
      order.push_back(p);
  }
  auto place = [&](int32_t p) {
    return std::make_pair(program.pools[p].rank, program.pools[p].offset);
  };
  std::sort(order.begin(), order.end(),
            [&](int32_t a, int32_t b) { return place(a) < place(b); });
  for (size_t i = 1; i < order.size(); ++i) {
    const Pool &before = program.pools[order[i - 1]];
    const Pool &pool = program.pools[order[i]];
    int64_t end = before.offset + before.slotBytes * before.slots;
    if (before.rank == pool.rank && pool.offset < end)
      return violationAt(rule, pool.rank, -1,
                         "pool " + number(order[i]) + " begins at offset " +
                             number(pool.offset) + " of rank " +
                             number(pool.rank) + ", inside pool " +
                             number(order[i - 1]) + ", which ends at " +
                             number(end));
  }
  return std::nullopt;
}
