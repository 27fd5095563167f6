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

/// [stage]: the tasks of each of its devices, in order, without the step.
using StageOrders = std::vector<std::vector<Action>>;

/// A plan with the fastest of the tried orders that keep all rules, including
/// S7.
struct ScheduledPlan {
  ChainPlan plan;
  Problem problem;
  /// Includes the step of every replica.
  Schedule schedule;
  /// `zb-h1`; empty if no family wrote the order.
  std::string family;
  int64_t timeNs = std::numeric_limits<int64_t>::max();
  /// State and activations of the fullest device.
  int64_t memoryBytes = 0;

  /// The order of each stage's first replica.
  StageOrders orders() const;
};

/// The families that are tried.
enum class FamilyEffort : uint8_t {
  /// Families that are most often the best, and take about as long to write an
  /// order as to simulate it.
  Few,
  All,
};

/// Finds orders of plans of one problem.
class PlanJudge {
public:
  explicit PlanJudge(const ChainProblem &problem);

  /// A weak but quick lower bound for all orders of a plan's tasks. O(stages).
  int64_t leastNs(const ChainPlan &plan) const;
  /// Returns the plan with its best order. Tries the orders of the families;
  /// `known`, the orders of another plan with the same number of stages, if not
  /// null; and, if some order exceeds a memory cap, eager 1F1B with as many
  /// micro-batches in flight as fit. Nothing if no order takes less than
  /// `ceilingNs`, if the plan does not fit, or if planProblem() fails.
  std::optional<ScheduledPlan>
  judge(const ChainPlan &plan, FamilyEffort effort,
        int64_t ceilingNs = std::numeric_limits<int64_t>::max(),
        const StageOrders *known = nullptr);
  /// Searches a better order. If some stage has several devices, half of the
  /// time and effort goes to orders in which all devices of a stage do the
  /// same. Returns whether a better one was found. The search's objective
  /// excludes sums of gradients; the comparison includes them.
  bool search(ScheduledPlan &plan, SearchOptions options) const;
  /// The number of plans judged so far.
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
