//===- RankChain.h - One rank of a chain among delays -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A micro-batch passes the rank's stages by F, then back by I, with a delay
// from the end of each of these operations to the start of the next. Other
// ranks delay it, and consecutive micro-batches pass one of their stages one at
// a time. The cap of one other rank limits the number of activations there,
// each held from before an F of this rank until after the I of the same stage.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_RANKCHAIN_H
#define RONDO_SCHEDULE_BOUNDS_RANKCHAIN_H

#include "schedule/partial/FlatProblem.h"

#include <algorithm>
#include <array>
#include <optional>

namespace rondo {

struct RankChain {
  static constexpr size_t maxStages = 4;

  struct Operation {
    /// F or I.
    Task task = Task::F;
    int32_t stage = 0;
    int64_t ns = 0;
    /// Time in ns from its end until the same micro-batch can start the next
    /// operation.
    int64_t delay = 0;
    /// The least time from when a micro-batch can start the next operation
    /// until the following micro-batch can. At most `delay`.
    int64_t spacing = 0;
  };

  /// The cap of another rank, in slots of one activation each.
  struct Slots {
    int64_t count = infinite;
    /// Time in ns from the end of an I on this rank until an F on this rank can
    /// use the returned slot.
    int64_t delay = 0;
    /// [stage of this rank]: whether its F takes a slot, which its I returns.
    std::array<bool, maxStages> isUsedBy = {};
  };

  /// A rank of a chain with 1 to maxStages stages. `starts` are the chain's.
  /// Both they and the problem must outlive it. O(stages).
  RankChain(const FlatProblem &flat, const std::vector<int64_t> &starts,
            int32_t rank);

  /// Two consecutive micro-batches that need the same stage after this rank at
  /// the same time: the first on its way back, the second on its way to the
  /// last stage.
  struct Meeting {
    /// The start of I of the first here if the first waits for the second, and
    /// the start of I of the second if the second waits.
    int64_t first, second;
  };
  /// The meeting, if there is one, of a first micro-batch that can be back at
  /// time `back` and a second one that leaves the rank's last stage at `end`.
  /// O(log stages).
  std::optional<Meeting> meeting(int64_t back, int64_t end) const;

  size_t stages() const { return operations.size() / 2; }
  bool usesSlot(size_t operation) const {
    const size_t last = operations.size() - 1;
    return slots.isUsedBy[std::min(operation, last - operation)];
  }

  int32_t rank;
  /// F by ascending, then I by descending stages.
  std::vector<Operation> operations;
  /// The stages whose W are counted separately: all, or the first if all W are
  /// alike.
  std::vector<int32_t> weightGrads;
  /// Time of all tasks of the rank, in ns.
  int64_t work = 0;
  /// The slots of the other rank whose memory limits the throughput most.
  Slots slots;
  /// Time per micro-batch, in ns: the rank's work, plus the time for which its
  /// activations fill its cap, or the slots if that is longer.
  double period = 0;

private:
  const FlatProblem *flat;
  const std::vector<int64_t> *starts;
  void considerRoomOf(int32_t other, double &most);
};

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_RANKCHAIN_H
