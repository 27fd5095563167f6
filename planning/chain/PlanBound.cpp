//===- PlanBound.cpp - No plan takes less ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/PlanBound.h"

#include <algorithm>

using namespace rondo;

static constexpr int64_t never = PlanTimer::never;

PlanBound::PlanBound(const ChainProblem &problem, PlanEvaluator evaluator)
    : problem(problem), evaluator(evaluator), costs(problem),
      rest(problem, costs), L(problem.numLayers()), G(problem.numDevices()),
      ways(at(L, G, G) + 1) {}

/// Whether a stage may follow `before` in a plan that takes `ns`; `way` is then
/// the way to the end of it.
bool PlanBound::mayAdd(const Stage &stage, const Way &before, int64_t ns,
                       Way &way) const {
  const int64_t M = problem.microbatches;
  const int32_t r = stage.devices;
  const int64_t F = costs.forwardNs(stage.first, stage.end, r),
                B = costs.backwardNs(stage.first, stage.end, r);
  if (before.both + M * (F + B) > ns)
    return false;
  const int64_t below = rest.wayNs(stage.end, r);
  // No plan continues with so many devices in use.
  if (below == never)
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
  if (r > 1) {
    const BestLinks &links = rest.links();
    const GroupLink best = {links.rateWithin(r), links.rateWithin(r),
                            links.latencyWithin(r)};
    const int64_t allReduce =
        costs.allReduceNs(stage.first, stage.end, r, best);
    if (before.there + allReduce + M * B + F + std::max((M - 1) * F, below) >
        ns)
      return false;
  }
  way = {before.both + F + B, before.there + F, before.back + B};
  return true;
}

bool PlanBound::mayTake(int64_t ns) {
  std::fill(ways.begin(), ways.end(), Way());
  const int64_t M = problem.microbatches;
  auto add = [&](const Stage &stage, const Way &before) {
    Way way;
    if (!mayAdd(stage, before, ns, way))
      return;
    // What is left takes its share of the devices that are left.
    const int32_t used = stage.used + stage.devices;
    if (stage.end < L &&
        (used == G || way.both + M * rest.longestNs(stage.end, G - used) > ns))
      return;
    Way &best = ways[at(stage.end, used, stage.devices)];
    best = {std::min(best.both, way.both), std::min(best.there, way.there),
            std::min(best.back, way.back)};
  };
  for (int32_t r = 1; r <= G; ++r)
    for (int32_t end = 1; end <= L; ++end)
      add({0, end, r, 0}, {0, 0, 0});
  for (int32_t layers = 1; layers < L; ++layers)
    for (int32_t used = 1; used < G; ++used)
      for (int32_t r = 1; r <= used; ++r) {
        const Way &way = ways[at(layers, used, r)];
        if (way.both == never)
          continue;
        for (int32_t other = 1; used + other <= G; ++other) {
          const int64_t message = rest.messageNs(layers, r, other);
          const Way before = {way.both + 2 * message, way.there + message,
                              way.back + message};
          const int64_t channel =
              evaluator == PlanEvaluator::Spp
                  ? way.both + 2 * M * message
                  : way.both + rest.wayNs(layers, r) + (M - 1) * message;
          if (channel > ns)
            continue;
          for (int32_t end = layers + 1; end <= L; ++end) {
            const int64_t work =
                costs.forwardNs(layers, end) + costs.backwardNs(layers, end);
            if (before.both + M * (work / other) > ns)
              break;
            add({layers, end, other, used}, before);
          }
        }
      }
  for (int32_t used = 1; used <= G; ++used)
    for (int32_t r = 1; r <= used; ++r)
      if (ways[at(L, used, r)].both < never)
        return true;
  return false;
}

int64_t PlanBound::find(int64_t knownNs, const std::function<bool()> &isOver) {
  int64_t least = problem.microbatches * rest.longestNs(0, G);
  if (least >= knownNs)
    return knownNs;
  if (!mayTake(knownNs - 1))
    return knownNs;
  // No plan takes less than `least`; some might take `most`.
  int64_t most = knownNs - 1;
  while (most - least > least / 1024 && !isOver()) {
    // A bound is mostly near the known time.
    const int64_t near = knownNs - knownNs / 4,
                  middle = least < near && near < most
                               ? near
                               : least + (most - least) / 2;
    if (mayTake(middle))
      most = middle;
    else
      least = middle + 1;
  }
  return least;
}
