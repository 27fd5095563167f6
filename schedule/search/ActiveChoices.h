//===- ActiveChoices.h - What may come next in a schedule -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_ACTIVECHOICES_H
#define RONDO_SCHEDULE_SEARCH_ACTIVECHOICES_H

#include "schedule/bounds/Propagation.h"
#include "schedule/search/Orders.h"

namespace rondo {

/// A task or, on a link, the burst that begins with `edge`.
struct Choice {
  Machine machine;
  int letter;
  int32_t stage, edge;
  int64_t start, end;
};

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
struct Brood {
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
  void expand(const PartialState &state, Scratch &scratch, Brood &brood) const;

private:
  void list(const PartialState &state, std::vector<Choice> &choices) const;
  bool canWait(const PartialState &state, int32_t stage) const;
  void make(const PartialState &state, const Choice &choice,
            Brood &brood) const;

  const FlatProblem &flat;
  /// By rank: whether an F may gain from waiting, and whether all W are alike.
  std::vector<bool> mayBan, hasEqualWeightGrads;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_ACTIVECHOICES_H
