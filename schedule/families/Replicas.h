//===- Replicas.h - Families on stages with several replicas ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Families are written for stages with one replica each, on ranks in the order
// of their first stages. Ranks that hold replicas of the same stages form a
// group, which a family treats as one rank. The order that it writes is that of
// every rank of the group. Ranks without a stage are in no group.
//
// If stages are round-robin, a micro-batch of the family is a round: as many
// micro-batches as it takes until every round-robin stage begins with its first
// replica again. For each task of the family, a replica runs that task for the
// micro-batches of the round that it takes. So pipelines that share no replica
// each run the family's order. A stage that is round-robin over two replicas,
// followed by a stage that is not, has two micro-batches in flight for each
// that the family has.
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
  /// Whether stages have several replicas, ranks are not in the order of their
  /// first stages, or some ranks have no stage.
  static bool areNeeded(const Problem &problem);
  /// Makes the groups, in the order of their first stages. A fault if two ranks
  /// have some but not all stages in common.
  static Result<RankGroups> of(const Problem &problem);

  /// The problem of the groups, in which a micro-batch is a round. Every task
  /// takes as long as on its slowest replica, every message as long as on its
  /// slowest link, and a group has the smallest cap of its ranks.
  Problem groupProblem() const;
  /// Micro-batches of a round.
  int32_t roundSize() const { return microbatchesInRound; }
  /// The order of every rank, from a schedule of groupProblem().
  Schedule spread(const Schedule &ofGroups) const;

private:
  explicit RankGroups(const Problem &problem) : problem(&problem) {}
  void addMessages(Problem &groups) const;
  /// Maximum number of micro-batches of a round that a replica, or an edge,
  /// has.
  int32_t inRound(int32_t turns) const {
    return (microbatchesInRound + turns - 1) / turns;
  }
  template <typename Visit>
  void forEachOfRounds(int64_t round, int64_t count, Visit visit) const;
  /// Appends a rank's part of a backward that serves several rounds: as one, or
  /// one for each micro-batch where replicas take these in turn.
  void spreadBackward(int32_t rank, Action ofGroup, Schedule &schedule) const;
  /// A rank's task for a task of its group; nullopt if its replica does not
  /// take the micro-batch.
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
  /// Indexed by rank.
  std::vector<int32_t> groupOf;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_REPLICAS_H
