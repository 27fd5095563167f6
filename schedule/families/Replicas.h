//===- Replicas.h - Families on stages with several replicas ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Families are written for stages with one replica each, on ranks in the order
// of their first stages. Ranks that hold replicas of the same stages form a
// group, which a family takes for one rank; the order that it writes is the
// order of every rank of the group. Ranks without a stage are in no group.
//
// Where stages assign micro-batches, what a family takes for a micro-batch is a
// round: as many as it takes until all stages assign to their first replicas
// again. In each of the round's places, a replica runs the tasks of those that
// it takes. So pipelines that share no replica each run the family's order, and
// a stage that is assigned to two replicas before one that is not has two
// micro-batches on their way for each that the family asks for.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_FAMILIES_REPLICAS_H
#define RONDO_SCHEDULE_FAMILIES_REPLICAS_H

#include "schedule/model/Fault.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <optional>
#include <vector>

namespace rondo {

class RankGroups {
public:
  /// Whether stages have several replicas, or ranks are not in the order of
  /// their first stages, or have none.
  static bool areNeeded(const Problem &problem);
  /// Makes the groups, in the order of their first stages. A fault where two
  /// ranks have some stages in common, but not all.
  static Result<RankGroups> of(const Problem &problem);

  /// The problem of the groups, with rounds for micro-batches: every task takes
  /// as long as on its slowest replica, every message as on its slowest link,
  /// and a group has the room of its fullest rank.
  Problem groupProblem() const;
  /// The order of every rank, from a schedule of groupProblem().
  Schedule spread(const Schedule &ofGroups) const;

private:
  explicit RankGroups(const Problem &problem) : problem(&problem) {}
  void addMessages(Problem &groups) const;
  /// How many micro-batches of a round a replica, or an edge, has at most.
  int32_t inRound(int32_t turns) const {
    return (microbatchesInRound + turns - 1) / turns;
  }
  template <typename Visit>
  void forEachOfRound(int64_t round, Visit visit) const;
  /// A rank's task for a group's; none if its replica does not take the
  /// micro-batch.
  std::optional<Action> taskOn(int32_t rank, Action ofGroup,
                               int64_t microbatch) const;
  int64_t endOfRun(ActionRange order, int64_t i,
                   const std::vector<bool> &feeds) const;
  void spreadLinkOrder(std::pair<int32_t, int32_t> groups,
                       const std::vector<Action> &tasks,
                       Schedule &schedule) const;

  const Problem *problem;
  int32_t numGroups = 0;
  int32_t microbatchesInRound = 1;
  static constexpr int32_t noGroup = -1;
  /// By rank.
  std::vector<int32_t> groupOf;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_REPLICAS_H
