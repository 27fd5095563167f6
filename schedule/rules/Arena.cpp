//===- Arena.cpp - L4: pools lie apart and fit ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/program/Program.h"
#include "schedule/rules/ProgramRules.h"

#include <algorithm>
#include <tuple>

using namespace rondo;

namespace {

constexpr Rule rule = Rule::Arena;

/// A fault of one pool. The first `parts` are its figures.
template <FaultKind kind, typename... Parts>
Fault poolFault(const Pool &pool, int32_t index, const Parts &...parts) {
  return makeFaultAt<kind>(rule, pool.rank, -1, Action(), index, pool.slots,
                           pool.slotBytes, pool.offset, parts...);
}

std::optional<Fault> checkPool(const Program &program, int32_t index) {
  const Pool &pool = program.pools[index];
  const std::vector<int64_t> &arenas =
      pool.isOnHost ? program.hostArenaBytes : program.arenaBytes;
  int64_t numArenas = static_cast<int64_t>(arenas.size());
  if (pool.rank < 0 || pool.rank >= numArenas)
    return makeRuleFault<FaultKind::PoolOnNoRank>(rule, index, pool.rank,
                                                  numArenas);
  int64_t arena = arenas[pool.rank];
  if (pool.offset < 0 || pool.slotBytes < 0 || pool.slots < 0)
    return poolFault<FaultKind::PoolBelowZero>(pool, index);
  if (pool.slots > maxSlots)
    return poolFault<FaultKind::PoolOfTooManySlots>(pool, index, maxSlots);
  if (pool.offset % bufferAlignment != 0 ||
      (pool.slots > 1 && pool.slotBytes % bufferAlignment != 0))
    return poolFault<FaultKind::PoolNotAligned>(pool, index, bufferAlignment);
  if (pool.offset > arena ||
      (pool.slots > 0 && pool.slotBytes > (arena - pool.offset) / pool.slots))
    return poolFault<FaultKind::PoolOutsideArena>(pool, index, arena);
  return std::nullopt;
}

} // namespace

std::optional<Fault> rondo::checkStaging(const Program &program,
                                         const std::vector<int64_t> &needed) {
  for (size_t r = 0; r < std::max(program.staging.size(), needed.size()); ++r) {
    const int32_t rank = static_cast<int32_t>(r);
    const int32_t number = r < program.staging.size() ? program.staging[r] : -1;
    if (number >= static_cast<int32_t>(program.pools.size()))
      return makeRuleFault<FaultKind::StagingInNoPool>(rule, rank, number);
    Pool pool;
    if (number >= 0)
      pool = program.pools[number];
    if (number >= 0 && (pool.rank != rank || pool.slots != 1))
      return makeRuleFault<FaultKind::StagingElsewhere>(rule, rank, number,
                                                        pool.slots, pool.rank);
    if (r < needed.size() && pool.slotBytes < needed[r])
      return makeRuleFault<FaultKind::StagingTooSmall>(rule)
          .withRank(rank)
          .withFigures(pool.slotBytes, needed[r]);
  }
  return std::nullopt;
}

/// The rank that exceeds its memory most.
template <FaultKind kind>
static std::optional<Fault> findOver(const std::vector<int64_t> &arenas,
                                     const std::vector<int64_t> &caps) {
  std::optional<Fault> over;
  for (size_t r = 0; r < std::min(arenas.size(), caps.size()); ++r) {
    const int64_t excess = arenas[r] - caps[r];
    if (excess <= 0 || (over && excess <= over->found - over->allowed))
      continue;
    over = makeRuleFault<kind>(rule)
               .withRank(static_cast<int32_t>(r))
               .withFigures(arenas[r], caps[r]);
  }
  return over;
}

std::optional<Fault> rondo::checkArena(const Program &program,
                                       const std::vector<int64_t> &caps,
                                       const std::vector<int64_t> &hostCaps) {
  if (auto over = findOver<FaultKind::ArenaOverCap>(program.arenaBytes, caps))
    return over;
  if (auto over = findOver<FaultKind::HostArenaOverCap>(program.hostArenaBytes,
                                                        hostCaps))
    return over;
  std::vector<int32_t> order;
  for (int32_t p = 0; p < static_cast<int32_t>(program.pools.size()); ++p) {
    if (auto fault = checkPool(program, p))
      return fault;
    if (program.pools[p].slots > 0 && program.pools[p].slotBytes > 0)
      order.push_back(p);
  }
  auto place = [&](int32_t p) {
    return std::make_tuple(program.pools[p].isOnHost, program.pools[p].rank,
                           program.pools[p].offset);
  };
  std::sort(order.begin(), order.end(),
            [&](int32_t a, int32_t b) { return place(a) < place(b); });
  for (size_t i = 1; i < order.size(); ++i) {
    const Pool &before = program.pools[order[i - 1]];
    const Pool &pool = program.pools[order[i]];
    int64_t end = before.offset + before.slotBytes * before.slots;
    if (before.rank == pool.rank && before.isOnHost == pool.isOnHost &&
        pool.offset < end)
      return makeFaultAt<FaultKind::PoolsOverlap>(rule, pool.rank, -1, Action(),
                                                  order[i], pool.offset,
                                                  order[i - 1], end);
  }
  return std::nullopt;
}
