//===- ActiveChoices.h - What may come next in a schedule -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_ACTIVECHOICES_H
#define RONDO_SCHEDULE_SEARCH_ACTIVECHOICES_H

#include "schedule/partial/Propagation.h"
#include "schedule/search/Orders.h"

#include <algorithm>

namespace rondo {

/// A task or, on a link, the burst that begins with `edge`.
struct Choice {
  Machine machine;
  int letter;
  int32_t stage, edge;
  int64_t start, end;
};

/// By rank: whether an F may gain from waiting for that of another stage. It
/// may on a rank of several stages that cannot hold all activations.
std::vector<bool> ranksThatMayWait(const FlatProblem &flat);

/// The rank or link of the choice that would end first takes one of its own
/// that could start before that end, or end with it: calls `make` with each of
/// them. Returns the first; there is one.
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

/// A state with one more task or burst, and what a search notes of it.
struct Child {
  PartialState state;
  Choice choice;
  Estimate estimate;
  int32_t group;
  bool isKept, isBeaten, inherits, isEstimated;
};

/// The children of a state; only the first `count` are used, so that their
/// memory is kept.
struct Successors {
  std::vector<Child> children;
  size_t count = 0;
};

/// The choices among which there is always a best one: see the source.
/// Threads may share it.
class ActiveChoices {
public:
  explicit ActiveChoices(const FlatProblem &flat);

  using Scratch = std::vector<Choice>;
  /// Adds the children of a state that holds messages. O(tasks that could be
  /// next * size of a state).
  void expand(const PartialState &state, Scratch &scratch,
              Successors &successors) const;

private:
  void list(const PartialState &state, std::vector<Choice> &choices) const;
  bool canWait(const PartialState &state, int32_t stage) const;
  void make(const PartialState &state, const Choice &choice,
            Successors &successors) const;

  const FlatProblem &flat;
  const std::vector<bool> mayWait;
  /// By rank: whether all W are alike.
  std::vector<bool> hasEqualWeightGrads;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_ACTIVECHOICES_H
