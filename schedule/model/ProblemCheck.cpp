//===- ProblemCheck.cpp - Validation of problems --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Problem::check() and checkIterations(): one function per part of the problem.
//
//===----------------------------------------------------------------------===//

#include "schedule/model/CopyCheck.h"
#include "schedule/model/Problem.h"

#include <algorithm>
#include <tuple>

using namespace rondo;

std::optional<Fault> rondo::checkIterations(const Problem &problem) {
  if (problem.iterations < 1 ||
      problem.microbatches % problem.iterations != 0) {
    return makeFault<FaultKind::UnevenIterations>(problem.microbatches,
                                                  problem.iterations);
  }
  for (const Replica &replica : problem.replicas)
    if (problem.iterations > 1 &&
        problem.microbatchesEach() % replica.turns != 0)
      return makeFault<FaultKind::RoundRobinIterations>(
          replica.stage, problem.iterations, problem.microbatchesEach(),
          replica.turns);
  if (!problem.versions.empty() &&
      problem.versions.size() != size_t(problem.numStages()))
    return makeFault<FaultKind::PolicyCount>(problem.versions.size(),
                                             problem.numStages());
  for (int32_t stage = 0; stage < problem.numStages(); ++stage) {
    const VersionPolicy policy = problem.policyOf(stage);
    if (policy.activations == BackwardActivations::Stashed &&
        policy.backward != BackwardWeights::Stashed)
      return makeFault<FaultKind::StashedActivations>(stage,
                                                      wordOf(policy.backward));
    if (policy.activations == BackwardActivations::Extrapolated &&
        policy.backward != BackwardWeights::Extrapolated)
      return makeFault<FaultKind::ExtrapolatedActivations>(
          stage, wordOf(policy.backward));
    if (policy.maxDelay < 0)
      return makeFault<FaultKind::DelayBelowZero>(stage).withFigures(
          policy.maxDelay, 0);
  }
  return std::nullopt;
}

namespace {

/// A sum of non-negative products that saturates at `most`.
class BoundedSum {
public:
  explicit BoundedSum(int64_t most) : most(most) {}

  void add(int64_t value, int64_t times) {
    if (times != 0 && value > (most - sum) / times)
      sum = most;
    else
      sum += value * times;
  }
  bool tooLarge() const { return sum >= most; }

private:
  int64_t most, sum = 0;
};

using Found = std::optional<Fault>;

/// A fault of a figure `found` that is beyond its limit `allowed`.
template <FaultKind kind, typename... Parts>
Fault figureFault(int64_t found, int64_t allowed, const Parts &...parts) {
  return makeFault<kind>(parts...).withFigures(found, allowed);
}

Found checkSize(const char *what, int64_t found, int64_t most) {
  if (found >= 1 && found <= most)
    return std::nullopt;
  return figureFault<FaultKind::SizeOutOfRange>(found, most, what);
}

Found checkSizes(const Problem &problem) {
  if (Found fault = checkSize("ranks", problem.memoryCaps.size(), maxRanks))
    return fault;
  if (Found fault = checkSize("stages", problem.numStages(), maxStages))
    return fault;
  if (Found fault =
          checkSize("micro-batches", problem.microbatches, maxMicrobatches))
    return fault;
  if (Found fault = checkSize("replicas", problem.numReplicas(), maxReplicas))
    return fault;
  const int64_t tasks = int64_t(problem.numReplicas()) * problem.microbatches;
  if (tasks > maxTasksOfKind)
    return figureFault<FaultKind::TooManyTasks>(
        tasks, maxTasksOfKind, problem.numReplicas(), problem.microbatches);
  const int64_t edges = static_cast<int64_t>(problem.edges.size());
  if (edges > maxEdges)
    return figureFault<FaultKind::TooManyEdges>(edges, maxEdges);
  if (edges * problem.microbatches > maxMessages)
    return figureFault<FaultKind::TooManyMessages>(
        edges * problem.microbatches, maxMessages, edges, problem.microbatches);
  return std::nullopt;
}

Found checkPlaces(const Problem &problem) {
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    if (problem.memoryCaps[r] < 0)
      return figureFault<FaultKind::MemoryBelowZero>(problem.memoryCaps[r], 0)
          .withRank(r);
  for (const Replica &replica : problem.replicas)
    if (replica.rank < 0 || replica.rank >= problem.numRanks())
      return makeFault<FaultKind::ReplicaOnNoRank>(replica.stage, replica.rank,
                                                   problem.numRanks() - 1);
  std::vector<int32_t> replicaOnRank(problem.numRanks(), -1);
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const ReplicaRange replicas = problem.replicas.of(s);
    if (replicas.size() == 0)
      return makeFault<FaultKind::NoReplica>(s);
    if (replicas.begin()->isRoundRobin() &&
        replicas.size() > problem.microbatches)
      return makeFault<FaultKind::RoundRobinToNone>(s, replicas.size(),
                                                    problem.microbatches);
    int64_t samples = 0;
    for (const Replica &replica : replicas) {
      const int32_t number = problem.replicas.numberOf(s, replica.index);
      int32_t &there = replicaOnRank[replica.rank];
      if (there >= 0 && problem.replicas[there].stage == s)
        return makeFault<FaultKind::RankTwice>(s, replica.rank);
      there = number;
      if (replica.samples < 1)
        return makeFault<FaultKind::NoSamples>(s, replica.rank,
                                               replica.samples);
      samples =
          replica.isRoundRobin() ? replica.samples : samples + replica.samples;
    }
    if (samples != problem.samples)
      return makeFault<FaultKind::SharesSum>(s, samples, problem.samples);
  }
  return std::nullopt;
}

/// A fault of the cost of a task.
template <FaultKind kind>
Fault costFault(Action task, int64_t found, int64_t allowed = 0) {
  return figureFault<kind>(found, allowed).withAction(task);
}

/// Micro-batches whose costs are checked: one, unless they differ.
int64_t numDifferent(const Problem &problem) {
  return problem.unevenCosts.empty() ? 1 : problem.microbatches;
}

/// Checks that the bytes held by a micro-batch never become negative when
/// `kinds` run in this order.
Found checkReleases(const Problem &problem, int32_t replica, int64_t microbatch,
                    std::initializer_list<ActionKind> kinds) {
  BoundedSum taken(maxSum);
  int64_t held = 0;
  for (ActionKind kind : kinds) {
    const Cost &cost = problem.cost(replica, kind, microbatch);
    const Action task(kind, replica, microbatch);
    taken.add(cost.acquireBytes, 1);
    if (taken.tooLarge())
      return makeFault<FaultKind::TakesTooMuch>(
          problem.replicas[replica].stage);
    held += cost.acquireBytes;
    if (cost.releaseBytes < 0)
      return costFault<FaultKind::ReleaseBelowZero>(task, cost.releaseBytes);
    if (cost.releaseBytes > held)
      return costFault<FaultKind::ReleasesMore>(task, cost.releaseBytes, held);
    held -= cost.releaseBytes;
  }
  return std::nullopt;
}

/// Checks the costs of a replica's actions for one micro-batch.
Found checkCostsOf(const Problem &problem, int32_t h, int64_t microbatch) {
  for (const ActionTraits &traits : actionTable.rows) {
    if (!traits.hasCost())
      continue;
    const Cost &cost = problem.cost(h, traits.kind, microbatch);
    const Action action(traits.kind, h, microbatch);
    if (cost.ns < 0)
      return costFault<FaultKind::TimeBelowZero>(action, cost.ns);
    if (cost.acquireBytes < 0)
      return costFault<FaultKind::BytesBelowZero>(action, cost.acquireBytes);
    const bool isUnused =
        traits.isCopy()
            ? !problem.hostMemory.mayCopy(h)
            : traits.movesState() && !problem.replicas[h].isSharded();
    if (!isUnused && cost.lane != traits.lane)
      return costFault<FaultKind::NotOnItsLane>(
          action, static_cast<int64_t>(cost.lane),
          static_cast<int64_t>(traits.lane));
  }
  if (Found fault =
          checkReleases(problem, h, microbatch,
                        {ActionKind::Forward, ActionKind::Recompute,
                         ActionKind::InputGrad, ActionKind::WeightGrad}))
    return fault;
  return checkReleases(
      problem, h, microbatch,
      {ActionKind::Forward, ActionKind::Recompute, ActionKind::Backward});
}

Found checkCosts(const Problem &problem) {
  if (!problem.recomputation.empty() &&
      problem.recomputation.size() != size_t(problem.numReplicas()))
    return makeFault<FaultKind::RecomputationCount>(
        problem.recomputation.size(), problem.numReplicas());
  const size_t numCosts = size_t(problem.numReplicas()) * numCostColumns;
  if (problem.costs.size() != numCosts)
    return makeFault<FaultKind::CostTableSize>(problem.costs.size(),
                                               problem.numReplicas(), numCosts);
  for (auto [table, found, expected] :
       {std::tuple("unevenCosts", problem.unevenCosts.size(), numCosts),
        std::tuple("unevenBytes", problem.unevenBytes.size(),
                   problem.edges.size())})
    if (found != 0 && found != expected * problem.microbatches)
      return makeFault<FaultKind::UnevenTableSize>(
          table, found, expected * problem.microbatches);
  for (int32_t h = 0; h < problem.numReplicas(); ++h) {
    if (problem.isUneven() && problem.replicas[h].samples != problem.samples)
      return makeFault<FaultKind::UnevenShares>(problem.replicas[h].stage);
    for (int64_t i = 0; i < numDifferent(problem); ++i) {
      if (Found fault = checkCostsOf(problem, h, i))
        return fault;
      const Cost &again = problem.cost(h, ActionKind::Recompute, i);
      if (!problem.recomputes(h) &&
          (again.ns | again.acquireBytes | again.releaseBytes) != 0)
        return makeFault<FaultKind::CostOfNoRecompute>(
            problem.replicas[h].stage);
    }
  }
  return std::nullopt;
}

Found checkLink(const Link &link) {
  if (link.latencyNs < 0)
    return figureFault<FaultKind::LatencyBelowZero>(link.latencyNs, 0);
  if (link.bytesPerUs < 0)
    return figureFault<FaultKind::BandwidthBelowZero>(link.bytesPerUs, 0);
  return std::nullopt;
}

Found checkLinks(const Problem &problem) {
  if (Found fault = checkLink(problem.link))
    return fault;
  for (const auto &[ranks, link] : problem.links) {
    const auto [from, to] = ranks;
    Found fault;
    if (from == to || std::min(from, to) < 0 ||
        std::max(from, to) >= problem.numRanks())
      fault = makeFault<FaultKind::LinkOfNoRanks>(problem.numRanks());
    else
      fault = checkLink(link);
    if (fault)
      return std::move(*fault).withLink(from, to);
  }
  if (problem.channels.receiveSlots < 0)
    return figureFault<FaultKind::ReceiveSlotsBelowZero>(
        problem.channels.receiveSlots, 0);
  return std::nullopt;
}

/// A fault of an edge. Precondition: both of its replicas exist.
template <FaultKind kind> Fault edgeFault(const Problem &problem, size_t e) {
  const Edge &edge = problem.edges[e];
  return makeFault<kind>(e, problem.replicas[edge.from].stage,
                         problem.replicas[edge.to].stage);
}

Found checkNics(const Problem &problem) {
  const Nics &nics = problem.nics;
  if (!nics.empty() && nics.ofRank.size() != problem.memoryCaps.size())
    return figureFault<FaultKind::NicsOfRanks>(
        static_cast<int64_t>(nics.ofRank.size()), problem.numRanks());
  if (!nics.servers.empty() && nics.servers.size() != nics.bytesPerUs.size())
    return figureFault<FaultKind::ServersOfNics>(
        static_cast<int64_t>(nics.servers.size()), nics.count());
  for (int32_t nic = 0; nic < nics.count(); ++nic)
    if (nics.bytesPerUs[nic] < 1)
      return figureFault<FaultKind::NicBandwidth>(nics.bytesPerUs[nic], 1, nic);
  for (int32_t r = 0; r < problem.numRanks() && !nics.empty(); ++r)
    if (nics.ofRank[r] < -1 || nics.ofRank[r] >= nics.count())
      return figureFault<FaultKind::RankOnNoNic>(nics.ofRank[r],
                                                 nics.count() - 1)
          .withRank(r);
  return std::nullopt;
}

Found checkEdges(const Problem &problem) {
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    if (edge.from == edge.to || std::min(edge.from, edge.to) < 0 ||
        std::max(edge.from, edge.to) >= problem.numReplicas())
      return makeFault<FaultKind::EdgeOfNoStages>(e, edge.from, edge.to,
                                                  problem.numReplicas());
    const Replica &from = problem.replicas[edge.from],
                  &to = problem.replicas[edge.to];
    if (edge.message() == MessageKind::None)
      return makeFault<FaultKind::EdgeOfNoProducer>(e);
    const bool isForward = edge.producer != ActionKind::InputGrad;
    if (isForward && from.stage >= to.stage)
      return edgeFault<FaultKind::ForwardEdgeBack>(problem, e);
    if (!isForward && from.stage <= to.stage)
      return edgeFault<FaultKind::GradientEdgeForward>(problem, e);
    for (int64_t i = 0;
         i < (problem.unevenBytes.empty() ? 1 : problem.microbatches); ++i)
      if (const int64_t bytes = problem.bytesOf(e, i);
          bytes < 0 || bytes > maxMessageBytes)
        return edgeFault<FaultKind::EdgeBytes>(problem, e)
            .withFigures(bytes, maxMessageBytes);
    if (from.rank != to.rank || takeTheSame(from, to))
      continue;
    if (from.turns != to.turns)
      return makeFault<FaultKind::RoundRobinToSelf>(
          from.stage, from.turns, from.rank, to.stage, to.turns);
    return makeFault<FaultKind::MessageToSelf>(from.stage, from.samples,
                                               from.rank, to.stage, to.samples);
  }
  return std::nullopt;
}

/// Checks the sums for running all tasks and messages one after another, an
/// upper bound of any makespan and of the bytes on any rank.
Found checkSums(const Problem &problem) {
  BoundedSum ns(maxSum / 4), bytes(maxSum);
  for (int32_t h = 0; h < problem.numReplicas(); ++h)
    for (const ActionTraits &traits : actionTable.rows) {
      if (!traits.hasCost())
        continue;
      const Cost &cost = problem.cost(h, traits.kind);
      // Weights are gathered at most twice per micro-batch: for F and for the
      // backward.
      const int64_t times = traits.index == IndexMeaning::Microbatch
                                ? problem.microbatches
                            : traits.movesState() ? 2 * problem.microbatches
                                                  : problem.iterations;
      if (problem.unevenCosts.empty() || !traits.isTask()) {
        ns.add(cost.ns, times);
        bytes.add(cost.acquireBytes, times);
        continue;
      }
      for (int64_t i = 0; i < problem.microbatches; ++i) {
        ns.add(problem.cost(h, traits.kind, i).ns, 1);
        bytes.add(problem.cost(h, traits.kind, i).acquireBytes, 1);
      }
    }
  for (const Edge &edge : problem.edges) {
    const Link link =
        problem.linkBetween(problem.rankOf(edge.from), problem.rankOf(edge.to));
    ns.add(link.occupancyNs(edge.bytes), problem.microbatches);
    ns.add(link.latencyNs, problem.microbatches);
  }
  if (ns.tooLarge())
    return makeFault<FaultKind::TimesOverflow>();
  if (bytes.tooLarge())
    return makeFault<FaultKind::BytesOverflow>();
  return std::nullopt;
}

Found checkShards(const Problem &problem) {
  if (!problem.sharded.empty() &&
      problem.sharded.size() != size_t(problem.numStages()))
    return makeFault<FaultKind::ShardedCount>(problem.sharded.size(),
                                              problem.numStages());
  for (int32_t stage = 0; stage < problem.numStages(); ++stage) {
    const ReplicaRange replicas = problem.replicas.of(stage);
    const int32_t shards = replicas.begin()->shards;
    const bool isSharded = !problem.sharded.empty() &&
                           problem.sharded[stage] != ShardedState::None;
    if (shards < 1 || replicas.size() % shards != 0)
      return makeFault<FaultKind::GroupSize>(stage, shards, replicas.size());
    if (isSharded && shards == 1)
      return makeFault<FaultKind::NoShards>(stage);
    if (shards == 1)
      continue;
    if (replicas.begin()->isRoundRobin())
      return makeFault<FaultKind::ShardedRoundRobin>(stage);
    if (problem.iterations > 1)
      return makeFault<FaultKind::ShardedIterations>(stage, problem.iterations);
  }
  return std::nullopt;
}

Found checkRecomputation(const Problem &problem) {
  std::vector<int32_t> fed(problem.numReplicas(), 0), fedAgain = fed;
  auto stageOf = [&](int32_t replica) {
    return problem.replicas[replica].stage;
  };
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    if (edge.producer == ActionKind::Forward)
      ++fed[edge.to];
    if (edge.producer != ActionKind::Recompute)
      continue;
    ++fedAgain[edge.to];
    const int32_t from = stageOf(edge.from), to = stageOf(edge.to);
    if (!problem.recomputesAcross(edge.to))
      return makeFault<FaultKind::RecomputedForNone>(e, from, to);
    if (!problem.recomputes(edge.from))
      return makeFault<FaultKind::RecomputedByNone>(to, from);
    for (int32_t stage : {from, to})
      if (problem.replicas.of(stage).size() > 1)
        return makeFault<FaultKind::RecomputedReplicas>(to, from, stage);
  }
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    if (!problem.recomputesAcross(replica))
      continue;
    if (fed[replica] == 0)
      return makeFault<FaultKind::RecomputedFromNone>(stageOf(replica));
    if (fed[replica] == fedAgain[replica])
      continue;
    auto isFedAgainBy = [&](int32_t from) {
      return std::any_of(problem.edges.begin(), problem.edges.end(),
                         [&](const Edge &edge) {
                           return edge.producer == ActionKind::Recompute &&
                                  edge.from == from && edge.to == replica;
                         });
    };
    for (const Edge &edge : problem.edges)
      if (edge.producer == ActionKind::Forward && edge.to == replica &&
          !isFedAgainBy(edge.from))
        return makeFault<FaultKind::RecomputedInPart>(stageOf(replica),
                                                      stageOf(edge.from));
  }
  return std::nullopt;
}

} // namespace

std::optional<Fault> Problem::check() const {
  for (auto rule : {checkSizes, checkIterations, checkPlaces, checkShards,
                    checkHostMemory, checkCosts, checkCopies, checkLinks,
                    checkNics, checkEdges, checkRecomputation, checkSums})
    if (Found fault = rule(*this))
      return fault;
  return std::nullopt;
}
