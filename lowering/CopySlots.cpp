//===- CopySlots.cpp - Slots of what copies read and write ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/CopySlots.h"

#include "lowering/RaggedPlacement.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

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
        knownFrom(order.size(), {never, never, never, never}) {}

  Result<std::vector<NeededPool>> run(const std::vector<Life> &lives);
  Result<std::vector<NeededPool>>
  runRagged(const std::vector<Life> &lives,
            const std::function<int64_t(const Life &)> &bytesOf);

private:
  Lane laneAt(int64_t position) const {
    return problem.hostMemory.laneOf(rank, order[position].kind());
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
    return laneAt(releasedBy) == lane ||
           knownFrom[releasedBy][static_cast<int>(lane)] <= position;
  }
  void know(int64_t position, int64_t awaited) {
    int64_t &from = knownFrom[awaited][static_cast<int>(laneAt(position))];
    from = std::min(from, position);
  }
  /// Adds the actions that the one at a position awaits by the order alone.
  void learn(int64_t position) {
    for (int64_t i = waits.begin[begin + position];
         i < waits.begin[begin + position + 1]; ++i)
      know(position, waits.awaited[i] - begin);
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
  static constexpr int64_t never = INT64_MAX;
  /// [position][lane]: the first action of the lane that has awaited it.
  std::vector<std::array<int64_t, 4>> knownFrom;
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
  know(position, pool.releasedBy[best]);
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

Result<std::vector<NeededPool>>
Assignment::runRagged(const std::vector<Life> &lives,
                      const std::function<int64_t(const Life &)> &bytesOf) {
  for (int64_t position = 0; position < order.size(); ++position)
    learn(position);
  return assignRagged(lives, sizes, bytesOf, problem.microbatches, program,
                      [&](const Life &a, const Life &b) {
                        const auto [before, after] = a.first <= b.first
                                                         ? std::tie(a, b)
                                                         : std::tie(b, a);
                        return after.first <= before.last ||
                               !isFree(after.first, before.last);
                      });
}

} // namespace

Result<std::vector<NeededPool>> rondo::assignCopySlots(
    const std::vector<Life> &lives, const std::vector<SlotSize> &sizes,
    const Problem &problem, const LaneWaits &waits,
    const ProgramSimulation &simulation, int32_t rank, Program &program,
    const std::function<int64_t(const Life &)> &bytesOf) {
  Assignment assignment(sizes, problem, waits, simulation, rank, program);
  return bytesOf ? assignment.runRagged(lives, bytesOf) : assignment.run(lives);
}
