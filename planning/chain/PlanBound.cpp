//===- PlanBound.cpp - A lower bound for all plans ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/PlanBound.h"

#include <algorithm>

using namespace rondo;

PlanBound::PlanBound(const ChainProblem &problem, PlanEvaluator evaluator,
                     const CostToGo &rest)
    : problem(problem), evaluator(evaluator), costs(problem), rest(rest),
      sizes(rest.sizes()), L(problem.numLayers()), G(problem.numDevices()),
      fastest(rest.links().speedPercent(1)), program(L, G, sizes) {}

std::optional<PathNs> PlanBound::afterStage(const BoundStage &stage,
                                            const PathNs &before,
                                            int64_t ns) const {
  const int64_t M = problem.microbatches;
  const int32_t r = sizes.most(stage.range), least = sizes.least(stage.range);
  const int64_t speed = rest.links().speedPercent(least),
                F = costs.forwardNs(stage.first, stage.end, r, speed),
                B = costs.backwardNs(stage.first, stage.end, r, speed);
  if (before.roundTrip + M * (F + B) > ns)
    return {};
  const int64_t below = rest.wayNs(stage.end, stage.range);
  // Too few devices are left for the later layers.
  if (below == infinite)
    return {};
  if (before.roundTrip + F + below + M * B > ns)
    return {};
  if (evaluator == PlanEvaluator::OneFOneB) {
    // This stage and later ones are at most `most`, so at most `most` forwards
    // precede the first backward.
    const int64_t most =
        std::min<int64_t>({M, L - stage.first, int64_t(G) - stage.used});
    if (before.roundTrip + F + below + M * B + (M - most) * F > ns ||
        before.roundTrip + (1 + (M - 1) / most) * (F + B + below) > ns)
      return {};
  }
  if (least > 1) {
    const int64_t allReduce = costs.allReduceNs(stage.first, stage.end, least,
                                                rest.links().within(least));
    if (before.forward + allReduce + M * B + F + std::max((M - 1) * F, below) >
        ns)
      return {};
  }
  const PathNs path = {before.roundTrip + F + B, before.forward + F};
  const int32_t left = G - stage.used - least;
  if (stage.end < L &&
      (left == 0 || path.roundTrip + M * rest.longestNs(stage.end, left) > ns))
    return {};
  return path;
}

std::optional<PathNs> PlanBound::afterMessage(int32_t layer, int32_t from,
                                              int32_t to, const PathNs &before,
                                              int64_t ns) const {
  const int64_t M = problem.microbatches,
                message = rest.messageNs(layer, from, to);
  if (message == infinite)
    return {};
  const int64_t channel =
      evaluator == PlanEvaluator::Spp
          ? before.roundTrip + 2 * M * message
          : before.roundTrip + rest.wayNs(layer, from) + (M - 1) * message;
  if (channel > ns)
    return {};
  return PathNs{before.roundTrip + 2 * message, before.forward + message};
}

bool PlanBound::isTooLong(const BoundStage &stage, const PathNs &before,
                          int64_t ns) const {
  const int64_t work = costs.forwardNs(stage.first, stage.end, 1, fastest) +
                       costs.backwardNs(stage.first, stage.end, 1, fastest),
                rounding = fastest == 100 ? 0 : 2;
  return before.roundTrip + problem.microbatches *
                                ((work - rounding) / sizes.most(stage.range)) >
         ns;
}

int64_t PlanBound::find(int64_t knownNs, const std::function<bool()> &isOver) {
  int64_t least = problem.microbatches * rest.longestNs(0, G);
  // With devices of different speeds: total work over total speed, as if no
  // device were ever idle.
  if (!problem.speedPercent.empty())
    least = std::max(
        least, static_cast<int64_t>(
                   double(problem.microbatches) *
                   double(costs.forwardNs(0, L) + costs.backwardNs(0, L)) /
                   rest.links().allDevices() * (1 - 1e-9)));
  // The bound is usually close to `knownNs`, so the bisection tries 3/4 of it
  // first.
  return program.find(*this, least, knownNs - knownNs / 4, knownNs, isOver);
}
