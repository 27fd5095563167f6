//===- SlotAssignment.cpp - Slots for buffers that come and go ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/SlotAssignment.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

using namespace rondo;

int32_t Arenas::addPool(int32_t rank, int64_t slotBytes, int32_t slots) {
  Pool pool;
  pool.rank = rank;
  pool.offset = filled[rank];
  pool.slotBytes = slotBytes;
  pool.slots = slots;
  if (slots > 0 && slotBytes > (maxArenaBytes - filled[rank]) / slots)
    overfull = rank;
  else
    filled[rank] += slotBytes * slots;
  program.pools.push_back(pool);
  return static_cast<int32_t>(program.pools.size()) - 1;
}

void Arenas::extend(int32_t rank, int64_t bytes) {
  filled[rank] = std::max(filled[rank], bytes);
}

Fault rondo::tooManySlots(int32_t rank, int32_t slots, int64_t bytes) {
  Fault fault = makeFault<FaultKind::TooManyBuffers>(slots, bytes, maxSlots);
  fault.rank = rank;
  return fault;
}

static void sortByFirst(std::vector<Life> &lives) {
  std::stable_sort(
      lives.begin(), lives.end(),
      [](const Life &a, const Life &b) { return a.first < b.first; });
}

std::optional<Fault> rondo::assignSlots(std::vector<Life> &lives,
                                        int32_t microbatches, Arenas &arenas,
                                        Program &program) {
  sortByFirst(lives);
  // By (rank, bytes), apart for what is gathered or reduced, which no message
  // leaves: slots free again, by the position behind which they are.
  struct State {
    std::deque<int32_t> freeSlots;
    std::multimap<int64_t, int32_t> busy;
    int32_t slots = 0;
  };
  using Size = std::tuple<int32_t, int64_t, bool>;
  std::map<Size, State> states;
  std::map<Size, std::vector<int32_t>> users;
  for (const Life &life : lives) {
    const Size size{life.rank, life.bytes, life.isMoved};
    State &state = states[size];
    while (!state.busy.empty() && state.busy.begin()->first < life.first) {
      state.freeSlots.push_back(state.busy.begin()->second);
      state.busy.erase(state.busy.begin());
    }
    int32_t slot;
    if (state.freeSlots.empty()) {
      slot = state.slots++;
    } else {
      slot = state.freeSlots.front();
      state.freeSlots.pop_front();
    }
    state.busy.emplace(life.last, slot);
    Place &place = program.places[life.buffer];
    if (place.slotOf.empty()) {
      place.slotOf.assign(microbatches, -1);
      users[size].push_back(life.buffer);
    }
    // Units of a sharded stage may be more.
    if (life.microbatch >= static_cast<int64_t>(place.slotOf.size()))
      place.slotOf.resize(life.microbatch + 1, -1);
    place.slotOf[life.microbatch] = slot;
  }
  for (auto &[size, state] : states) {
    const auto [rank, bytes, isMoved] = size;
    if (state.slots > maxSlots)
      return tooManySlots(rank, state.slots, bytes);
    int32_t pool = arenas.addPool(rank, bytes, state.slots);
    for (int32_t buffer : users[size])
      program.places[buffer].pool = pool;
  }
  return std::nullopt;
}

namespace {

/// The ring of one buffer, while its lives go by.
struct Ring {
  int32_t rank = 0;
  int64_t bytes = 0;
  int64_t slots = 1;
  /// Micro-batches that are alive, and by the last action of each.
  std::set<int64_t> alive;
  std::multimap<int64_t, int64_t> ends;

  /// Two that are alive at once need to be fewer than `slots` apart.
  void add(const Life &life) {
    for (; !ends.empty() && ends.begin()->first < life.first;
         ends.erase(ends.begin()))
      alive.erase(ends.begin()->second);
    alive.insert(life.microbatch);
    ends.emplace(life.last, life.microbatch);
    slots = std::max(slots, *alive.rbegin() - *alive.begin() + 1);
  }
};

} // namespace

std::optional<Fault> rondo::assignRings(std::vector<Life> &lives,
                                        Arenas &arenas, Program &program) {
  sortByFirst(lives);
  std::map<int32_t, Ring> rings;
  for (const Life &life : lives) {
    Ring &ring = rings[life.buffer];
    ring.rank = life.rank;
    ring.bytes = life.bytes;
    ring.add(life);
  }
  for (const auto &[buffer, ring] : rings) {
    const auto slots = static_cast<int32_t>(
        std::min<int64_t>(ring.slots, int64_t(maxSlots) + 1));
    if (slots > maxSlots)
      return tooManySlots(ring.rank, slots, ring.bytes);
    Place &place = program.places[buffer];
    place.pool = arenas.addPool(ring.rank, ring.bytes, slots);
    place.slotOf.resize(slots);
    std::iota(place.slotOf.begin(), place.slotOf.end(), 0);
  }
  return std::nullopt;
}
