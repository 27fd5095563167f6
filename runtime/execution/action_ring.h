//===- action_ring.h - The last actions of a rank ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank does nothing between its actions, so an action ends where the next one
// begins: one reading of the processor's counter an action is enough, and the
// last entry is always what the rank has not finished.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_EXECUTION_ACTION_RING_H
#define RONDO_RUNTIME_EXECUTION_ACTION_RING_H

#include "runtime/base/clock.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace rondo::runtime {

/// Keeps what a rank has begun last. The rank's thread writes, at any time any
/// thread may read; writing allocates nothing and takes no lock.
class ActionRing {
public:
  /// The maximum that last() returns.
  static constexpr uint32_t size = 256;

  /// Phases of a rank that are no actions, with numbers that no kind of action
  /// has.
  enum Phase : uint64_t {
    /// A run of its function has begun; on a device that repeats a recorded
    /// iteration, the whole of it.
    Begin = 61,
    /// All actions are done: it waits for its sends and its device.
    Drain = 62,
    /// Between two iterations.
    Idle = 63,
  };

  /// The program of a run.
  struct Program {
    std::string name;
    /// Micro-batches of an iteration.
    int64_t microbatches = 1;
    bool overlaps = false;
    /// If not, its runs are no iterations of the training.
    bool trains = true;
  };

  struct Entry {
    /// kind (6 bits) | message (2) | stage or collective (24) | micro-batch.
    uint64_t what = 0;
    uint64_t beginTicks = 0, endTicks = 0;
    /// When its waits for messages were over; 0: it has waited for none, or
    /// still does.
    uint64_t readyTicks = 0;
    /// The edge of the message that it waited for last; -1: none.
    int32_t edge = -1;
    /// For programOf().
    int32_t program = 0;
    /// Iterations of the training before the run that it belongs to.
    int64_t before = 0;
    bool isUnfinished = false;
  };

  /// Sets the program of the next entries, while the rank does not run.
  void beginRun(const Program &program, int64_t before);

  void begin(uint64_t what) {
    const uint64_t number = count.load(std::memory_order_relaxed);
    Slot &slot = slots[number % numSlots];
    slot.what.store(what, std::memory_order_relaxed);
    slot.begin.store(Ticks::now(), std::memory_order_relaxed);
    slot.ready.store(0, std::memory_order_relaxed);
    slot.place.store(programPlace | noEdge, std::memory_order_relaxed);
    slot.before.store(runBefore, std::memory_order_relaxed);
    count.store(number + 1, std::memory_order_release);
  }
  void begin(Phase phase) { begin(static_cast<uint64_t>(phase) << 58); }
  /// The newest action waits for a message of an edge.
  void waitFor(int32_t edge) {
    newest().place.store(programPlace | static_cast<uint32_t>(edge),
                         std::memory_order_relaxed);
  }
  /// And does so no more.
  void endWaits() {
    Slot &slot = newest();
    if (static_cast<uint32_t>(slot.place.load(std::memory_order_relaxed)) !=
        noEdge)
      slot.ready.store(Ticks::now(), std::memory_order_relaxed);
  }

  /// Whether the rank is between two iterations. Any thread.
  bool isIdle() const {
    const uint64_t number = count.load(std::memory_order_acquire);
    return number > 0 && slots[(number - 1) % numSlots].what.load(
                             std::memory_order_relaxed) >>
                                 58 ==
                             Idle;
  }
  /// Entries ever begun.
  uint64_t begun() const { return count.load(std::memory_order_relaxed); }
  /// The last ones, oldest first; without those that were overwritten while
  /// they were read. Any thread.
  std::vector<Entry> last() const;
  const Program &programOf(const Entry &entry) const {
    return programs[static_cast<size_t>(entry.program)];
  }

private:
  /// A power of two, with room for what is written while others read.
  static constexpr uint32_t numSlots = 2 * size;
  static constexpr uint32_t noEdge = UINT32_MAX;
  struct Slot {
    std::atomic<uint64_t> what{0}, begin{0}, ready{0};
    /// Program (32 bits), edge (32).
    std::atomic<uint64_t> place{0};
    std::atomic<int64_t> before{0};
  };

  Slot &newest() {
    return slots[(count.load(std::memory_order_relaxed) - 1) % numSlots];
  }

  std::array<Slot, numSlots> slots;
  alignas(64) std::atomic<uint64_t> count{0};
  uint64_t programPlace = 0;
  int64_t runBefore = 0;
  /// The programs that ran.
  std::vector<Program> programs;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_ACTION_RING_H
