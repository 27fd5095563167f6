//===- DepthOrder.cpp - Orders by the depth of each stage -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/DepthOrder.h"

#include "kinds/Counts.h"
#include "schedule/families/OwnRanks.h"
#include "schedule/families/Placement.h"
#include "schedule/families/Replicas.h"
#include "schedule/transforms/Recomputed.h"

#include <algorithm>
#include <cmath>

using namespace rondo;

std::string DepthOrder::text() const {
  std::string text = "depths";
  char separator = ' ';
  for (int32_t depth : depths) {
    text += separator + std::to_string(depth);
    separator = ',';
  }
  switch (style) {
  case BackwardStyle::Fused:
    return text;
  case BackwardStyle::Split:
    return text + ", W after I";
  case BackwardStyle::LateWeights:
    text += ", W after the next F";
    if (lateStages < int32_t(depths.size()))
      text += " on " + countOf(lateStages, "stage") + ", after I on " +
              std::to_string(depths.size() - size_t(lateStages));
    return text;
  case BackwardStyle::Whole:
    return text + ", one backward an iteration";
  }
  return text;
}

/// The style of one stage.
static BackwardStyle styleOf(BackwardStyle style, int32_t lateStages,
                             int32_t stage) {
  return style == BackwardStyle::LateWeights && stage >= lateStages
             ? BackwardStyle::Split
             : style;
}

int32_t rondo::leastDepth(const Problem &problem, BackwardStyle style) {
  return style == BackwardStyle::Whole ? problem.microbatchesEach() : 1;
}

Result<Problem> rondo::problemOfDepths(const Problem &problem) {
  if (RankGroups::areNeeded(problem)) {
    Result<RankGroups> groups = RankGroups::of(problem);
    if (!groups)
      return std::move(groups.fault());
    return problemOfDepths(groups->groupProblem());
  }
  if (haveSeveralStages(problem))
    return problemOfDepths(onOwnRanks(problem));
  if (auto fault = needLinearPlacement("a search over depths", problem))
    return std::move(*fault);
  return hasRecomputation(problem) ? withoutRecomputation(problem) : problem;
}

/// Appends the order of one stage, which is alone on its rank.
static void appendStage(Schedule &schedule, const Problem &problem,
                        BackwardStyle style, int32_t stage, int32_t depth) {
  const int64_t last = problem.microbatches, each = problem.microbatchesEach();
  const int64_t served = style == BackwardStyle::Whole ? each : 1;
  int64_t forward = 0;
  auto letIn = [&](int64_t count) {
    for (; count > 0 && forward < last; --count)
      schedule.append({ActionKind::Forward, stage, forward++});
  };
  letIn(depth);
  for (int64_t m = 0; m < last; m += served) {
    const bool isEnd = (m + served) % each == 0;
    const bool isSplit =
        style == BackwardStyle::Split || style == BackwardStyle::LateWeights;
    Action backward(isSplit ? ActionKind::InputGrad : ActionKind::Backward,
                    stage, m);
    backward.count = static_cast<uint64_t>(served);
    schedule.append(backward);
    if (style == BackwardStyle::LateWeights && !isEnd)
      letIn(1);
    if (isSplit)
      schedule.append({ActionKind::WeightGrad, stage, m});
    if (isEnd)
      schedule.append({ActionKind::Step, stage, m / each});
    if (style != BackwardStyle::LateWeights || isEnd)
      letIn(served);
  }
}

Schedule rondo::scheduleOf(const Problem &problem, const DepthOrder &order) {
  if (RankGroups::areNeeded(problem)) {
    const auto groups = *RankGroups::of(problem);
    return groups.spread(scheduleOf(groups.groupProblem(), order));
  }
  if (hasRecomputation(problem))
    return withRecomputation(problem,
                             scheduleOf(withoutRecomputation(problem), order));
  if (haveSeveralStages(problem)) {
    const int64_t underWay =
        order.depths.front() / problem.microbatchesEach() + 2;
    Result<Schedule> merged = orderOnOwnRanks(
        problem, underWay, [&](const Problem &own) -> Result<Schedule> {
          return scheduleOf(own, order);
        });
    return *std::move(merged);
  }
  Schedule schedule;
  schedule.reserve((int64_t(3) * problem.microbatches + problem.iterations) *
                   problem.numStages());
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    appendStage(schedule, problem, styleOf(order.style, order.lateStages, s), s,
                order.depths[s]);
    schedule.endRank();
  }
  return schedule;
}

namespace {
/// Parts of the wait cycles between stages, [stage] in ns.
struct Legs {
  /// Time of F and of the task that produces the gradient for the stage before.
  std::vector<double> work;
  /// Time of the messages to the next stage and back.
  std::vector<double> messages;
  /// Time of the W that a wait cycle contains: `behind` on its first stage,
  /// between the backward and the next F; `between` on its last stage, between
  /// F and the backward.
  std::vector<double> behind, between;
};
} // namespace

static Legs legsOf(const Problem &problem, BackwardStyle style,
                   int32_t lateStages) {
  const bool isFused =
      style == BackwardStyle::Fused || style == BackwardStyle::Whole;
  const int64_t served = style == BackwardStyle::Whole && !problem.countsOnce
                             ? problem.microbatchesEach()
                             : 1;
  Legs legs;
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const ActionKind back =
        isFused ? ActionKind::Backward : ActionKind::InputGrad;
    legs.work.push_back(double(problem.cost(s, ActionKind::Forward).ns +
                               problem.cost(s, back).ns * served));
    const auto weights = double(problem.cost(s, ActionKind::WeightGrad).ns);
    const BackwardStyle own = styleOf(style, lateStages, s);
    legs.behind.push_back(own == BackwardStyle::Split ? weights : 0);
    legs.between.push_back(own == BackwardStyle::LateWeights ? weights : 0);
  }
  legs.messages.assign(problem.numStages(), 0);
  for (const Edge &edge : problem.edges) {
    if (std::abs(edge.to - edge.from) != 1)
      continue;
    const Link link = problem.linkBetween(edge.from, edge.to);
    const int64_t messages = edge.producer == ActionKind::Forward ? 1 : served;
    legs.messages[std::min(edge.from, edge.to)] +=
        double(link.latencyNs) +
        double(link.occupancyNs(edge.bytes)) * double(messages);
  }
  return legs;
}

std::vector<int32_t> rondo::leastDepths(const Problem &problem,
                                        BackwardStyle style, double iterationNs,
                                        int32_t lateStages) {
  // With larger depths, a window would have too few micro-batches for a steady
  // run.
  constexpr double limit = 1 << 16;
  const int32_t stages = problem.numStages();
  const double each = problem.microbatchesEach();
  const Legs legs = legsOf(problem, style, lateStages);
  std::vector<int32_t> depths(stages, leastDepth(problem, style));
  for (int32_t s = stages - 2; s >= 0; --s) {
    // The step takes a part of each iteration.
    const double step = double(problem.cost(s, ActionKind::Step).ns);
    const double pace = std::max(iterationNs - step, 1e-9);
    double way = legs.work[s];
    depths[s] = depths[s + 1];
    for (int32_t t = s + 1; t < stages; ++t) {
      way += legs.messages[t - 1];
      double needed = depths[t];
      if (style == BackwardStyle::Whole)
        needed += std::ceil(each * way / pace - 1e-9);
      way += legs.work[t];
      if (style != BackwardStyle::Whole)
        needed +=
            std::ceil(each * (way + legs.behind[s] + legs.between[t]) / pace -
                      1e-9) -
            1;
      depths[s] =
          std::max(depths[s], static_cast<int32_t>(std::min(needed, limit)));
    }
  }
  return depths;
}
