//===- Baselines.h - Plans of published planners ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_BASELINES_H
#define RONDO_PLANNING_CHAIN_BASELINES_H

#include "planning/chain/PlanTimer.h"

#include <functional>
#include <optional>
#include <string>

namespace rondo {

/// A plan, or why a planner has none for a problem.
struct BaselinePlan {
  std::optional<ChainPlan> plan;
  std::string whyNot;
};

/// A published planner, reimplemented. Planners differ in what they model, so
/// all plans are timed by the same evaluator; a planner that tries several
/// plans may use it to choose. None of them keeps to the devices' memory.
struct Baseline {
  const char *name;
  /// Its rule and its source, in a phrase.
  const char *source;
  BaselinePlan (*plan)(const ChainProblem &problem, PlanEvaluator evaluator);
  /// Takes a few ms at most for 32 layers on 32 devices.
  bool isQuick = true;
};

const std::vector<Baseline> &baselines();

/// Maximum number of devices for which quick baselines run before the planner's
/// own search; with more, they take too long.
inline constexpr int32_t maxQuickDevices = 32;

/// Calls `offer` with the plan of each quick baseline, until `isOver`. Runs
/// none if there are more than `maxQuickDevices` devices.
void offerQuickPlans(const ChainProblem &problem, PlanEvaluator evaluator,
                     const std::function<bool()> &isOver,
                     const std::function<void(const ChainPlan &)> &offer);

struct TimedBaseline {
  const Baseline *baseline = nullptr;
  BaselinePlan found;
  /// Timed by the evaluator; `memoryBytes` is that of the fullest device under
  /// 1F1B. Both are 0 without a plan.
  int64_t timeNs = 0, memoryBytes = 0;

  bool fits(const ChainProblem &problem) const {
    return found.plan &&
           (problem.memoryBytes == 0 || memoryBytes <= problem.memoryBytes);
  }
};

/// Runs all baselines, in the order of the table.
std::vector<TimedBaseline> runBaselines(const ChainProblem &problem,
                                        PlanEvaluator evaluator);

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_BASELINES_H
