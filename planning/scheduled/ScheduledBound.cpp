//===- ScheduledBound.cpp - No plan and no order takes less ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/scheduled/ScheduledBound.h"

#include "planning/scheduled/PlanProblem.h"

#include <algorithm>

using namespace rondo;

ScheduledBound::ScheduledBound(const ChainProblem &problem)
    : problem(problem), costs(problem), rest(problem, costs),
      sizes(rest.sizes()), L(problem.numLayers()), G(problem.numDevices()),
      K(sizes.count()), step(std::max(1, G / 256)),
      fastest(rest.links().speedPercent(1)), ways(at(L, G, K)) {
  if (G > 1) {
    latencyNs = rest.links().latencyAcross(1, 1);
    rate = rest.links().rateAcross(1, 1);
  }
  findWaysBehind();
}

int64_t ScheduledBound::occupancyNs(int32_t layer, int32_t from,
                                    int32_t to) const {
  // Bytes are cut at whole ones, so that a share may be one byte less.
  const int64_t bytes =
      costs.boundaryBytes(layer) / std::max(sizes.most(from), sizes.most(to));
  return static_cast<int64_t>((__int128(1000) * bytes + rate - 1) / rate);
}

int64_t ScheduledBound::sumNs(int32_t first, int32_t end, int32_t range) const {
  const int32_t r = sizes.least(range);
  if (r == 1)
    return 0;
  const BestLinks &links = rest.links();
  return sumOverLinksNs(
      r, costs.parameterBytes(first, end),
      {links.rateWithin(r), links.rateWithin(r), links.latencyWithin(r)});
}

void ScheduledBound::findWaysBehind() {
  behind.assign(static_cast<size_t>(L + 1) * K, never);
  // [first layer][range]: through a stage that begins there, and on.
  std::vector<int64_t> from(behind.size(), never);
  std::fill(behind.begin() + static_cast<std::ptrdiff_t>(L) * K, behind.end(),
            0);
  for (int32_t first = L - 1; first > 0; --first) {
    const size_t row = static_cast<size_t>(first) * K;
    for (int32_t k = 0; k < K; ++k)
      for (int32_t end = first + 1; end <= L; ++end)
        if (const int64_t on = wayBehindNs(end, k); on < never)
          from[row + k] = std::min(
              from[row + k],
              costs.forwardNs(first, end, sizes.most(k), fastest) +
                  costs.inputGradNs(first, end, sizes.most(k), fastest) + on);
    for (int32_t k = 0; k < K; ++k)
      for (int32_t other = 0; other < K; ++other)
        if (sizes.least(k) + sizes.least(other) <= G &&
            from[row + other] < never)
          behind[row + k] =
              std::min(behind[row + k],
                       2 * messageNs(first, k, other) + from[row + other]);
  }
}

/// Adds a stage to what is in front of it, unless no such plan takes `ns`.
void ScheduledBound::add(const Stage &stage, const Way &before, int64_t ns) {
  const int64_t M = problem.microbatches;
  const int32_t r = sizes.most(stage.range),
                used = stage.used + sizes.least(stage.range);
  const int64_t F = costs.forwardNs(stage.first, stage.end, r, fastest),
                B = costs.backwardNs(stage.first, stage.end, r, fastest),
                I = costs.inputGradNs(stage.first, stage.end, r, fastest);
  const int64_t below = wayBehindNs(stage.end, stage.range);
  if (below == never || (stage.end < L && used >= G))
    return;
  const int64_t sum = sumNs(stage.first, stage.end, stage.range);
  // The first B comes after the other F, or after the way behind.
  const int64_t own = F + std::max((M - 1) * F, below);
  if (before.there + own + M * B + sum > ns || before.both + own + M * I > ns)
    return;
  // The first stage's way back ends with W and the sum.
  const int64_t last = stage.first == 0 ? B + sum : I;
  Way &best = ways[at(stage.end, used, stage.range)];
  best.both = std::min(best.both, before.both + F + last);
  best.there = std::min(best.there, before.there + F);
}

/// Adds all stages behind a way that may follow.
void ScheduledBound::continueWay(int32_t layers, int32_t used, int32_t range,
                                 int64_t ns) {
  const Way way = ways[at(layers, used, range)];
  const int64_t M = problem.microbatches;
  if (way.both == never)
    return;
  for (int32_t k = 0; k < K && used + sizes.least(k) <= G; ++k) {
    const int64_t message = messageNs(layers, range, k);
    if (way.both + wayBehindNs(layers, range) +
            (M - 1) * occupancyNs(layers, range, k) >
        ns)
      continue;
    const Way before = {way.both + 2 * message, way.there + message};
    for (int32_t end = layers + 1; end <= L; ++end) {
      if (before.there +
              M * (costs.forwardNs(layers, end, sizes.most(k), fastest) +
                   costs.backwardNs(layers, end, sizes.most(k), fastest)) >
          ns)
        break;
      add({layers, end, k, used}, before, ns);
    }
  }
}

bool ScheduledBound::mayTake(int64_t ns, const std::function<bool()> &isOver) {
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
      if (ways[at(L, used, k)].both < never)
        return true;
  return false;
}

int64_t ScheduledBound::find(int64_t knownNs,
                             const std::function<bool()> &isOver) {
  int64_t least = problem.microbatches * rest.longestNs(0, G);
  if (least >= knownNs || !mayTake(knownNs - 1, isOver))
    return knownNs;
  // No plan takes less than `least`; some might take `most`.
  int64_t most = knownNs - 1;
  while (most - least > least / 1024 && !isOver()) {
    const int64_t middle = least + (most - least) / 2;
    if (mayTake(middle, isOver))
      most = middle;
    else
      least = middle + 1;
  }
  return least;
}
