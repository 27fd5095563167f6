//===- StretchBeam.h - Searches the order of a stretch ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_STRETCHBEAM_H
#define RONDO_SCHEDULE_SEARCH_STRETCHBEAM_H

#include "schedule/bounds/Propagation.h"
#include "schedule/search/Budget.h"
#include "schedule/search/Orders.h"

#include <unordered_map>

namespace rondo {

struct StretchTask {
  int32_t rank;
  int letter;
  int32_t stage, k;
  int64_t start;
};

/// Tasks of a stretch of time. What comes before them has run; what comes after
/// is kept, and is a tail of each.
struct Stretch {
  explicit Stretch(const FlatProblem &flat);

  /// Where a task is in the arrays of all tasks.
  size_t at(int letter, int32_t stage, int32_t k) const {
    return (size_t(letter) * stages + size_t(stage)) * microbatches + size_t(k);
  }
  size_t at(const StretchTask &task) const {
    return at(task.letter, task.stage, task.k);
  }

  const size_t stages, microbatches;
  /// In an order in which they may run.
  std::vector<StretchTask> tasks;
  /// By code: how many have run at the end of the stretch; 0 if none is in it.
  std::vector<int64_t> limit;
  /// By rank: whether its order may change, and from the stretch's end on the
  /// longest path through its own next task.
  std::vector<bool> isFree;
  std::vector<int64_t> rankTail;
  /// By rank: its tasks of the stretch by descending tail.
  std::vector<std::vector<StretchTask>> byTail;
  /// By at(): the longest path from the end of a task.
  std::vector<int64_t> tail;
};

/// Searches stretches without allocating much.
class StretchBeam {
public:
  StretchBeam(const FlatProblem &flat, Budget &budget);

  struct Placed {
    int32_t rank;
    Code code;
  };
  /// The tasks of the best order of the stretch that is found, as they run,
  /// with no objective above `ceiling`; empty if there is none. `state` is what
  /// has run before, `current` the order of ranks that are not free. With
  /// `random`, any of the last states that are left, after choices among equal
  /// bounds at random.
  std::vector<Placed> search(const Stretch &stretch, PartialState state,
                             const Orders &current, int64_t ceiling,
                             Random *random);

private:
  struct Item {
    PartialState state;
    /// The largest (end + tail) of what has run; a bound of the objective; and
    /// what orders states of the same bound.
    int64_t cost = 0, bound = 0, sum = 0;
    int32_t node = -1;
    bool isBeaten = false;
  };
  struct Node {
    int32_t parent;
    Placed placed;
  };

  bool mayRun(const PartialState &state, int32_t rank, int letter,
              int32_t s) const;
  void expand(const Item &item, const PartialState &state);
  void make(const Item &parent, const PartialState &state, int32_t rank,
            int letter, int32_t stage, int64_t start);
  void estimate(Item &item);
  void keepBest(std::vector<Item> &layer);

  static constexpr size_t width = 12;

  const FlatProblem &flat;
  Budget &budget;
  /// Of the present search.
  const Stretch *stretch = nullptr;
  const Orders *current = nullptr;
  Random *random = nullptr;
  int64_t ceiling = never;
  /// By rank: whether an F may gain from waiting.
  std::vector<bool> mayBan;
  std::vector<int64_t> head;
  std::vector<Item> made;
  std::vector<Node> nodes;
  std::unordered_map<uint64_t, std::vector<size_t>> groups;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_STRETCHBEAM_H
