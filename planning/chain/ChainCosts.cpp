//===- ChainCosts.cpp - Costs of a stage and a boundary -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/ChainCosts.h"

using namespace rondo;

GroupLink rondo::slower(const GroupLink &a, const GroupLink &b) {
  return {std::min(a.rate, b.rate), std::min(a.rateBack, b.rateBack),
          std::max(a.latencyNs, b.latencyNs), std::max(a.inTurn, b.inTurn)};
}

/// Computes GroupLink::inTurn of two sets of devices.
static int64_t mostInTurn(const ChainProblem &problem, const int32_t *from,
                          int32_t fromCount, const int32_t *to,
                          int32_t toCount) {
  if (problem.nicOf.empty())
    return 1;
  auto countsOf = [&](const std::vector<int32_t> &placeOf, int32_t place) {
    auto count = [&](const int32_t *devices, int32_t number) {
      return std::count_if(devices, devices + number, [&](int32_t device) {
        return placeOf[device] == place;
      });
    };
    return GroupCounts{count(from, fromCount), count(to, toCount)};
  };
  int64_t most = 1;
  for (const auto &[devices, count] :
       {std::pair(from, fromCount), std::pair(to, toCount)})
    for (const int32_t *device = devices; device != devices + count; ++device)
      if (const int32_t nic = problem.nicOf[*device]; nic >= 0)
        most = std::max(most, piecesInTurn(countsOf(problem.nicOf, nic),
                                           countsOf(problem.nodeOf,
                                                    problem.nodeOf[*device]),
                                           {fromCount, toCount}));
  return most;
}

GroupLink rondo::linkBetween(const ChainProblem &problem, const int32_t *from,
                             int32_t fromCount, const int32_t *to,
                             int32_t toCount) {
  GroupLink link;
  for (const int32_t *u = from; u != from + fromCount; ++u)
    for (const int32_t *v = to; v != to + toCount; ++v)
      link = slower(link, {problem.rate(*u, *v), problem.rate(*v, *u),
                           problem.latencyNs(*u, *v)});
  link.inTurn = mostInTurn(problem, from, fromCount, to, toCount);
  return link;
}

GroupLink rondo::linkWithin(const ChainProblem &problem, const int32_t *devices,
                            int32_t count) {
  GroupLink link;
  for (int32_t i = 1; i < count; ++i)
    link = slower(link, linkBetween(problem, devices, i, devices + i, 1));
  link.rate = link.rateBack = std::min(link.rate, link.rateBack);
  link.inTurn = 1;
  return link;
}

GroupDevice rondo::weakestOf(const ChainProblem &problem,
                             const int32_t *devices, int32_t count) {
  GroupDevice weakest = deviceOf(problem, devices[0]);
  for (int32_t k = 1; k < count && problem.hasUnequalDevices(); ++k)
    weakest = weaker(weakest, deviceOf(problem, devices[k]));
  return weakest;
}

ChainCosts::ChainCosts(const ChainProblem &problem)
    : samples(problem.samples), microbatches(problem.microbatches), sums(1) {
  for (const ChainLayer &layer : problem.layers) {
    const ChainLayer &before = sums.back();
    ChainLayer sum;
    sum.forwardNs = before.forwardNs + layer.forwardNs;
    sum.backwardNs = before.backwardNs + layer.backwardNs;
    sum.weightGradNs = before.weightGradNs + layer.weightGradNs;
    sum.stashBytes = before.stashBytes + layer.stashBytes;
    sum.workingBytes = before.workingBytes + layer.workingBytes;
    sum.parameterBytes = before.parameterBytes + layer.parameterBytes;
    sum.stateBytes = before.stateBytes + layer.stateBytes;
    sum.outputBytes = layer.outputBytes;
    sums.push_back(std::move(sum));
  }
}

std::optional<int64_t> ChainCosts::devicesFor(int32_t first, int32_t end,
                                              int32_t behind,
                                              int64_t bytes) const {
  auto fit = [&](int64_t devices) {
    return memoryBytes(first, end, static_cast<int32_t>(devices), behind) <=
           bytes;
  };
  int64_t most = samples == 0 ? std::numeric_limits<int32_t>::max() : samples;
  if (!fit(most))
    return {};
  // First guess: the number without rounding.
  const int64_t free = bytes - stateBytes(first, end);
  const __int128 divided =
      __int128(std::min(microbatches, behind + 1)) * stashOf(first, end) +
      workingBytes(first, end);
  int64_t least = 1;
  if (divided > 0)
    least = std::min(most, ceilDivided(divided, free));
  if (fit(least))
    return least;
  while (most - least > 1) {
    const int64_t middle = least + (most - least) / 2;
    (fit(middle) ? most : least) = middle;
  }
  return most;
}
