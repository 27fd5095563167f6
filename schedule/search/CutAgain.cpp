//===- CutAgain.cpp - Other micro-batches of the same samples -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/CutAgain.h"

#include "schedule/EdgeTable.h"
#include "schedule/Recomputed.h"

#include <algorithm>

using namespace rondo;

/// The next larger number of micro-batches that divides the samples.
static int64_t nextDivisor(int64_t samples, int64_t each) {
  for (int64_t larger = each + 1; larger < samples; ++larger)
    if (samples % larger == 0)
      return larger;
  return samples;
}

Result<Problem> rondo::cutAgain(const Problem &problem, int64_t each) {
  const int64_t before = problem.microbatchesEach();
  if (each == before)
    return problem;
  if (problem.homes.hasReplicas() || hasRecomputation(problem))
    return makeFault<FaultKind::NotCutAgain>(each, before);
  Problem cut = problem;
  if (each * problem.iterations > maxMicrobatches)
    return makeFault<FaultKind::SizeOutOfRange>("micro-batches")
        .withFigures(each * problem.iterations, maxMicrobatches);
  cut.microbatches = static_cast<int32_t>(each * problem.iterations);
  if (problem.statesSamples) {
    const int64_t samples = problem.samples * before;
    if (samples % each != 0)
      return makeFault<FaultKind::UnevenSamples>(samples, each,
                                                 nextDivisor(samples, each));
    cut.samples = static_cast<int32_t>(samples / each);
    cut.homes = Homes();
    for (const Home &home : problem.homes)
      cut.homes.addStage(home.rank, cut.samples);
  }
  // As __int128: a figure may be near 2^60.
  auto down = [&](int64_t figure) {
    return static_cast<int64_t>(__int128(figure) * before / each);
  };
  auto up = [&](int64_t figure) {
    return static_cast<int64_t>((__int128(figure) * before + each - 1) / each);
  };
  const EdgeTable table(problem);
  for (int32_t home = 0; home < cut.numHomes(); ++home) {
    for (const ActionTraits &traits : actionTable.rows) {
      if (!traits.isTask() || !traits.hasCost())
        continue;
      int64_t &ns = cut.cost(home, traits.kind).ns;
      const int64_t host =
          problem.hosts.empty() ? 0 : problem.hostNs(table, home, traits.kind);
      ns = up(std::max<int64_t>(ns - host, 0)) + std::min(ns, host);
    }
    Cost &forward = cut.cost(home, ActionKind::Forward);
    Cost &input = cut.cost(home, ActionKind::InputGrad);
    Cost &weight = cut.cost(home, ActionKind::WeightGrad);
    Cost &backward = cut.cost(home, ActionKind::Backward);
    // What is rounded up when it is taken is given back at the end.
    const int64_t rounded = up(forward.acquireBytes);
    const auto keeps = [&](int64_t released) {
      return forward.acquireBytes - released;
    };
    const int64_t keptBySplit = keeps(input.releaseBytes + weight.releaseBytes),
                  keptByFused = keeps(backward.releaseBytes);
    input.releaseBytes = down(input.releaseBytes);
    weight.releaseBytes =
        std::max<int64_t>(rounded - input.releaseBytes - up(keptBySplit), 0);
    backward.releaseBytes = std::max<int64_t>(rounded - up(keptByFused), 0);
    forward.acquireBytes = rounded;
  }
  for (Edge &edge : cut.edges)
    edge.bytes = up(edge.bytes);
  if (std::optional<Fault> fault = cut.check())
    return std::move(*fault);
  return cut;
}
