//===- PlannedCosts.cpp - Costs of replicas as a plan states them ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/PlannedCosts.h"

#include <algorithm>

using namespace rondo;

namespace {

/// The times for all samples of which each replica's is its share, rounded up.
struct Times {
  int64_t least = 0, most = maxSum;
};

Times timesOf(const Problem &problem, int32_t stage, ActionKind kind) {
  Times times;
  for (const Replica &replica : problem.replicas.of(stage)) {
    const int64_t ns =
        problem.cost(problem.replicas.numberOf(stage, replica.index), kind).ns;
    // Below 2^83.
    auto whole = [&](int64_t own) {
      return static_cast<int64_t>(std::min<__int128>(
          static_cast<__int128>(own) * problem.samples / replica.samples,
          maxSum));
    };
    times.least = std::max(times.least, ns == 0 ? 0 : whole(ns - 1) + 1);
    times.most = std::min(times.most, whole(ns));
  }
  return times;
}

/// Bytes of a micro-batch that a replica holds when its backward begins.
int64_t heldBytes(const Problem &problem, int32_t replica) {
  const Cost &again = problem.cost(replica, ActionKind::Recompute);
  return problem.cost(replica, ActionKind::Forward).acquireBytes +
         again.acquireBytes - again.releaseBytes;
}

/// Why what I and B take is not what a plan keeps from I to W; empty if it is.
std::string whyNotKept(const Problem &problem, int32_t replica) {
  const Cost &inputGrad = problem.cost(replica, ActionKind::InputGrad),
             &backward = problem.cost(replica, ActionKind::Backward);
  const std::string stage = std::to_string(problem.replicas[replica].stage);
  if (backward.acquireBytes != inputGrad.acquireBytes)
    return "I of stage " + stage + " takes " +
           std::to_string(inputGrad.acquireBytes) + " bytes, its B " +
           std::to_string(backward.acquireBytes) +
           "; in a plan, both take the same";
  const int64_t held = heldBytes(problem, replica);
  if (inputGrad.releaseBytes > held)
    return "I of stage " + stage + " frees " +
           std::to_string(inputGrad.releaseBytes) + " bytes, of which F took " +
           std::to_string(held) + "; in a plan, W frees what I takes";
  return "";
}

} // namespace

WholeCosts rondo::wholeCosts(const Problem &problem, int32_t stage) {
  WholeCosts whole;
  for (const Replica &replica : problem.replicas.of(stage)) {
    // Together, the replicas that take one micro-batch take all samples.
    if (!replica.takes(0))
      continue;
    const int32_t number = problem.replicas.numberOf(stage, replica.index);
    const Cost &again = problem.cost(number, ActionKind::Recompute);
    whole.recomputedBytes += again.acquireBytes;
    whole.checkpointBytes += again.releaseBytes;
    whole.activationBytes += heldBytes(problem, number);
    whole.freedBytes +=
        problem.cost(number, ActionKind::InputGrad).releaseBytes;
    whole.keptBytes += problem.cost(number, ActionKind::InputGrad).acquireBytes;
  }
  whole.stepNs =
      problem.cost(problem.replicas.numberOf(stage), ActionKind::Step).ns;
  whole.forwardNs = timesOf(problem, stage, ActionKind::Forward).most;
  whole.recomputeNs = timesOf(problem, stage, ActionKind::Recompute).most;
  const Times inputGrad = timesOf(problem, stage, ActionKind::InputGrad),
              weightGrad = timesOf(problem, stage, ActionKind::WeightGrad),
              both = timesOf(problem, stage, ActionKind::Backward);
  // I and W take as long as B together.
  const int64_t sum = std::min(both.most, inputGrad.most + weightGrad.most);
  whole.weightGradNs = std::max(weightGrad.least, sum - inputGrad.most);
  whole.inputGradNs = sum - whole.weightGradNs;
  return whole;
}

std::string rondo::whyNoCosts(const Problem &problem, int32_t stage) {
  const ReplicaRange replicas = problem.replicas.of(stage);
  for (const Replica &replica : replicas)
    if (std::string why = whyNotKept(
            problem, problem.replicas.numberOf(stage, replica.index));
        !why.empty())
      return why;
  if (replicas.size() == 1) {
    auto ns = [&](ActionKind kind) {
      return problem.cost(problem.replicas.numberOf(stage), kind).ns;
    };
    const int64_t split =
        ns(ActionKind::InputGrad) + ns(ActionKind::WeightGrad);
    if (ns(ActionKind::Backward) == split)
      return "";
    return "B of stage " + std::to_string(stage) + " takes " +
           std::to_string(ns(ActionKind::Backward)) +
           " ns, its I and W together " + std::to_string(split) +
           "; in a plan, B takes as long as I and W together";
  }
  Problem planned = problem;
  const WholeCosts whole = wholeCosts(problem, stage);
  planned.setStageCost(stage, whole.forwardNs, whole.inputGradNs,
                       whole.weightGradNs, whole.activationBytes,
                       whole.freedBytes);
  planned.keepForWeightGrad(stage, whole.keptBytes);
  if (problem.recomputes(problem.replicas.numberOf(stage)))
    planned.setRecomputation(stage, Recomputation::FromCheckpoint,
                             whole.recomputeNs, whole.recomputedBytes,
                             whole.checkpointBytes);
  for (const Replica &replica : replicas) {
    const int32_t number = problem.replicas.numberOf(stage, replica.index);
    for (ActionKind kind :
         {ActionKind::Forward, ActionKind::InputGrad, ActionKind::WeightGrad,
          ActionKind::Backward, ActionKind::Recompute}) {
      const Cost &own = problem.cost(number, kind),
                 &made = planned.cost(number, kind);
      if (own.ns == made.ns && own.acquireBytes == made.acquireBytes &&
          own.releaseBytes == made.releaseBytes)
        continue;
      return std::string(1, traitsOf(kind).letter) + " of stage " +
             std::to_string(stage) + " takes " + std::to_string(own.ns) +
             " ns and " + std::to_string(own.acquireBytes) + " bytes on rank " +
             std::to_string(replica.rank) + ", its share of " +
             std::to_string(replica.samples) + " in " +
             std::to_string(problem.samples) + " samples " +
             std::to_string(made.ns) + " ns and " +
             std::to_string(made.acquireBytes) +
             " bytes; in a plan, what replicas take is in proportion to their "
             "samples";
    }
    if (problem.cost(number, ActionKind::Step).ns != whole.stepNs)
      return "steps of the replicas of stage " + std::to_string(stage) +
             " take different times; in a plan, they take the same";
  }
  return "";
}

std::optional<StageCopies> rondo::wholeCopies(const Problem &problem,
                                              int32_t stage) {
  StageCopies copies;
  for (const Replica &replica : problem.replicas.of(stage)) {
    const int32_t number = problem.replicas.numberOf(stage, replica.index);
    if (!problem.hostMemory.mayCopy(number))
      return std::nullopt;
    copies.before = *problem.hostMemory.loads[number];
    const int64_t bytes = problem.cost(number, ActionKind::Load).acquireBytes;
    copies.bytes = replica.isRoundRobin() ? bytes : copies.bytes + bytes;
  }
  return copies;
}
