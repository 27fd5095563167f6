//===- ScheduledBound.cpp - Bound of all plans and orders -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/scheduled/ScheduledBound.h"

#include <algorithm>

using namespace rondo;

ScheduledBound::ScheduledBound(const ChainProblem &problem)
    : problem(problem), costs(problem), rest(problem, costs),
      sizes(rest.sizes()), L(problem.numLayers()), G(problem.numDevices()),
      fastest(rest.links().speedPercent(1)), program(L, G, sizes) {
  if (G > 1) {
    latencyNs = rest.links().latencyAcross(1, 1);
    rate = rest.links().rateAcross(1, 1);
  }
  after = leastPaths(
      L, sizes,
      [&](int32_t first, int32_t end, int32_t range) {
        const int32_t r = sizes.most(range);
        return costs.forwardNs(first, end, r, fastest) +
               costs.inputGradNs(first, end, r, fastest);
      },
      [&](int32_t layer, int32_t from, int32_t to) {
        return sizes.least(from) + sizes.least(to) <= G
                   ? messageNs(layer, from, to)
                   : infinite;
      });
}

int64_t ScheduledBound::occupancyNs(int32_t layer, int32_t from,
                                    int32_t to) const {
  // Shares are whole bytes, so a share may be one byte less.
  const int64_t bytes =
      costs.boundaryBytes(layer) / std::max(sizes.most(from), sizes.most(to));
  return static_cast<int64_t>((__int128(1000) * bytes + rate - 1) / rate);
}

std::optional<PathNs> ScheduledBound::afterStage(const BoundStage &stage,
                                                 const PathNs &before,
                                                 int64_t ns) const {
  const int64_t M = problem.microbatches;
  const int32_t r = sizes.most(stage.range);
  const int64_t F = costs.forwardNs(stage.first, stage.end, r, fastest),
                B = costs.backwardNs(stage.first, stage.end, r, fastest),
                I = costs.inputGradNs(stage.first, stage.end, r, fastest);
  const int64_t below = pathAfterNs(stage.end, stage.range);
  if (below == infinite ||
      (stage.end < L && stage.used + sizes.least(stage.range) >= G))
    return {};
  int64_t sum = 0;
  if (const int32_t devices = sizes.least(stage.range); devices > 1) {
    const GroupLink within = rest.links().within(devices);
    sum = sumNs(costs.parameterBytes(stage.first, stage.end), devices,
                {within.latencyNs, within.rate});
  }
  // The stage works for M (F + B), and its M B begin after F and the path
  // through the later stages and back.
  const int64_t own = F + std::max((M - 1) * F, below);
  if (before.forward + own + M * B + sum > ns ||
      before.roundTrip + own + M * I > ns)
    return {};
  // The first stage's path back ends with W and the sum.
  const int64_t last = stage.first == 0 ? B + sum : I;
  return PathNs{before.roundTrip + F + last, before.forward + F};
}

std::optional<PathNs> ScheduledBound::afterMessage(int32_t layer, int32_t from,
                                                   int32_t to,
                                                   const PathNs &before,
                                                   int64_t ns) const {
  if (before.roundTrip + pathAfterNs(layer, from) +
          (problem.microbatches - 1) * occupancyNs(layer, from, to) >
      ns)
    return {};
  const int64_t message = messageNs(layer, from, to);
  return PathNs{before.roundTrip + 2 * message, before.forward + message};
}

bool ScheduledBound::isTooLong(const BoundStage &stage, const PathNs &before,
                               int64_t ns) const {
  const int32_t r = sizes.most(stage.range);
  return before.forward +
             problem.microbatches *
                 (costs.forwardNs(stage.first, stage.end, r, fastest) +
                  costs.backwardNs(stage.first, stage.end, r, fastest)) >
         ns;
}
