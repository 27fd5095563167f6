//===- PlanCandidates.cpp - Candidates of a search of plans ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/PlanCandidates.h"

#include "schedule/bounds/Shortfall.h"
#include "schedule/gathers/PlaceGathers.h"

#include <algorithm>

using namespace rondo;

namespace {

/// Makes the candidates of one call.
class Maker {
public:
  Maker(const PlanSpace &space, std::optional<Objective> objective,
        const Deadline &deadline)
      : space(space), objective(objective), deadline(deadline) {}

  std::vector<PlanCandidate> run(const std::vector<PlanShape> &shapes);

private:
  PlanCandidate make(PlanShape shape, double part) const;
  Bound boundWithin(const Problem &problem) const;
  void tryOwnCut(PlanCandidate &best) const;
  void tryRoomierCuts(PlanCandidate &best, double part) const;

  const PlanSpace &space;
  const std::optional<Objective> objective;
  const Deadline &deadline;
};

} // namespace

/// quickBound() if it takes at most an eighth of the remaining time, else
/// roughBound().
Bound Maker::boundWithin(const Problem &problem) const {
  // Estimated time per task of the bounds LB3 and LB4.
  constexpr int64_t nsOfQuickBound = 1000;
  const int64_t tasks = problem.numTasks();
  // Gathers and reductions only add time to an iteration with whole state.
  if (problem.replicas.areSharded()) {
    Problem whole = withWholeState(problem);
    whole.memoryCaps = problem.memoryCaps;
    return boundWithin(whole);
  }
  return tasks / 1000000 * nsOfQuickBound > deadline.leftMs() / 8
             ? roughBound(problem)
             : quickBound(problem);
}

/// The number of labels of a cut that can be tried in about `ms` milliseconds.
static int64_t labelsWithin(int64_t ms, int64_t stages, int64_t layers) {
  const int64_t most = PlanShape().maxLabels;
  const int64_t nsOfLabel = std::max<int64_t>(300000, 10 * stages * layers);
  if (ms >= most * nsOfLabel / 1000000)
    return most;
  return std::max<int64_t>(16, ms * 1000000 / nsOfLabel);
}

/// The plan of a shape with its bound, or why there is none. Cutting the layers
/// takes a part of the time left until `part` of the limit.
PlanCandidate Maker::make(PlanShape shape, double part) const {
  PlanCandidate candidate;
  shape.maxLabels = labelsWithin(deadline.leftMs(part) / 2,
                                 shape.chunks * space.ranks, space.layers);
  candidate.shape = shape;
  auto made = space.make(shape);
  if (!made) {
    candidate.state = PlanCandidate::State::NoPlan;
    candidate.fault = std::move(made.fault());
    return candidate;
  }
  candidate.plan = std::move(*made);
  Problem &problem = candidate.plan->problem;
  if (objective)
    problem.objective = *objective;
  candidate.fault = findShortfall(problem);
  if (candidate.fault)
    candidate.state = PlanCandidate::State::NoMemory;
  candidate.bound =
      candidate.isOpen() ? boundWithin(problem) : roughBound(problem);
  return candidate;
}

/// Replaces `best` by `other` if the bound of `other` is lower.
static void takeBetter(PlanCandidate &best, PlanCandidate other) {
  if (other.isOpen() && (!best.isOpen() || other.bound.ns < best.bound.ns))
    best = std::move(other);
}

/// Also tries the cut of the plan as written for its own placement: its author
/// may know more about memory than the assumption of equal memory on every
/// rank.
void Maker::tryOwnCut(PlanCandidate &best) const {
  if (best.shape.placing == Placing::AsWritten ||
      !space.isWrittenAs(best.shape))
    return;
  const PlanShape shape = best.shape;
  PlanShape written = {Placing::AsWritten, 0, shape.microbatches};
  written.recomputed = shape.recomputed;
  PlanCandidate own = make(written, 1);
  own.shape = shape;
  takeBetter(best, std::move(own));
}

/// If memory is scarce, a cut with room for more micro-batches can be faster
/// than the cut with the least work on its busiest rank. Takes the cut with the
/// lowest bound, within the first `part` of the time.
void Maker::tryRoomierCuts(PlanCandidate &best, double part) const {
  // Maximum of stages times micro-batches: beyond it the bounds take too long.
  constexpr int64_t maxTasksOfCuts = 30000;
  PlanShape shape = best.shape;
  if (shape.placing == Placing::AsWritten || !best.plan)
    return;
  const Problem &problem = best.plan->problem;
  const bool hasCaps =
      std::any_of(problem.memoryCaps.begin(), problem.memoryCaps.end(),
                  [](int64_t cap) { return cap != noMemoryCap; });
  if (!hasCaps ||
      int64_t(problem.numStages()) * problem.microbatches > maxTasksOfCuts)
    return;
  for (int64_t held : {space.ranks / 2, space.ranks, 2 * space.ranks}) {
    held = std::min(held, shape.microbatches);
    if (held <= shape.held)
      continue;
    if (deadline.isOver(part))
      return;
    shape.held = held;
    PlanCandidate other = make(shape, part);
    // If no plan holds `held` micro-batches, none holds more.
    if (!other.plan)
      return;
    takeBetter(best, std::move(other));
  }
}

static bool hasSameStages(const ShapedPlan &a, const ShapedPlan &b) {
  return a.problem.microbatches == b.problem.microbatches &&
         a.ranks == b.ranks && a.begins == b.begins &&
         a.problem.recomputation == b.problem.recomputation;
}

std::vector<PlanCandidate> Maker::run(const std::vector<PlanShape> &shapes) {
  // Parts of the time for a candidate of each shape, and for better cuts.
  constexpr double partOfAll = 0.5, partOfCuts = 0.3;
  std::vector<PlanCandidate> candidates;
  bool isAny = false;
  for (const PlanShape &shape : shapes) {
    if (!candidates.empty() && deadline.isOver(isAny ? partOfAll : 1)) {
      PlanCandidate left;
      left.shape = shape;
      left.state = PlanCandidate::State::NoTime;
      candidates.push_back(std::move(left));
      continue;
    }
    candidates.push_back(make(shape, partOfAll));
    tryOwnCut(candidates.back());
    isAny |= candidates.back().isOpen();
  }
  for (PlanCandidate &candidate : candidates)
    tryRoomierCuts(candidate, partOfCuts);
  for (size_t c = 0; c < candidates.size(); ++c) {
    PlanCandidate &candidate = candidates[c];
    if (!candidate.isOpen())
      continue;
    candidate.tightened = candidate.plan->problem;
    for (size_t before = 0; before < c && candidate.isOpen(); ++before)
      if (candidates[before].plan &&
          hasSameStages(*candidates[before].plan, *candidate.plan)) {
        candidate.state = PlanCandidate::State::SameStages;
        candidate.twin = before;
      }
  }
  return candidates;
}

std::vector<PlanCandidate> rondo::makeCandidates(
    const PlanSpace &space, const std::vector<PlanShape> &shapes,
    std::optional<Objective> objective, const Deadline &deadline) {
  return Maker(space, objective, deadline).run(shapes);
}
