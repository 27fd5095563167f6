//===- NeighbourhoodBeam.h - Searches the order of a neighbourhood --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_NEIGHBOURHOODBEAM_H
#define RONDO_SCHEDULE_SEARCH_NEIGHBOURHOODBEAM_H

#include "schedule/model/HashIndex.h"
#include "schedule/partial/Propagation.h"
#include "schedule/search/ActiveChoices.h"
#include "schedule/search/Budget.h"
#include "schedule/search/Orders.h"
#include "schedule/search/Random.h"

namespace rondo {

struct NeighbourhoodTask {
  int32_t rank;
  Task kind;
  int32_t stage, k;
  int64_t start;
};

/// The tasks of a time interval. Earlier tasks have run. Later tasks keep their
/// order, and form the tail of each task of the interval.
struct Neighbourhood {
  explicit Neighbourhood(const FlatProblem &flat);

  /// Index of a task in tables of all tasks.
  size_t at(const NeighbourhoodTask &task) const {
    return size_t(flat.at(task.kind, task.stage, task.k));
  }

  const FlatProblem &flat;
  /// In an order in which they may run.
  std::vector<NeighbourhoodTask> tasks;
  /// [code]: number of its tasks that have run at the end of the neighbourhood;
  /// 0 if none is in it.
  std::vector<int64_t> limit;
  /// [rank]: whether its order may change; and the longest path from the
  /// neighbourhood's end through the rank's next task.
  std::vector<bool> isFree;
  std::vector<int64_t> rankTail;
  /// [rank]: its tasks of the neighbourhood by descending tail.
  std::vector<std::vector<NeighbourhoodTask>> byTail;
  /// [at()]: the longest path from the end of a task.
  std::vector<int64_t> tail;
};

/// Beam search of neighbourhoods, with few allocations.
class NeighbourhoodBeam {
public:
  NeighbourhoodBeam(const FlatProblem &flat, Budget &budget);

  struct Placed {
    int32_t rank;
    Code code;
  };
  /// Returns the tasks of the best order of the neighbourhood that it finds, as
  /// they run; empty if none has an objective of at most `ceiling`. `state` is
  /// the state before the neighbourhood, `current` the order of ranks that are
  /// not free. With `random`, breaks ties of bounds at random, and returns any
  /// state of the last layer.
  std::vector<Placed> search(const Neighbourhood &neighbourhood,
                             PartialState state, const Orders &current,
                             int64_t ceiling, Random *random);

private:
  struct Item {
    PartialState state;
    /// The largest (end + tail) of the tasks that have run; a lower bound of
    /// the objective; and the key that orders states of equal bounds.
    int64_t cost = 0, bound = 0, sum = 0;
    int32_t node = -1;
    bool isBeaten = false;
  };
  struct Node {
    int32_t parent;
    Placed placed;
  };

  bool mayRun(const PartialState &state, int32_t rank, Task task,
              int32_t s) const;
  void expand(const Item &item, const PartialState &state);
  void make(const Item &parent, const PartialState &state,
            const Choice &choice);
  std::vector<int32_t> &groupOf(uint64_t key);
  void estimate(Item &item);
  void keepBest(std::vector<Item> &layer);

  static constexpr size_t width = 12;

  const FlatProblem &flat;
  Budget &budget;
  /// Arguments of the current search().
  const Neighbourhood *neighbourhood = nullptr;
  const Orders *current = nullptr;
  Random *random = nullptr;
  int64_t ceiling = never;
  const std::vector<bool> mayWait;
  std::vector<Choice> choices;
  std::vector<int64_t> head;
  std::vector<Item> made;
  std::vector<Node> nodes;
  /// The states of `made` with equal counts; only the first `numGroups` groups
  /// are used.
  struct Group {
    uint64_t key = 0;
    std::vector<int32_t> states;
  };
  std::vector<Group> groups;
  size_t numGroups = 0;
  HashIndex index;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_NEIGHBOURHOODBEAM_H
