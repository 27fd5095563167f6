//===- RankChain.h - One rank of a chain among delays -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A micro-batch passes the rank's stages by F, then back by I, with a delay
// from the end of each of these operations to the start of the next. Other
// ranks delay it, and keep micro-batches apart that follow each other through
// one stage. One of them also has room for no more activations than its cap
// allows, each held from before an F of this rank until after the I of the same
// stage.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_RANKCHAIN_H
#define RONDO_SCHEDULE_BOUNDS_RANKCHAIN_H

#include "schedule/partial/FlatProblem.h"

#include <algorithm>
#include <optional>

namespace rondo {

struct RankChain {
  static constexpr size_t maxStages = 4;

  struct Operation {
    /// 0 for F, 1 for I.
    int letter = 0;
    int32_t stage = 0;
    int64_t ns = 0;
    /// From its end until the next operation can start.
    int64_t delay = 0;
    /// From when the next operation can start for a micro-batch until it can
    /// for the following one, at least. No more than the delay.
    int64_t spacing = 0;
  };

  /// The cap of another rank, as slots for one activation each.
  struct Slots {
    int64_t count = infinite;
    /// From the end of an I here until an F here can use its slot.
    int64_t delay = 0;
    /// [stage of this rank]: whether its F takes a slot, which its I returns.
    std::array<bool, maxStages> isUsedBy = {};
  };

  /// A rank of a chain with 1 to maxStages stages. `starts` are the chain's.
  /// Both they and the problem must outlive it. O(stages).
  RankChain(const FlatProblem &flat, const std::vector<int64_t> &starts,
            int32_t rank);

  /// Two micro-batches that follow each other, one on its way back from the
  /// last stage and one on its way there, that need the same stage at the same
  /// time.
  struct Meeting {
    /// When I of the first can start here if it gives way, and I of the second
    /// if that does.
    int64_t first, second;
  };
  /// The first can be back at `back`, the second leaves the rank's last stage
  /// at `end`. O(log stages).
  std::optional<Meeting> meeting(int64_t back, int64_t end) const;

  size_t stages() const { return operations.size() / 2; }
  bool usesSlot(size_t operation) const {
    const size_t last = operations.size() - 1;
    return slots.isUsedBy[std::min(operation, last - operation)];
  }

  int32_t rank;
  /// F by ascending, then I by descending stages.
  std::vector<Operation> operations;
  /// The stages whose W are counted apart: all of them, or one if they are
  /// alike.
  std::vector<int32_t> weightGrads;
  /// Of all tasks of the rank, in ns.
  int64_t work = 0;
  /// Of the other rank whose memory limits the throughput most.
  Slots slots;
  /// For each micro-batch, the time that the rank's work takes, and that which
  /// all room, its own or that of the slots, is taken by what it holds at
  /// least.
  double period = 0;

private:
  const FlatProblem *flat;
  const std::vector<int64_t> *starts;
  void considerRoomOf(int32_t other, double &most);
};

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_RANKCHAIN_H
