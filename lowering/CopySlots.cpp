//===- CopySlots.cpp - Slots of what copies read and write ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/CopySlots.h"

#include <algorithm>
#include <map>

using namespace rondo;

namespace {

/// The slots of one pool: positions of the actions that released them last.
struct LanePool {
  static constexpr int64_t isTaken = -1;

  std::vector<int64_t> releasedBy;
  std::vector<int32_t> buffers;
};

class Assignment {
public:
  Assignment(const std::vector<SlotSize> &sizes, const Problem &problem,
             const LaneWaits &waits, const ProgramSimulation &simulation,
             int32_t rank, Program &program)
      : sizes(sizes), problem(problem), waits(waits), simulation(simulation),
        rank(rank), begin(program.order.rankBegin(rank)),
        order(program.order.rank(rank)), program(program),
        knownBy(order.size(), 0) {}

  Result<std::vector<NeededPool>> run(const std::vector<Life> &lives);

private:
  Lane laneAt(int64_t position) const {
    return problem.hostMemory.laneOf(rank, order[position].kind());
  }
  static uint8_t bitOf(Lane lane) {
    return static_cast<uint8_t>(1u << static_cast<int>(lane));
  }
  /// Whether an action may take a slot that another one has released, and
  /// whether it then awaits it for nothing else.
  bool isFree(int64_t position, int64_t releasedBy) const {
    return isKnown(position, releasedBy) ||
           (simulation.complete && simulation.endNs[begin + releasedBy] <=
                                       simulation.startNs[begin + position]);
  }
  bool isKnown(int64_t position, int64_t releasedBy) const {
    const Lane lane = laneAt(position);
    return laneAt(releasedBy) == lane || (knownBy[releasedBy] & bitOf(lane));
  }
  /// Adds the actions that the one at a position awaits by the order alone.
  void learn(int64_t position) {
    for (int64_t i = waits.begin[begin + position];
         i < waits.begin[begin + position + 1]; ++i)
      knownBy[waits.awaited[i] - begin] |= bitOf(laneAt(position));
  }
  int32_t &slotOf(const Life &life) {
    std::vector<int32_t> &slots = program.places[life.buffer].slotOf;
    if (life.index >= static_cast<int64_t>(slots.size()))
      slots.resize(std::max(problem.microbatches, life.index + 1), -1);
    return slots[life.index];
  }
  int32_t take(LanePool &pool, int64_t position);

  const std::vector<SlotSize> &sizes;
  const Problem &problem;
  const LaneWaits &waits;
  const ProgramSimulation &simulation;
  const int32_t rank;
  const int64_t begin;
  const ActionRange order;
  Program &program;
  std::map<SlotSize, LanePool> pools;
  /// [position]: bit of each lane that has awaited the action.
  std::vector<uint8_t> knownBy;
};

/// Takes the free slot that was released first: one that needs no further wait,
/// else any other, else a new one.
int32_t Assignment::take(LanePool &pool, int64_t position) {
  int32_t best = -1;
  bool isBestKnown = false;
  for (int32_t slot = 0; slot < static_cast<int32_t>(pool.releasedBy.size());
       ++slot) {
    const int64_t before = pool.releasedBy[slot];
    if (before == LanePool::isTaken || !isFree(position, before))
      continue;
    const bool known = isKnown(position, before);
    if (best < 0 || (known && !isBestKnown) ||
        (known == isBestKnown && before < pool.releasedBy[best])) {
      best = slot;
      isBestKnown = known;
    }
  }
  if (best < 0) {
    pool.releasedBy.push_back(LanePool::isTaken);
    return static_cast<int32_t>(pool.releasedBy.size()) - 1;
  }
  knownBy[pool.releasedBy[best]] |= bitOf(laneAt(position));
  pool.releasedBy[best] = LanePool::isTaken;
  return best;
}

Result<std::vector<NeededPool>>
Assignment::run(const std::vector<Life> &lives) {
  // [position]: the lives that begin and end there.
  std::vector<std::vector<const Life *>> begins(order.size()),
      ends(order.size());
  for (const Life &life : lives) {
    begins[life.first].push_back(&life);
    ends[life.last].push_back(&life);
    std::vector<int32_t> &buffers = pools[sizes[life.buffer]].buffers;
    if (std::find(buffers.begin(), buffers.end(), life.buffer) == buffers.end())
      buffers.push_back(life.buffer);
  }
  for (int64_t position = 0; position < order.size(); ++position) {
    learn(position);
    for (const Life *life : begins[position])
      slotOf(*life) = take(pools[sizes[life->buffer]], position);
    for (const Life *life : ends[position])
      pools[sizes[life->buffer]].releasedBy[slotOf(*life)] = position;
  }
  std::vector<NeededPool> needed;
  for (auto &[size, pool] : pools) {
    const auto slots = static_cast<int32_t>(pool.releasedBy.size());
    if (slots > maxSlots)
      return tooManySlots(size.rank, slots, size.bytes);
    needed.push_back({size, slots, std::move(pool.buffers)});
  }
  return needed;
}

} // namespace

Result<std::vector<NeededPool>> rondo::assignCopySlots(
    const std::vector<Life> &lives, const std::vector<SlotSize> &sizes,
    const Problem &problem, const LaneWaits &waits,
    const ProgramSimulation &simulation, int32_t rank, Program &program) {
  return Assignment(sizes, problem, waits, simulation, rank, program)
      .run(lives);
}
