//===- SlotAssignment.cpp - Slots of transient buffers --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/SlotAssignment.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <utility>

using namespace rondo;

int32_t Arenas::addPool(int32_t rank, int64_t slotBytes, int32_t slots) {
  return addPool({rank, 0, slotBytes, slots}, filled);
}

int32_t Arenas::addHostPool(int32_t rank, int64_t slotBytes, int32_t slots) {
  return addPool({rank, 0, slotBytes, slots, /*isOnHost=*/true}, filledOnHost);
}

int32_t Arenas::addPool(Pool pool, std::vector<int64_t> &ends) {
  int64_t &end = ends[pool.rank];
  pool.offset = end;
  if (pool.slots > 0 && pool.slotBytes > (maxArenaBytes - end) / pool.slots)
    overfull = pool.rank;
  else
    end += pool.slotBytes * pool.slots;
  program.pools.push_back(pool);
  return static_cast<int32_t>(program.pools.size()) - 1;
}

void Arenas::extend(int32_t rank, int64_t bytes) {
  filled[rank] = std::max(filled[rank], bytes);
}

Fault rondo::tooManySlots(int32_t rank, int32_t slots, int64_t bytes) {
  return makeFault<FaultKind::TooManyBuffers>(slots, bytes, maxSlots)
      .withRank(rank);
}

/// Stable: lives with the same first position keep their order.
static void sortByFirst(std::vector<Life> &lives, int64_t positions) {
  std::vector<int32_t> begins(positions + 1, 0);
  for (const Life &life : lives)
    ++begins[life.first + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<Life> sorted(lives.size());
  for (const Life &life : lives)
    sorted[begins[life.first]++] = life;
  lives.swap(sorted);
}

namespace {

/// The lives of a rank, sorted by their end; ties keep the order of `lives`.
class Ends {
public:
  Ends(const std::vector<Life> &lives, int64_t positions)
      : first(positions, -1), next(lives.size()) {
    for (size_t i = lives.size(); i-- > 0;) {
      next[i] = first[lives[i].last];
      first[lives[i].last] = static_cast<int32_t>(i);
    }
  }

  /// Starts over from the first position.
  void reset() { position = 0; }
  /// Calls `visit` with each life that ends before `until` and was not visited
  /// yet.
  template <typename Visit> void forEach(int64_t until, Visit visit) {
    for (; position < until; ++position)
      for (int32_t i = first[position]; i >= 0; i = next[i])
        visit(i);
  }

private:
  /// first[position], next[life]: the next life that ends at the position; -1:
  /// none.
  std::vector<int32_t> first, next;
  int64_t position = 0;
};

/// Slots that a buffer has had, the most recently used one last.
class HadSlots {
public:
  /// Adds a slot that the buffer has not had.
  void add(int32_t slot) {
    std::rotate(slots.begin(), slots.begin() + first, slots.end());
    first = 0;
    slots.push_back(slot);
  }
  /// Moves the first slot for which `isFree` holds to the end and returns it.
  /// Precondition: one is free. O(1) if it is the first of all.
  template <typename IsFree> int32_t takeAgain(IsFree isFree) {
    size_t at = first;
    while (!isFree(slots[at]))
      at = next(at);
    const int32_t slot = slots[at];
    for (; at != first; at = before(at))
      slots[at] = slots[before(at)];
    slots[first] = slot;
    first = next(first);
    return slot;
  }

private:
  size_t next(size_t at) const { return at + 1 == slots.size() ? 0 : at + 1; }
  size_t before(size_t at) const { return (at == 0 ? slots.size() : at) - 1; }

  /// A circular list that begins at index `first`.
  std::vector<int32_t> slots;
  size_t first = 0;
};

/// A buffer, and the slots that it has had.
struct User {
  int32_t buffer = 0;
  /// Index of its pool.
  int32_t pool = 0;
  HadSlots had;
  /// Number of free slots in `had`.
  int32_t numFree = 0;
};

/// The slots of one size, as many as the maximum number of lives that overlap.
/// A buffer prefers slots that it has had before, so its slot table repeats
/// after few micro-batches, and many ranks have equal tables.
struct SlotPool {
  explicit SlotPool(const SlotSize &size) : size(size) {}

  SlotSize size;
  /// Number of lives that overlap at present, and the maximum.
  int32_t alive = 0, most = 0;

  /// Creates `most` slots.
  void begin() { slots.resize(most); }
  int32_t take(User &user) {
    int32_t slot = takeAgain(user);
    if (slot < 0) {
      slot = numUsed < most ? numUsed++ : longestFree();
      slots[slot].users.push_back(&user);
      user.had.add(slot);
      ++user.numFree;
    }
    slots[slot].freeSince = -1;
    for (User *other : slots[slot].users)
      --other->numFree;
    return slot;
  }
  void release(int32_t slot) {
    slots[slot].freeSince = ++numFreed;
    free.push_back({slot, numFreed});
    for (User *user : slots[slot].users)
      ++user->numFree;
  }

private:
  struct Slot {
    /// Value of `numFreed` when it was freed; -1: taken.
    int64_t freeSince = 0;
    std::vector<User *> users;
  };

  /// Takes the least recently used of the free slots that the buffer has had;
  /// -1 if none is free.
  int32_t takeAgain(User &user) {
    if (user.numFree == 0)
      return -1;
    return user.had.takeAgain(
        [&](int32_t slot) { return slots[slot].freeSince >= 0; });
  }
  int32_t longestFree() {
    for (;; free.pop_front())
      if (const auto [slot, since] = free.front();
          slots[slot].freeSince == since) {
        free.pop_front();
        return slot;
      }
  }

  std::vector<Slot> slots;
  /// Freed slots with their `freeSince`; entries of slots that have been taken
  /// again are stale.
  std::deque<std::pair<int32_t, int64_t>> free;
  int32_t numUsed = 0;
  int64_t numFreed = 0;
};

/// The buffers of a list of lives, and the pools that they share.
class Users {
public:
  /// Changes Life::buffer of each life from the buffer to an index into
  /// `users`.
  Users(std::vector<Life> &lives, const std::vector<SlotSize> &sizes) {
    // [buffer]: its user; -1: none.
    std::vector<int32_t> numbers(sizes.size(), -1);
    for (Life &life : lives) {
      int32_t &number = numbers[life.buffer];
      if (number < 0) {
        number = static_cast<int32_t>(users.size());
        users.emplace_back();
        users.back().buffer = life.buffer;
      }
      life.buffer = number;
    }
    std::map<SlotSize, int32_t> poolOfSize;
    for (const User &user : users)
      poolOfSize.emplace(sizes[user.buffer], 0);
    for (auto &[size, number] : poolOfSize) {
      number = static_cast<int32_t>(pools.size());
      pools.emplace_back(size);
    }
    for (User &user : users)
      user.pool = poolOfSize.at(sizes[user.buffer]);
  }

  SlotPool &poolOf(const Life &life) { return pools[users[life.buffer].pool]; }

  std::vector<User> users;
  std::vector<SlotPool> pools;
};

} // namespace

Result<std::vector<NeededPool>>
rondo::assignSlots(std::vector<Life> lives, const std::vector<SlotSize> &sizes,
                   int64_t positions, int32_t microbatches, Program &program) {
  sortByFirst(lives, positions);
  Users all(lives, sizes);
  Ends ends(lives, positions);
  for (const Life &life : lives) {
    ends.forEach(life.first, [&](int32_t i) { --all.poolOf(lives[i]).alive; });
    SlotPool &pool = all.poolOf(life);
    pool.most = std::max(pool.most, ++pool.alive);
  }
  for (SlotPool &pool : all.pools) {
    if (pool.most > maxSlots)
      return tooManySlots(pool.size.rank, pool.most, pool.size.bytes);
    pool.begin();
  }
  ends.reset();
  auto slotOf = [&](const Life &life) -> int32_t & {
    return program.places[all.users[life.buffer].buffer].slotOf[life.index];
  };
  for (const Life &life : lives) {
    ends.forEach(life.first, [&](int32_t i) {
      all.poolOf(lives[i]).release(slotOf(lives[i]));
    });
    std::vector<int32_t> &slots =
        program.places[all.users[life.buffer].buffer].slotOf;
    // A sharded stage may have more units than micro-batches.
    if (life.index >= static_cast<int64_t>(slots.size()))
      slots.resize(std::max(microbatches, life.index + 1), -1);
    slots[life.index] = all.poolOf(life).take(all.users[life.buffer]);
  }
  std::vector<NeededPool> needed;
  for (const SlotPool &pool : all.pools)
    needed.push_back({pool.size, pool.most, {}});
  for (const User &user : all.users)
    needed[user.pool].buffers.push_back(user.buffer);
  return needed;
}

namespace {

/// The ring of slots of one buffer. Of a round-robin replica, only every so
/// many micro-batches have one: those in steps of `stride` from the first.
struct Ring {
  int64_t slots = 1;
  int64_t first = -1, stride = 0;
  /// Micro-batches whose buffers are alive, and the pairs (last action of the
  /// buffer, micro-batch) by which they end.
  std::set<int64_t> alive;
  std::multimap<int64_t, int64_t> ends;

  /// Call this for all lives before add().
  void addIndex(int64_t index) {
    first = first < 0 ? index : first;
    stride = std::gcd(stride, std::abs(index - first));
  }
  /// Adds a life. Two micro-batches that are alive at once must be fewer than
  /// `slots` strides apart.
  void add(const Life &life) {
    for (; !ends.empty() && ends.begin()->first < life.first;
         ends.erase(ends.begin()))
      alive.erase(ends.begin()->second);
    alive.insert(life.index);
    ends.emplace(life.last, life.index);
    slots = std::max(slots, (*alive.rbegin() - *alive.begin()) / step() + 1);
  }
  int64_t step() const { return std::max<int64_t>(stride, 1); }
};

} // namespace

Result<std::vector<NeededPool>>
rondo::assignRings(std::vector<Life> lives, const std::vector<SlotSize> &sizes,
                   int64_t positions, Program &program) {
  sortByFirst(lives, positions);
  std::map<int32_t, Ring> rings;
  for (const Life &life : lives)
    rings[life.buffer].addIndex(life.index);
  for (const Life &life : lives)
    rings[life.buffer].add(life);
  std::vector<NeededPool> needed;
  for (const auto &[buffer, ring] : rings) {
    const auto slots = static_cast<int32_t>(
        std::min<int64_t>(ring.slots, int64_t(maxSlots) + 1));
    if (slots > maxSlots)
      return tooManySlots(sizes[buffer].rank, slots, sizes[buffer].bytes);
    needed.push_back({sizes[buffer], slots, {buffer}});
    Place &place = program.places[buffer];
    // Micro-batches of one stride share a place; only one of them has a buffer.
    const int64_t step = ring.step();
    place.slotOf.resize(slots * step);
    for (size_t i = 0; i < place.slotOf.size(); ++i)
      place.slotOf[i] = static_cast<int32_t>(static_cast<int64_t>(i) / step);
  }
  return needed;
}
