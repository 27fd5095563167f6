//===- CutAgain.cpp - Another number of micro-batches ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/transforms/CutAgain.h"

#include "schedule/model/EdgeTable.h"
#include "schedule/transforms/Recomputed.h"

#include <algorithm>

using namespace rondo;

/// The next larger divisor of `samples` after `each`, a number of
/// micro-batches.
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
  if (problem.replicas.isReplicated() || hasRecomputation(problem))
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
    cut.replicas = Replicas();
    for (const Replica &replica : problem.replicas)
      cut.replicas.addStage(replica.rank, cut.samples);
  }
  // As __int128: figures may be close to 2^60.
  auto down = [&](int64_t figure) {
    return static_cast<int64_t>(__int128(figure) * before / each);
  };
  auto up = [&](int64_t figure) {
    return static_cast<int64_t>((__int128(figure) * before + each - 1) / each);
  };
  const EdgeTable table(problem);
  for (int32_t replica = 0; replica < cut.numReplicas(); ++replica) {
    for (const ActionTraits &traits : actionTable.rows) {
      if (!traits.isTask() || !traits.hasCost())
        continue;
      int64_t &ns = cut.cost(replica, traits.kind).ns;
      const int64_t host = problem.hosts.empty()
                               ? 0
                               : problem.hostNs(table, replica, traits.kind);
      ns = up(std::max<int64_t>(ns - host, 0)) + std::min(ns, host);
    }
    Cost &forward = cut.cost(replica, ActionKind::Forward);
    Cost &input = cut.cost(replica, ActionKind::InputGrad);
    Cost &weight = cut.cost(replica, ActionKind::WeightGrad);
    Cost &backward = cut.cost(replica, ActionKind::Backward);
    // The bytes by which the acquired sizes are rounded up are released at the
    // end.
    const int64_t rounded = up(forward.acquireBytes),
                  inputRounded = up(input.acquireBytes),
                  backwardRounded = up(backward.acquireBytes);
    const int64_t keptBySplit = forward.acquireBytes + input.acquireBytes -
                                input.releaseBytes - weight.releaseBytes,
                  keptByFused = forward.acquireBytes + backward.acquireBytes -
                                backward.releaseBytes;
    input.releaseBytes = down(input.releaseBytes);
    weight.releaseBytes = std::max<int64_t>(
        rounded + inputRounded - input.releaseBytes - up(keptBySplit), 0);
    backward.releaseBytes =
        std::max<int64_t>(rounded + backwardRounded - up(keptByFused), 0);
    input.acquireBytes = inputRounded;
    backward.acquireBytes = backwardRounded;
    forward.acquireBytes = rounded;
  }
  for (Edge &edge : cut.edges)
    edge.bytes = up(edge.bytes);
  if (std::optional<Fault> fault = cut.check())
    return std::move(*fault);
  return cut;
}
