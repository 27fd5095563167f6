//===- Replicas.h - Families on stages with several homes -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Families are written for stages with one home each. Ranks that hold homes of
// the same stages form a group, which a family takes for one rank; the order
// that it writes is the order of every rank of the group.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_FAMILIES_REPLICAS_H
#define RONDO_SCHEDULE_FAMILIES_REPLICAS_H

#include "schedule/Fault.h"
#include "schedule/Problem.h"
#include "schedule/Schedule.h"

#include <vector>

namespace rondo {

class RankGroups {
public:
  /// Makes the groups, in the order of their first ranks. A fault where two
  /// ranks have some stages in common, but not all.
  static Result<RankGroups> of(const Problem &problem);

  /// The problem of the groups: every task takes as long as on its slowest
  /// home, every message as on its slowest link, and a group has the room of
  /// its fullest rank.
  Problem groupProblem() const;
  /// The order of every rank, from a schedule of groupProblem().
  Schedule spread(const Schedule &ofGroups) const;

private:
  explicit RankGroups(const Problem &problem) : problem(&problem) {}
  void addMessages(Problem &groups) const;
  void spreadLinkOrder(std::pair<int32_t, int32_t> groups,
                       const std::vector<Action> &tasks,
                       Schedule &schedule) const;

  const Problem *problem;
  int32_t numGroups = 0;
  /// By rank.
  std::vector<int32_t> groupOf;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_REPLICAS_H
