//===- PlanJudge.h - The best known order of a plan -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_SCHEDULED_PLANJUDGE_H
#define RONDO_PLANNING_SCHEDULED_PLANJUDGE_H

#include "planning/chain/ChainCosts.h"
#include "planning/scheduled/PlanProblem.h"
#include "schedule/families/Family.h"
#include "schedule/families/Replicas.h"
#include "schedule/search/Search.h"

namespace rondo {

/// By stage: the tasks of each of its devices, in order, without the step.
using StageOrders = std::vector<std::vector<Action>>;

/// A plan with the fastest order of those tried that keep all rules, S7 too.
struct ScheduledPlan {
  ChainPlan plan;
  Problem problem;
  /// With the step of every replica.
  Schedule schedule;
  /// `zb-h1`; empty for an order that no family wrote.
  std::string family;
  int64_t timeNs = std::numeric_limits<int64_t>::max();
  /// State and activations of the fullest device.
  int64_t memoryBytes = 0;

  /// The order of each stage's first replica.
  StageOrders orders() const;
};

/// Which families are asked for an order.
enum class FamilyEffort : uint8_t {
  /// Those that are most often the best, in about the time of simulating each.
  Few,
  All,
};

/// Finds orders of plans of one problem.
class PlanJudge {
public:
  explicit PlanJudge(const ChainProblem &problem);

  /// No order of a plan's tasks takes less. Says little, quickly. O(stages).
  int64_t leastNs(const ChainPlan &plan) const;
  /// The best of what families write, of the orders `known` of another plan
  /// with as many stages (may be null), and, where a cap of memory is in their
  /// way, of eager 1F1B with as many micro-batches under way as fit. Nothing
  /// where none is below `ceilingNs`, or the plan does not fit or makes no
  /// problem.
  std::optional<ScheduledPlan>
  judge(const ChainPlan &plan, FamilyEffort effort,
        int64_t ceilingNs = std::numeric_limits<int64_t>::max(),
        const StageOrders *known = nullptr);
  /// Searches a better order; half of the time and effort for all devices of a
  /// stage alike, where some stage has several. Returns whether one was found.
  /// Searches have one objective, which is without sums of gradients; these
  /// count in what is compared.
  bool search(ScheduledPlan &plan, SearchOptions options) const;
  /// Plans that were judged so far.
  int64_t plansJudged() const { return judged; }

private:
  struct Written {
    std::string family;
    Schedule schedule;
    int64_t timeNs = 0;
  };
  void write(const Problem &groups, FamilyEffort effort,
             const StageOrders *known, std::vector<Written> &all) const;
  bool improve(ScheduledPlan &plan, const Schedule &tasks,
               const std::string &family) const;

  const ChainProblem &chain;
  const ChainCosts costs;
  std::vector<FamilyChoice> few;
  int64_t judged = 0;
};

} // namespace rondo

#endif // RONDO_PLANNING_SCHEDULED_PLANJUDGE_H
