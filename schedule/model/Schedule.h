//===- Schedule.h - The order of every rank ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of tasks on every rank, and of the stages' steps if their positions
// are given. Without steps in the order, every stage steps at the end of the
// iteration. A schedule has no times: each rank runs its order as early as
// possible (Simulator.h).
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_MODEL_SCHEDULE_H
#define RONDO_SCHEDULE_MODEL_SCHEDULE_H

#include "schedule/model/Action.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace rondo {

/// A range of consecutive actions. Does not own them.
struct ActionRange {
  const Action *first = nullptr;
  const Action *last = nullptr;

  const Action *begin() const { return first; }
  const Action *end() const { return last; }
  int64_t size() const { return last - first; }
  bool empty() const { return first == last; }
  Action operator[](int64_t i) const { return first[i]; }
};

/// Ordered actions of all ranks in one array, rank by rank.
class Schedule {
public:
  Schedule() : offsets(1, 0) {}
  /// `orders[rank]` are the actions of a rank.
  explicit Schedule(const std::vector<std::vector<Action>> &orders)
      : Schedule() {
    size_t size = 0;
    for (const std::vector<Action> &order : orders)
      size += order.size();
    reserve(static_cast<int64_t>(size));
    for (const std::vector<Action> &order : orders) {
      for (Action action : order)
        append(action);
      endRank();
    }
  }

  void reserve(int64_t numActions) { actions.reserve(numActions); }
  void append(Action action) {
    actions.push_back(action);
    counts |= action.count != 1;
    copies |= isCopy(action.kind());
  }
  /// Ends the current rank; the next append() belongs to the next one.
  void endRank() { offsets.push_back(static_cast<int64_t>(actions.size())); }

  int32_t numRanks() const { return static_cast<int32_t>(offsets.size()) - 1; }
  int64_t numActions() const { return static_cast<int64_t>(actions.size()); }
  ActionRange rank(int32_t r) const {
    return {actions.data() + offsets[r], actions.data() + offsets[r + 1]};
  }
  /// Actions of all ranks, rank by rank.
  ActionRange all() const {
    return {actions.data(), actions.data() + actions.size()};
  }
  /// Position of a rank's first action in the array of all actions; the
  /// simulator's times use the same positions.
  int64_t rankBegin(int32_t r) const { return offsets[r]; }

  /// Whether any action serves several micro-batches.
  bool hasCounts() const { return counts; }
  /// Whether any action is a SAVE or LOAD.
  bool hasCopies() const { return copies; }
  /// Whether the order contains steps. O(actions).
  bool hasSteps() const {
    return std::any_of(actions.begin(), actions.end(), [](Action action) {
      return action.kind() == ActionKind::Step;
    });
  }

  /// Optional message orders per directed pair of ranks. A message is named by
  /// its producer: F, I, or B if the backward is fused. Pairs without an entry
  /// send messages in the order in which they become ready.
  std::map<std::pair<int32_t, int32_t>, std::vector<Action>> linkOrders;
  /// Optional orders of the copies of shared host links, by their number
  /// (HostMemory::shared). Other links carry copies as they become ready.
  std::map<int32_t, std::vector<Action>> copyOrders;

  /// The order in which every stage adds the gradients of micro-batches (rule
  /// S7), each once. Empty: by index.
  std::vector<int32_t> accumulation;

private:
  std::vector<Action> actions;
  std::vector<int64_t> offsets;
  bool counts = false, copies = false;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_SCHEDULE_H
