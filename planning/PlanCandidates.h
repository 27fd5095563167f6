//===- PlanCandidates.h - Plans among which one is chosen -------*- C++ -*-===//
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

/// Steps that a family may take to write a plan's schedule, beyond a few a
/// task.
inline constexpr int64_t maxFamilySteps = 2'000'000;

/// A plan of some shape.
struct ShapedPlan {
  /// The name that its maker knows it by.
  size_t id = 0;
  /// It has passed check(). Its caps are what is left of each device beside the
  /// state of its stages.
  Problem problem;
  PlanFigures figures;
  /// By stage.
  std::vector<int32_t> ranks;
  /// Stage s has the layers begins[s] to begins[s + 1] of the model; one more
  /// than stages.
  std::vector<int32_t> begins;
  /// How much more work the busiest rank may have than that of the best cut, as
  /// a part of the latter; 0 if this is the best cut, or the file's own.
  double cutGap = 0;
};

/// The plans of one model on one cluster.
struct PlanSpace {
  /// Of all plans.
  std::string name;
  int64_t ranks = 0, layers = 0;
  /// The plan of a shape, or why there is none.
  std::function<Result<ShapedPlan>(const PlanShape &)> make;
  /// Whether the stages of the plan as it is written lie on the ranks as a
  /// shape says, however its layers are cut.
  std::function<bool(const PlanShape &)> isWrittenAs;
};

/// One plan that may be chosen.
struct PlanCandidate {
  enum class State : uint8_t {
    /// To be searched, or searched.
    Open,
    /// There is no plan of this shape; see `fault`.
    NoPlan,
    /// A rank cannot hold one micro-batch; see `fault`.
    NoMemory,
    /// It has the stages of the candidate `twin`, which comes before it.
    SameStages,
    /// Its bound is not below the best.
    NotBetter,
    /// No schedule fits; see `fault`.
    NoSchedule,
    /// Time was over before it was made or searched.
    NoTime,
  };

  PlanShape shape;
  State state = State::Open;
  std::optional<Fault> fault;
  size_t twin = 0;
  /// Nothing where there is none.
  std::optional<ShapedPlan> plan;
  /// The plan's problem with lower caps, where programs of schedules did not
  /// fit.
  Problem tightened;
  /// Of the plan's problem.
  Bound bound;
  /// Has a schedule.
  std::optional<SearchResult> found;

  bool isOpen() const { return state == State::Open; }
  /// infinite where no schedule was found.
  int64_t objective() const {
    return found ? objectiveOf(plan->problem, found->simulation) : infinite;
  }
  int64_t knownBound() const {
    return found ? std::max(bound.ns, found->bound.ns) : bound.ns;
  }
};

/// A candidate of each shape, with a bound and the objective that is given, or
/// the plan's own. A candidate that cannot be searched, or that equals an
/// earlier one, says so. If one can be searched, this takes up to about half of
/// `deadline`; later shapes have no plan and are NoTime.
std::vector<PlanCandidate> makeCandidates(const PlanSpace &space,
                                          const std::vector<PlanShape> &shapes,
                                          std::optional<Objective> objective,
                                          const Deadline &deadline);

} // namespace rondo

#endif // RONDO_PLANNING_PLANCANDIDATES_H
