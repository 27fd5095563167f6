//===- PlanBound.cpp - No plan takes less ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/PlanBound.h"

#include <algorithm>

using namespace rondo;

PlanBound::PlanBound(const ChainProblem &problem, PlanEvaluator evaluator,
                     const CostToGo &rest)
    : problem(problem), evaluator(evaluator), costs(problem), rest(rest),
      sizes(rest.sizes()), L(problem.numLayers()), G(problem.numDevices()),
      K(sizes.count()), step(std::max(1, G / 256)), ways(at(L, G, K)) {}

/// Whether a stage may follow `before` in a plan that takes `ns`; `way` is then
/// the way to the end of it.
bool PlanBound::mayAdd(const Stage &stage, const Way &before, int64_t ns,
                       Way &way) const {
  const int64_t M = problem.microbatches;
  const int32_t r = sizes.most(stage.range), least = sizes.least(stage.range);
  const int64_t speed = rest.links().speedPercent(least),
                F = costs.forwardNs(stage.first, stage.end, r, speed),
                B = costs.backwardNs(stage.first, stage.end, r, speed);
  if (before.both + M * (F + B) > ns)
    return false;
  const int64_t below = rest.wayNs(stage.end, stage.range);
  // No plan continues with so many devices in use.
  if (below == PlanTimer::never)
    return false;
  if (before.both + F + below + M * B > ns)
    return false;
  if (evaluator == PlanEvaluator::OneFOneB) {
    // More stages than these cannot follow, so no more forwards precede the
    // first backward.
    const int64_t most =
        std::min<int64_t>({M, L - stage.first, int64_t(G) - stage.used});
    if (before.both + F + below + M * B + (M - most) * F > ns ||
        before.both + (1 + (M - 1) / most) * (F + B + below) > ns)
      return false;
  }
  if (least > 1) {
    const BestLinks &links = rest.links();
    const GroupLink best = {links.rateWithin(least), links.rateWithin(least),
                            links.latencyWithin(least)};
    const int64_t allReduce =
        costs.allReduceNs(stage.first, stage.end, least, best);
    if (before.there + allReduce + M * B + F + std::max((M - 1) * F, below) >
        ns)
      return false;
  }
  way = {before.both + F + B, before.there + F};
  return true;
}

void PlanBound::add(const Stage &stage, const Way &before, int64_t ns) {
  Way way;
  if (!mayAdd(stage, before, ns, way))
    return;
  const int32_t used = stage.used + sizes.least(stage.range), left = G - used;
  if (stage.end < L &&
      (left == 0 ||
       way.both + problem.microbatches * rest.longestNs(stage.end, left) > ns))
    return;
  Way &best = ways[at(stage.end, used, stage.range)];
  best = {std::min(best.both, way.both), std::min(best.there, way.there)};
}

/// Adds all stages behind a way that may follow.
void PlanBound::continueWay(int32_t layers, int32_t used, int32_t range,
                            int64_t ns) {
  const Way way = ways[at(layers, used, range)];
  const int64_t M = problem.microbatches;
  if (way.both == PlanTimer::never)
    return;
  for (int32_t k = 0; k < K && used + sizes.least(k) <= G; ++k) {
    const int64_t message = rest.messageNs(layers, range, k);
    if (message == PlanTimer::never)
      return;
    // What rounding adds to work on the fastest device.
    const int64_t fastest = rest.links().speedPercent(1),
                  rounded = fastest == 100 ? 0 : 2;
    const Way before = {way.both + 2 * message, way.there + message};
    const int64_t channel =
        evaluator == PlanEvaluator::Spp
            ? way.both + 2 * M * message
            : way.both + rest.wayNs(layers, range) + (M - 1) * message;
    if (channel > ns)
      continue;
    for (int32_t end = layers + 1; end <= L; ++end) {
      const int64_t work = costs.forwardNs(layers, end, 1, fastest) +
                           costs.backwardNs(layers, end, 1, fastest);
      if (before.both + M * ((work - rounded) / sizes.most(k)) > ns)
        break;
      add({layers, end, k, used}, before, ns);
    }
  }
}

bool PlanBound::mayTake(int64_t ns, const std::function<bool()> &isOver) {
  std::fill(ways.begin(), ways.end(), Way());
  for (int32_t k = 0; k < K; ++k)
    for (int32_t end = 1; end <= L; ++end)
      add({0, end, k, 0}, {0, 0}, ns);
  for (int32_t layers = 1; layers < L; ++layers)
    for (int32_t used = 0; used <= G; used += step) {
      if (isOver())
        return true;
      for (int32_t k = 0; k < K; ++k)
        continueWay(layers, used, k, ns);
    }
  for (int32_t used = 0; used <= G; used += step)
    for (int32_t k = 0; k < K; ++k)
      if (ways[at(L, used, k)].both < PlanTimer::never)
        return true;
  return false;
}

int64_t PlanBound::find(int64_t knownNs, const std::function<bool()> &isOver) {
  int64_t least = problem.microbatches * rest.longestNs(0, G);
  // Devices of all speeds at work throughout.
  if (!problem.speedPercent.empty())
    least = std::max(
        least, static_cast<int64_t>(
                   double(problem.microbatches) *
                   double(costs.forwardNs(0, L) + costs.backwardNs(0, L)) /
                   rest.links().allDevices() * (1 - 1e-9)));
  if (least >= knownNs)
    return knownNs;
  if (!mayTake(knownNs - 1, isOver))
    return knownNs;
  // No plan takes less than `least`; some might take `most`.
  int64_t most = knownNs - 1;
  while (most - least > least / 1024 && !isOver()) {
    // A bound is mostly near the known time.
    const int64_t near = knownNs - knownNs / 4,
                  middle = least < near && near < most
                               ? near
                               : least + (most - least) / 2;
    if (mayTake(middle, isOver))
      most = middle;
    else
      least = middle + 1;
  }
  return least;
}
