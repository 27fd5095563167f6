//===- ZbvAuto.cpp - Zero bubble in a V by measured times -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Qi et al., "Pipeline Parallelism with Controllable Memory", arXiv 2405.15362,
// and the automatic schedule that was released with it. Rank r holds the stages
// r and 2P - 1 - r. A micro-batch goes over the ranks on four legs: down with F
// of the first chunk, up with F of the second, down with its I, up with I of
// the first.
//
//   warm-up   one F and one f (of the second chunk) on every rank. Before f,
//             rank r runs further F if they end before f's input arrives and
//             leave memory for 2 r + 1 more; the ranks above run them as well.
//             Then the ranks from r down run F and f alternately, until each
//             has run at least as many forwards as the rank above it, and one f
//             more.
//   steady    2 M rounds: an I on every rank, then an F if there is one. The
//             second of two legs goes first if its input has been made.
//   W         the oldest one runs if it ends before an input arrives, or if the
//             cap needs it. If a wait would make the rank idle for longer than
//             every rank has been so far, one W runs in it although it ends too
//             late.
//
// Two switches set whether the last rule holds for F and for I of the second
// chunk. A run is repeated, with the idle times of the previous run as
// allowances, as long as that lowers the longest idle time. All of this is run
// under the caps, and again under a limit of P activations per rank; and for
// other costs: the median stage's times, other message times, and longer W. The
// best result is taken. With equal times and no latency, the span is 3M, the
// makespan 3M + (P - 1) / 2, and a rank holds P activations.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/Registry.h"
#include "schedule/families/ZbvRounds.h"
#include "schedule/simulate/Objective.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::zbvRounds;

namespace {

/// All runs for one set of costs.
class Sweep {
public:
  explicit Sweep(Objective objective) : objective(objective) {}

  /// Repeats a run while that lowers the longest idle time; keeps the best.
  void run(const FlatProblem &flat, const Chunks &chunks,
           const std::vector<int64_t> &limits) {
    for (bool fillsInputGrad : {true, false})
      for (bool fillsForward : {true, false}) {
        std::vector<int64_t> allowed(flat.ranks, 0);
        for (int64_t longest = -1;;) {
          std::optional<Outcome> made = layOut(
              flat, chunks, limits, {fillsForward, fillsInputGrad}, allowed);
          if (!made || (longest >= 0 && made->longestIdle >= longest))
            break;
          longest = made->longestIdle;
          allowed = made->idle;
          if (!best || valueOf(*made) < valueOf(*best))
            best = std::move(made);
        }
      }
  }

  std::optional<Outcome> best;

private:
  int64_t valueOf(const Outcome &outcome) const {
    return objective == Objective::Span ? outcome.spanNs : outcome.makespanNs;
  }

  const Objective objective;
};

/// Scale factors of the times that the greedy rule uses. A greedy choice
/// ignores the later effects of a wait, so scaled times sometimes give a better
/// order.
struct Plan {
  /// Percentage of the true times of messages, and of W.
  int64_t messagePercent = 100, weightGradPercent = 100;
  /// Whether all stages get the median stage's times, as published.
  bool isEven = false;
};

/// Up to this number of tasks, more than one plan is tried.
constexpr int64_t plannedTasks = 200000;
constexpr Plan guides[] = {
    {75, 100}, {150, 100}, {200, 100}, {100, 110}, {100, 120}};

std::vector<Plan> plansFor(const Problem &problem, const FlatProblem &flat) {
  std::vector<Plan> plans = {{}};
  // With less memory these rules give poor orders, so one plan is enough.
  if (flat.tasks() > plannedTasks ||
      microbatchesThatFit(problem) < std::min(flat.microbatches, flat.ranks))
    return plans;
  for (const std::vector<int64_t> &ns : flat.ns)
    if (plans.size() == 1 &&
        std::any_of(ns.begin(), ns.end(),
                    [&](int64_t other) { return other != ns[0]; }))
      plans.push_back({100, 100, true});
  plans.insert(plans.end(), std::begin(guides), std::end(guides));
  return plans;
}

/// `percent` of `value`, without overflow of the product.
int64_t percentOf(int64_t percent, int64_t value) {
  return value / 100 * percent + value % 100 * percent / 100;
}

std::optional<Schedule> follow(Plan plan, FlatProblem flat,
                               const Chunks &chunks, Objective objective) {
  // Messages do not wait for one another.
  for (FlatProblem::Message &message : flat.messages) {
    message.latencyNs = percentOf(plan.messagePercent, message.transferNs());
    message.occupancyNs = 0;
  }
  for (int64_t &ns : flat.ns[Task::W])
    ns = percentOf(plan.weightGradPercent, ns);
  for (std::vector<int64_t> &ns : flat.ns)
    if (plan.isEven) {
      std::nth_element(ns.begin(), ns.begin() + ns.size() / 2, ns.end());
      ns.assign(ns.size(), ns[ns.size() / 2]);
    }
  Sweep sweep(objective);
  std::vector<int64_t> limits = flat.caps;
  for (int32_t r = 0; r < chunks.ranks; ++r) {
    const int64_t takes =
        flat.takes[chunks.stage(0, r)] + flat.takes[chunks.stage(1, r)];
    if (takes <= limits[r] / chunks.ranks)
      limits[r] = chunks.ranks * takes;
  }
  sweep.run(flat, chunks, limits);
  if (limits != flat.caps)
    sweep.run(flat, chunks, flat.caps);
  if (!sweep.best)
    return std::nullopt;
  return Schedule(sweep.best->orders);
}

} // namespace

static FamilyResult generateZbvAuto(const Problem &problem,
                                    const FamilyArguments &) {
  auto placement = needVPlacement("zbv-auto", problem);
  if (!placement)
    return placement.fault();
  const Chunks &chunks = *placement;
  std::optional<FlatProblem> flat =
      FlatProblem::of(problem, BackwardCosts::Split);
  if (!flat)
    return makeFault<FaultKind::NoChain>("zbv-auto");
  for (int32_t r = 0; r < chunks.ranks; ++r) {
    const int64_t needed =
        flat->takes[chunks.stage(0, r)] + flat->takes[chunks.stage(1, r)];
    if (needed > flat->caps[r])
      return makeFault<FaultKind::NoRoomForOne>("zbv-auto", needed, r,
                                                flat->caps[r]);
  }
  std::optional<Schedule> best;
  int64_t least = 0;
  const std::vector<Plan> plans = plansFor(problem, *flat);
  for (const Plan &plan : plans) {
    std::optional<Schedule> made =
        follow(plan, *flat, chunks, problem.objective);
    if (!made)
      continue;
    int64_t value = 0;
    if (plans.size() > 1) {
      value = objectiveOf(problem, simulate(problem, *made));
    }
    if (!best || value < least) {
      best = std::move(made);
      least = value;
    }
  }
  if (best)
    return std::move(*best);
  return makeFault<FaultKind::Halts>("zbv-auto");
}

/// Each plan runs with four settings of the switches and two limits, most of
/// them twice.
static int64_t tasksTimedByZbvAuto(const Problem &problem) {
  const int64_t tasks = problem.numTasks();
  if (problem.numStages() != 2 * problem.numRanks())
    return 0;
  const int64_t plans =
      tasks > plannedTasks ? 1 : 2 + int64_t(std::size(guides));
  return 5 * plans * tasks;
}

Family rondo::zbvAuto() {
  Family family;
  family.name = "zbv-auto";
  family.summary =
      "zero bubble in a V, laid out by the times and caps of the plan";
  family.source = "Qi et al., arXiv 2405.15362";
  family.generate = generateZbvAuto;
  family.extraSteps = tasksTimedByZbvAuto;
  family.needsChain = true;
  return family;
}
