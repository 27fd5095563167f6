//===- ProblemWriter.cpp - Problem to rondo-problem/2 ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ProblemWriter.h"

#include "formats/json/ProblemText.h"
#include "schedule/model/EdgeTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace rondo::json {

namespace {

/// Sets the figures that differ by micro-batch.
void addByIndex(const Problem &problem, const EdgeTable &edges,
                const std::vector<int32_t> &replicas, ActionKind kind,
                CostText &cost) {
  std::vector<int64_t> ns, takes, frees;
  for (int64_t i = 0; i < problem.microbatches; ++i) {
    Cost sum;
    for (int32_t replica : replicas) {
      const Cost &own = problem.cost(replica, kind, i);
      sum.ns += own.ns - problem.hostNs(edges, replica, kind);
      sum.acquireBytes += own.acquireBytes;
      sum.releaseBytes += own.releaseBytes;
    }
    ns.push_back(sum.ns);
    takes.push_back(sum.acquireBytes);
    frees.push_back(sum.releaseBytes);
  }
  for (auto [values, number, uneven] :
       {std::tuple(&ns, &cost.ns, &cost.unevenNs),
        std::tuple(&takes, &cost.acquireBytes, &cost.unevenAcquire),
        std::tuple(&frees, &cost.releaseBytes, &cost.unevenRelease)}) {
    *number = values->front();
    if (!llvm::all_equal(*values))
      uneven->byIndex = *values;
  }
}

/// The costs of replicas, added up, without what the host adds.
CostsText costsOf(const Problem &problem, const EdgeTable &edges,
                  const std::vector<int32_t> &replicas) {
  CostsText costs;
  for (const ActionTraits &traits : actionTable.rows) {
    // The costs of moving sharded state follow from its bytes and the links.
    if (!traits.hasCost() || traits.movesState() || traits.isCopy())
      continue;
    CostText &sum = costs.row[costColumn(traits.kind)];
    for (int32_t replica : replicas) {
      const Cost &cost = problem.cost(replica, traits.kind);
      sum.ns += cost.ns - problem.hostNs(edges, replica, traits.kind);
      sum.acquireBytes += cost.acquireBytes;
      sum.releaseBytes += cost.releaseBytes;
    }
    if (!problem.unevenCosts.empty() && traits.isTask())
      addByIndex(problem, edges, replicas, traits.kind, sum);
    costs.has[costColumn(traits.kind)] =
        traits.kind == ActionKind::Recompute
            ? problem.recomputes(replicas.front())
            : traits.isTask() || sum.ns != 0;
  }
  writeCopies(problem, replicas, costs);
  return costs;
}

StageText stageOf(const Problem &problem, const EdgeTable &edges,
                  int32_t stage) {
  const ReplicaRange replicas = problem.replicas.of(stage);
  const Replica &first = *replicas.begin();
  StageText text;
  // A micro-batch's, by the replicas that take it.
  std::vector<int32_t> all;
  for (const Replica &replica : replicas) {
    const int32_t number = problem.replicas.numberOf(stage, replica.index);
    if (replica.takes(0))
      all.push_back(number);
    ReplicaText &own = text.replicas.emplace_back();
    own.rank = replica.rank;
    if (replicas.size() == 1)
      continue;
    if (!replica.isRoundRobin())
      own.samples = replica.samples;
    own.costs = costsOf(problem, edges, {number});
  }
  text.costs = costsOf(problem, edges, all);
  if (first.isRoundRobin())
    text.split = Split::RoundRobin;
  if (first.isSharded())
    text.shard = {problem.sharded[stage], first.shards};
  if (!problem.weightBytes.empty())
    text.weightBytes = problem.weightBytes[stage];
  else if (first.isSharded())
    text.weightBytes =
        problem.cost(problem.replicas.numberOf(stage), ActionKind::Unshard)
            .acquireBytes;
  if (!problem.versions.empty())
    text.versions = problem.versions[stage];
  return text;
}

/// One entry for an activation and its gradient.
std::vector<EdgeText> edgesOf(const Problem &problem) {
  // Indexed by both stages: bytes of all parts together, of one micro-batch if
  // all are alike.
  const int64_t count = problem.unevenBytes.empty() ? 1 : problem.microbatches;
  std::map<std::pair<int32_t, int32_t>, std::vector<int64_t>> forwards,
      gradients;
  std::set<std::pair<int32_t, int32_t>> recomputed;
  std::vector<std::pair<int32_t, int32_t>> order;
  for (const auto &[e, edge] : llvm::enumerate(problem.edges)) {
    const int32_t from = problem.replicas[edge.from].stage,
                  to = problem.replicas[edge.to].stage;
    auto add = [&, e = e, &edge = edge](std::vector<int64_t> &bytes) {
      bytes.resize(count);
      for (int64_t i = 0; i < count; ++i)
        bytes[i] += problem.carries(edge, i) ? problem.bytesOf(e, i) : 0;
    };
    if (edge.producer == ActionKind::InputGrad) {
      add(gradients[{to, from}]);
      continue;
    }
    if (edge.producer == ActionKind::Recompute) {
      recomputed.insert({from, to});
      continue;
    }
    if (!forwards.count({from, to}))
      order.push_back({from, to});
    add(forwards[{from, to}]);
  }
  std::vector<EdgeText> edges;
  for (const auto &pair : order) {
    EdgeText &edge = edges.emplace_back();
    edge.from = pair.first;
    edge.to = pair.second;
    const std::vector<int64_t> &bytes = forwards[pair];
    if (llvm::all_equal(bytes))
      edge.bytes = bytes.front();
    else
      edge.unevenBytes.byIndex = bytes;
    edge.isRecomputed = recomputed.count(pair) > 0;
    auto gradient = gradients.find(pair);
    if (gradient == gradients.end())
      edge.gradientBytes = -1;
    else if (gradient->second == bytes)
      continue;
    else if (llvm::all_equal(gradient->second))
      edge.gradientBytes = gradient->second.front();
    else
      edge.unevenGradientBytes.byIndex = gradient->second;
  }
  return edges;
}

std::vector<NicText> nicsOf(const Problem &problem) {
  std::vector<NicText> nics;
  for (int32_t nic = 0; nic < problem.nics.count(); ++nic)
    nics.push_back(
        {{}, problem.nics.bytesPerUs[nic], problem.nics.serverOf(nic)});
  for (int32_t rank = 0; !nics.empty() && rank < problem.numRanks(); ++rank)
    if (const int32_t nic = problem.nics.ofRank[rank]; nic >= 0)
      nics[nic].ranks.push_back(rank);
  return nics;
}

std::vector<HostLinkText> hostLinksOf(const Problem &problem) {
  std::vector<HostLinkText> links;
  for (const SharedHostLink &shared : problem.hostMemory.shared)
    links.push_back({shared, {}});
  for (int32_t rank = 0; !links.empty() && rank < problem.numRanks(); ++rank)
    if (const int32_t link = problem.hostMemory.sharedLink(rank); link >= 0)
      links[link].ranks.push_back(rank);
  return links;
}

} // namespace

ProblemText textOf(const Problem &problem) {
  ProblemText text;
  text.name = problem.name;
  text.microbatches = problem.microbatchesEach();
  text.iterations = problem.iterations;
  if (problem.statesSamples || problem.replicas.isReplicated())
    text.samples = problem.samples;
  // Whether one set of host costs is for all ranks.
  const auto &hosts = problem.hosts;
  const bool haveSameHost =
      std::all_of(hosts.begin(), hosts.end(),
                  [&](const HostCosts &host) { return host == hosts.front(); });
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    RankText &own = text.ranks.emplace_back();
    own.memoryBytes = problem.memoryCaps[rank];
    own.hostMemoryBytes = problem.hostMemory.cap(rank);
    if (const HostLink *link = problem.hostMemory.link(rank))
      own.hostLink = *link;
    if (!haveSameHost)
      own.host = hosts[rank];
    if (!problem.devices.empty())
      own.device = problem.devices[rank];
  }
  if (!hosts.empty() && haveSameHost)
    text.host = hosts.front();
  const EdgeTable edges(problem);
  for (int32_t stage = 0; stage < problem.numStages(); ++stage)
    text.stages.push_back(stageOf(problem, edges, stage));
  text.edges = edgesOf(problem);
  text.link = problem.link;
  for (const auto &[pair, link] : problem.links) {
    RankLinkText &own = text.links.emplace_back();
    static_cast<Link &>(own) = link;
    std::tie(own.from, own.to) = pair;
  }
  text.nics = nicsOf(problem);
  text.hostLinks = hostLinksOf(problem);
  text.channels = problem.channels;
  text.objective = problem.objective;
  return text;
}

void writeProblem(llvm::raw_ostream &os, const Problem &problem) {
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("format", "rondo-problem/2");
    problemTable(2).write(json, textOf(problem));
  });
}

} // namespace rondo::json
