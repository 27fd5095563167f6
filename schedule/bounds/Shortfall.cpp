//===- Shortfall.cpp - Memory that every schedule needs -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/Shortfall.h"

#include "schedule/partial/FlatProblem.h"

#include <algorithm>

using namespace rondo;

/// Whether a replica takes the micro-batch. If micro-batches are equal, the
/// first stands for all.
static bool takes(const Problem &problem, int32_t replica, int64_t microbatch) {
  return problem.unevenCosts.empty() ||
         problem.replicas[replica].takes(microbatch);
}

/// Bytes that I or B takes, whichever takes less.
static int64_t takenByBackward(const Problem &problem, int32_t replica,
                               int64_t microbatch) {
  return std::min(
      problem.cost(replica, ActionKind::InputGrad, microbatch).acquireBytes,
      problem.cost(replica, ActionKind::Backward, microbatch).acquireBytes);
}

/// Bytes that a replica may have on the host while a task of `kind` runs.
static int64_t awayDuring(const Problem &problem, int32_t replica,
                          ActionKind kind, int64_t microbatch) {
  return problem.hostMemory.mayCopy(replica) &&
                 !(problem.neededFor(replica, kind) & loadDone)
             ? problem.cost(replica, ActionKind::Save, microbatch).releaseBytes
             : 0;
}

/// The element-wise maximum of `ofMicrobatch` over micro-batches that differ.
static std::vector<int64_t>
largestOf(const Problem &problem,
          std::vector<int64_t> (*ofMicrobatch)(const Problem &, int64_t)) {
  std::vector<int64_t> most = ofMicrobatch(problem, 0);
  for (int64_t i = 1; !problem.unevenCosts.empty() && i < problem.microbatches;
       ++i) {
    const std::vector<int64_t> own = ofMicrobatch(problem, i);
    for (size_t rank = 0; rank < most.size(); ++rank)
      most[rank] = std::max(most[rank], own[rank]);
  }
  return most;
}

static std::vector<int64_t> leastBytesOf(const Problem &problem,
                                         int64_t microbatch) {
  std::vector<int64_t> least(problem.numRanks()), again(problem.numRanks());
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    if (!takes(problem, replica, microbatch))
      continue;
    const int32_t rank = problem.rankOf(replica);
    least[rank] +=
        problem.cost(replica, ActionKind::Forward, microbatch).acquireBytes;
    // The backwards of a micro-batch run one after the other.
    again[rank] =
        std::max(again[rank],
                 takenByBackward(problem, replica, microbatch) +
                     problem.cost(replica, ActionKind::Recompute, microbatch)
                         .acquireBytes);
  }
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    least[rank] += again[rank];
  return least;
}

static std::vector<int64_t> neededBytesOf(const Problem &problem,
                                          int64_t microbatch) {
  std::vector<int64_t> needed(problem.numRanks());
  // A replica still holds the bytes of F when its R takes its own, except for
  // those on the host.
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    if (!takes(problem, replica, microbatch))
      continue;
    int64_t &bytes = needed[problem.rankOf(replica)];
    const Cost &again =
        problem.cost(replica, ActionKind::Recompute, microbatch);
    const int64_t forward =
        problem.cost(replica, ActionKind::Forward, microbatch).acquireBytes;
    const int64_t taken = forward + again.acquireBytes;
    bytes = std::max(
        {bytes, forward,
         taken -
             awayDuring(problem, replica, ActionKind::Recompute, microbatch),
         taken - again.releaseBytes +
             takenByBackward(problem, replica, microbatch) -
             awayDuring(problem, replica, ActionKind::InputGrad, microbatch)});
  }
  // If micro-batches are assigned to replicas, a rank's replicas may never hold
  // the same micro-batch.
  if (problem.replicas.areRoundRobin() || !isSingleEnded(problem))
    return needed;
  // The last F of a rank's micro-batch holds all that it takes; what the others
  // have taken may be on the host.
  std::vector<int64_t> all(problem.numRanks()),
      leastAway(problem.numRanks(), infinite);
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    const int32_t rank = problem.rankOf(replica);
    const int64_t away =
        awayDuring(problem, replica, ActionKind::Forward, microbatch);
    all[rank] +=
        problem.cost(replica, ActionKind::Forward, microbatch).acquireBytes -
        away;
    leastAway[rank] = std::min(leastAway[rank], away);
  }
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    if (leastAway[rank] < infinite)
      needed[rank] = std::max(needed[rank], all[rank] + leastAway[rank]);
  return needed;
}

std::vector<int64_t> rondo::leastActivationBytes(const Problem &problem) {
  return largestOf(problem, leastBytesOf);
}

std::vector<int64_t> rondo::neededActivationBytes(const Problem &problem) {
  return largestOf(problem, neededBytesOf);
}

namespace {

/// The memory that a rank needs and has, in bytes.
struct Need {
  int64_t activations = 0, state = 0, has = 0;

  int64_t missing() const { return activations + state - has; }
};

} // namespace

/// The number of parts into which a micro-batch of `samples` samples (0:
/// unknown) would have to be divided to fit; 0 if no size fits. Assumes
/// activations proportional to the size. Does not check that the size divides
/// the batch.
static int64_t partsThatFit(const Need &need, int64_t samples) {
  const int64_t room = need.has - need.state;
  if (room <= 0)
    return 0;
  const int64_t parts = (need.activations + room - 1) / room;
  return samples > 0 && parts > samples ? 0 : parts;
}

static Fault faultOf(int32_t rank, const Need &need, int64_t samples,
                     int64_t others) {
  const int64_t parts = partsThatFit(need, samples);
  Fault fault = need.state == 0
                    ? makeFault<FaultKind::ShortOfMemory>(parts, others)
                    : makeFault<FaultKind::ShortOfDevice>(
                          parts, others, need.state, need.activations);
  return std::move(fault).withRank(rank).withFigures(
      need.activations + need.state, need.has);
}

std::optional<Fault> rondo::findShortfall(const Problem &problem) {
  const std::vector<int64_t> least = neededActivationBytes(problem);
  int32_t worst = -1;
  Need needOfWorst;
  int64_t numShort = 0;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    Need need{least[rank], 0, problem.memoryCaps[rank]};
    if (need.has == noMemoryCap)
      continue;
    if (!problem.devices.empty()) {
      need.state = problem.devices[rank].stateBytes;
      need.has = problem.devices[rank].deviceBytes;
    }
    if (need.missing() <= 0)
      continue;
    ++numShort;
    if (worst >= 0 && need.missing() <= needOfWorst.missing())
      continue;
    worst = rank;
    needOfWorst = need;
  }
  if (worst < 0)
    return std::nullopt;
  return faultOf(worst, needOfWorst,
                 problem.statesSamples ? problem.samples : 0, numShort - 1);
}

bool rondo::isShortfall(const Fault &fault) {
  return fault.kind == FaultKind::ShortOfMemory ||
         fault.kind == FaultKind::ShortOfDevice;
}
