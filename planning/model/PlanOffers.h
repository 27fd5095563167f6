//===- PlanOffers.h - The plans that a model planner has tried --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_PLANOFFERS_H
#define RONDO_PLANNING_MODEL_PLANOFFERS_H

#include "planning/RunLimits.h"
#include "planning/model/ModelPlanner.h"
#include "planning/model/RecomputeToFit.h"
#include "schedule/model/Infinity.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace rondo {

/// Tries each plan that the steps of a planner offer, once, and keeps the
/// results.
class PlanOffers {
public:
  PlanOffers(const ModelSpace &space, const ModelPlannerOptions &options)
      : space(space), options(options),
        limits(options.deadline, options.interrupt) {}

  /// A plan that was offered, and what it lacked.
  struct Seen {
    ModelPlan plan;
    std::vector<Misfit> misfits = {};
    int64_t missingBytes = 0;
  };
  /// Null: it was not offered.
  const Seen *findSeen(const ModelPlan &plan) const {
    const auto found =
        std::find_if(seen.begin(), seen.end(),
                     [&](const Seen &each) { return each.plan == plan; });
    return found == seen.end() ? nullptr : &*found;
  }
  const std::vector<Seen> &all() const { return seen; }

  /// Tries a plan. Returns null if it was tried before, cannot be made or is
  /// slow. The pointer is valid until the next call.
  const PlanTrial *offer(const ModelPlan &plan);
  /// Adds a trial that fits to the result.
  const PlanTrial *add(PlanTrial trial);

  bool isOver(double part = 1) const { return limits.isOver(part); }
  bool mayOffload() const { return space.mayOffload() && options.mayOffload; }
  /// Null: the chain cannot be made with layers kept, or with all recomputed.
  const RecomputeCosts *costsOf(int64_t samples);

  const ModelSpace &space;
  const ModelPlannerOptions &options;
  ModelPlannerResult result;
  /// The plan whose fastest schedule that lacks little memory is the fastest,
  /// and the time of that schedule: a search may find another order for it that
  /// fits.
  std::optional<PlanTrial> hopeful;
  int64_t hopefulNs = infinite;

private:
  /// Plans that take longer than this are dropped without lowering their
  /// programs.
  int64_t ceilingNs() const;
  void noteHopeful(const PlanTrial &trial);

  const RunLimits limits;
  /// The last plan that did not fit.
  std::optional<PlanTrial> misfit;
  std::vector<Seen> seen;
  /// [samples of a micro-batch].
  std::map<int64_t, std::optional<RecomputeCosts>> recomputeCosts;
};

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_PLANOFFERS_H
