//===- SlotAssignment.cpp - Slots for buffers that come and go ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/SlotAssignment.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

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

namespace {

/// What shares slots: the buffers of a size on a rank, apart for what is
/// gathered or reduced, which no message leaves.
using Size = std::tuple<int32_t, int64_t, bool>;

Size sizeOf(const Life &life) { return {life.rank, life.bytes, life.isMoved}; }

template <typename T>
using Soonest = std::priority_queue<T, std::vector<T>, std::greater<T>>;

/// The slots of one size while lives go by: as many as are alive at once. A
/// buffer keeps to slots that it has had before, so that its table repeats
/// after few micro-batches, and those of many ranks are the same.
class SlotPool {
public:
  explicit SlotPool(int32_t slots) : slots(slots) {}

  int32_t take(const Life &life) {
    release(life.first);
    User &user = users[life.buffer];
    int32_t slot = takeAgain(user);
    if (slot < 0) {
      slot = numUsed < count() ? numUsed++ : longestFree();
      slots[slot].users.push_back(&user);
      ++user.numFree;
    }
    user.had.push_back(slot);
    slots[slot].freeSince = -1;
    for (User *other : slots[slot].users)
      --other->numFree;
    busy.emplace(life.last, numTaken++, slot);
    return slot;
  }
  int32_t count() const { return static_cast<int32_t>(slots.size()); }
  /// In the order of their numbers.
  template <typename Fn> void forEachBuffer(Fn fn) const {
    for (const auto &[buffer, user] : users)
      fn(buffer);
  }

private:
  /// A buffer.
  struct User {
    /// Slots that it has had, the one that it has had last behind all others.
    std::deque<int32_t> had;
    /// How many of these are free.
    int32_t numFree = 0;
  };
  struct Slot {
    /// Counted in slots freed; -1: taken.
    int64_t freeSince = 0;
    std::vector<User *> users;
  };

  /// Of the free slots that a buffer has had, the one that it had first; -1 if
  /// none is free.
  int32_t takeAgain(User &user) {
    if (user.numFree == 0)
      return -1;
    auto it = std::find_if(user.had.begin(), user.had.end(), [&](int32_t slot) {
      return slots[slot].freeSince >= 0;
    });
    const int32_t slot = *it;
    user.had.erase(it);
    return slot;
  }
  int32_t longestFree() {
    for (;; free.pop_front())
      if (const auto [slot, since] = free.front();
          slots[slot].freeSince == since) {
        free.pop_front();
        return slot;
      }
  }
  void release(int64_t position) {
    for (; !busy.empty() && std::get<0>(busy.top()) < position; busy.pop()) {
      const int32_t slot = std::get<2>(busy.top());
      slots[slot].freeSince = ++numFreed;
      free.push_back({slot, numFreed});
      for (User *user : slots[slot].users)
        ++user->numFree;
    }
  }

  std::vector<Slot> slots;
  std::map<int32_t, User> users;
  /// Slots and since when they were free: some have been taken again.
  std::deque<std::pair<int32_t, int64_t>> free;
  /// By the last action; of equal ones, in the order in which they were taken.
  Soonest<std::tuple<int64_t, int64_t, int32_t>> busy;
  int32_t numUsed = 0;
  int64_t numTaken = 0, numFreed = 0;
};

/// How many lives of each size meet, given in the order in which they begin.
std::map<Size, int32_t> mostAtOnce(const std::vector<Life> &lives) {
  std::map<Size, Soonest<int64_t>> ends;
  std::map<Size, int32_t> most;
  for (const Life &life : lives) {
    Soonest<int64_t> &alive = ends[sizeOf(life)];
    while (!alive.empty() && alive.top() < life.first)
      alive.pop();
    alive.push(life.last);
    int32_t &slots = most[sizeOf(life)];
    slots = std::max(slots, static_cast<int32_t>(alive.size()));
  }
  return most;
}

} // namespace

std::optional<Fault> rondo::assignSlots(std::vector<Life> &lives,
                                        int32_t microbatches, Arenas &arenas,
                                        Program &program) {
  sortByFirst(lives);
  std::map<Size, SlotPool> pools;
  for (const auto &[size, slots] : mostAtOnce(lives)) {
    if (slots > maxSlots)
      return tooManySlots(std::get<0>(size), slots, std::get<1>(size));
    pools.emplace(size, slots);
  }
  for (const Life &life : lives) {
    std::vector<int32_t> &slotOf = program.places[life.buffer].slotOf;
    // Units of a sharded stage may be more.
    if (life.microbatch >= static_cast<int64_t>(slotOf.size()))
      slotOf.resize(std::max<int64_t>(microbatches, life.microbatch + 1), -1);
    slotOf[life.microbatch] = pools.at(sizeOf(life)).take(life);
  }
  for (const auto &[size, slots] : pools) {
    const int32_t pool =
        arenas.addPool(std::get<0>(size), std::get<1>(size), slots.count());
    slots.forEachBuffer(
        [&](int32_t buffer) { program.places[buffer].pool = pool; });
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
