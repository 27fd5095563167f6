//===- ActiveChoices.h - Candidate next tasks of a schedule -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_ACTIVECHOICES_H
#define RONDO_SCHEDULE_SEARCH_ACTIVECHOICES_H

#include "schedule/partial/Propagation.h"
#include "schedule/search/Orders.h"

#include <algorithm>

namespace rondo {

/// A task, with `edge` -1, or the burst on a link that begins with `edge`.
struct Choice {
  Machine machine;
  Task task;
  int32_t stage, edge;
  int64_t start, end;
};

/// [rank]: whether an F may gain from waiting until another stage's F has run.
/// True for a rank of several stages that cannot hold all activations.
std::vector<bool> ranksThatMayWait(const FlatProblem &flat);

/// Finds the choice that would end first, and calls `make` with each choice of
/// the same rank or link that could start before that end, or end with it.
/// Returns the choice that would end first. `choices` must not be empty.
template <typename Make>
Choice forEachActive(const std::vector<Choice> &choices, const Make &make) {
  const Choice first = *std::min_element(
      choices.begin(), choices.end(),
      [](const Choice &a, const Choice &b) { return a.end < b.end; });
  for (const Choice &choice : choices)
    if (choice.machine == first.machine &&
        (choice.start < first.end || choice.end == first.end))
      make(choice);
  return first;
}

/// A successor of a state, after one more task or burst, with the marks of a
/// search.
struct Child {
  PartialState state;
  Choice choice;
  Estimate estimate;
  int32_t group;
  bool isKept, isBeaten, inherits, isEstimated;
};

/// The successors of a state. Only the first `count` are valid; the others keep
/// their memory for reuse.
struct Successors {
  std::vector<Child> children;
  size_t count = 0;
};

/// A dominant set of choices: it contains an optimal continuation (see
/// ActiveChoices.cpp). Threads may share it.
class ActiveChoices {
public:
  explicit ActiveChoices(const FlatProblem &flat);

  using Scratch = std::vector<Choice>;
  /// Appends the successors of `state`, which must be one that `holdsMessages`.
  /// O(tasks that could be next * size of a state).
  void expand(const PartialState &state, Scratch &scratch,
              Successors &successors) const;

private:
  void list(const PartialState &state, std::vector<Choice> &choices) const;
  bool canWait(const PartialState &state, int32_t stage) const;
  void make(const PartialState &state, const Choice &choice,
            Successors &successors) const;

  const FlatProblem &flat;
  const std::vector<bool> mayWait;
  /// [rank]: whether the W of all its stages have equal times and bytes.
  std::vector<bool> hasEqualWeightGrads;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_ACTIVECHOICES_H
