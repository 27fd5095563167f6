//===- PlanCandidates.h - Candidates of a search of plans -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_PLANCANDIDATES_H
#define RONDO_PLANNING_PLANCANDIDATES_H

#include "lowering/Lowering.h"
#include "planning/Deadline.h"
#include "planning/PlanShape.h"
#include "schedule/model/Infinity.h"
#include "schedule/search/Search.h"
#include "schedule/simulate/Objective.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// Steps that a family may take to write a plan's schedule, in addition to a
/// few per task.
inline constexpr int64_t maxFamilySteps = 2'000'000;

/// A plan of some shape.
struct ShapedPlan {
  /// Identifies the plan to its maker.
  size_t id = 0;
  /// It has passed check(). Its caps are each device's memory less the state of
  /// its stages.
  Problem problem;
  PlanFigures figures;
  /// [stage]: its rank.
  std::vector<int32_t> ranks;
  /// Stage s has the layers begins[s] to begins[s + 1] of the model; one more
  /// entry than stages.
  std::vector<int32_t> begins;
  /// Upper bound of the busiest rank's extra work over the best cut, as a
  /// fraction of the latter; 0 if this is the best cut, or that of the plan as
  /// written.
  double cutGap = 0;
};

/// The plans of one model on one cluster.
struct PlanSpace {
  /// The name of all plans.
  std::string name;
  int64_t ranks = 0, layers = 0;
  /// The plan of a shape, or why there is none.
  std::function<Result<ShapedPlan>(const PlanShape &)> make;
  /// Whether the plan as written places its stages on the ranks as the shape
  /// does; the cut of the layers may differ.
  std::function<bool(const PlanShape &)> isWrittenAs;
};

/// One plan that may be chosen.
struct PlanCandidate {
  enum class State : uint8_t {
    /// Not excluded: still to be searched, or searched already.
    Open,
    /// No plan has this shape; see `fault`.
    NoPlan,
    /// A rank cannot hold one micro-batch; see `fault`.
    NoMemory,
    /// Has the stages of the earlier candidate `twin`.
    SameStages,
    /// Its bound is not below the best objective.
    NotBetter,
    /// No schedule fits; see `fault`.
    NoSchedule,
    /// The time limit passed before it was made or searched.
    NoTime,
  };

  PlanShape shape;
  State state = State::Open;
  std::optional<Fault> fault;
  size_t twin = 0;
  /// Nothing if no plan has this shape.
  std::optional<ShapedPlan> plan;
  /// The plan's problem, with lower caps if programs of schedules did not fit.
  Problem tightened;
  /// A bound of the plan's problem.
  Bound bound;
  /// The best result with a schedule that fits.
  std::optional<SearchResult> found;

  bool isOpen() const { return state == State::Open; }
  /// `infinite` without a schedule.
  int64_t objective() const {
    return found ? objectiveOf(plan->problem, found->simulation) : infinite;
  }
  int64_t knownBound() const {
    return found ? std::max(bound.ns, found->bound.ns) : bound.ns;
  }
};

/// Makes a candidate of each shape, with a bound and the given objective, or
/// the plan's own. The state of a candidate that cannot be searched, or that
/// equals an earlier one, is its reason. Once a candidate can be searched,
/// takes up to half of `deadline`; later shapes get no plan and the state
/// NoTime.
std::vector<PlanCandidate> makeCandidates(const PlanSpace &space,
                                          const std::vector<PlanShape> &shapes,
                                          std::optional<Objective> objective,
                                          const Deadline &deadline);

} // namespace rondo

#endif // RONDO_PLANNING_PLANCANDIDATES_H
