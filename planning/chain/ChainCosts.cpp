//===- ChainCosts.cpp - What a stage and a boundary cost ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/ChainCosts.h"

using namespace rondo;

GroupLink rondo::slower(const GroupLink &a, const GroupLink &b) {
  return {std::min(a.rate, b.rate), std::min(a.rateBack, b.rateBack),
          std::max(a.latencyNs, b.latencyNs)};
}

GroupLink rondo::linkBetween(const ChainProblem &problem, const int32_t *from,
                             int32_t fromCount, const int32_t *to,
                             int32_t toCount) {
  GroupLink link;
  for (const int32_t *u = from; u != from + fromCount; ++u)
    for (const int32_t *v = to; v != to + toCount; ++v)
      link = slower(link, {problem.rate(*u, *v), problem.rate(*v, *u),
                           problem.latencyNs(*u, *v)});
  return link;
}

GroupLink rondo::linkWithin(const ChainProblem &problem, const int32_t *devices,
                            int32_t count) {
  GroupLink link;
  for (int32_t i = 1; i < count; ++i)
    link = slower(link, linkBetween(problem, devices, i, devices + i, 1));
  link.rate = link.rateBack = std::min(link.rate, link.rateBack);
  return link;
}

ChainCosts::ChainCosts(const ChainProblem &problem)
    : stateMultiplier(problem.stateMultiplier),
      microbatches(problem.microbatches), sums(1) {
  for (const ChainLayer &layer : problem.layers) {
    const ChainLayer &before = sums.back();
    ChainLayer sum;
    sum.forwardNs = before.forwardNs + layer.forwardNs;
    sum.backwardNs = before.backwardNs + layer.backwardNs;
    sum.stashBytes = before.stashBytes + layer.stashBytes;
    sum.parameterBytes = before.parameterBytes + layer.parameterBytes;
    sum.outputBytes = layer.outputBytes;
    sums.push_back(std::move(sum));
  }
}
