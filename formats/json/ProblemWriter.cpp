//===- ProblemWriter.cpp - Problem to rondo-problem -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/ProblemWriter.h"

#include "formats/json/ShardedStages.h"
#include "schedule/model/EdgeTable.h"
#include "schedule/simulate/Objective.h"
#include "schedule/transforms/Recomputed.h"

#include "llvm/Support/JSON.h"

#include <algorithm>
#include <map>
#include <set>

namespace rondo::json {

namespace {

void writeSpeed(llvm::json::OStream &json, const Link &link) {
  json.attribute("latency_ns", link.latencyNs);
  if (link.bytesPerUs)
    json.attribute("bytes_per_us", link.bytesPerUs);
  else
    json.attribute("bytes_per_us", nullptr);
}

void writeBytes(llvm::json::OStream &json, llvm::StringRef key, int64_t bytes) {
  if (bytes == noMemoryCap)
    json.attribute(key, nullptr);
  else
    json.attribute(key, bytes);
}

void writeStage1(llvm::json::OStream &json, const Problem &problem,
                 int32_t stage) {
  const Cost &forward = problem.cost(stage, ActionKind::Forward);
  const Cost &inputGrad = problem.cost(stage, ActionKind::InputGrad);
  json.attribute("rank", problem.rankOf(stage));
  json.attribute("forward_ns", forward.ns);
  json.attribute("input_grad_ns", inputGrad.ns);
  json.attribute("weight_grad_ns",
                 problem.cost(stage, ActionKind::WeightGrad).ns);
  json.attribute("activation_bytes", forward.acquireBytes);
  json.attribute("input_grad_frees_bytes", inputGrad.releaseBytes);
  bool isLast = stage + 1 == problem.numStages();
  json.attribute("output_bytes", isLast ? 0 : problem.edges[stage].bytes);
}

/// The costs of replicas, added up, without what the host adds.
void writeCosts(llvm::json::OStream &json, const Problem &problem,
                const EdgeTable &edges, const std::vector<int32_t> &replicas) {
  json.attributeObject("costs", [&] {
    for (const ActionTraits &traits : actionTable.rows) {
      // What sharded stages move follows from their bytes and the links.
      if (!traits.hasCost() || traits.movesState())
        continue;
      Cost sum;
      for (int32_t replica : replicas) {
        const Cost &cost = problem.cost(replica, traits.kind);
        sum.ns += cost.ns - problem.hostNs(edges, replica, traits.kind);
        sum.acquireBytes += cost.acquireBytes;
        sum.releaseBytes += cost.releaseBytes;
      }
      // As if it were left out.
      const bool isLeftOut = traits.kind == ActionKind::Recompute
                                 ? !problem.recomputes(replicas.front())
                                 : !traits.isTask() && sum.ns == 0;
      if (isLeftOut)
        continue;
      json.attributeObject(traits.code, [&] {
        json.attribute("ns", sum.ns);
        if (sum.acquireBytes)
          json.attribute("takes_bytes", sum.acquireBytes);
        if (sum.releaseBytes)
          json.attribute("frees_bytes", sum.releaseBytes);
      });
    }
  });
}

void writeVersions(llvm::json::OStream &json, const VersionPolicy &policy) {
  json.attributeObject("versions", [&] {
    json.attribute("forward", wordOf(policy.forward));
    json.attribute("backward", wordOf(policy.backward));
    json.attribute("activations", wordOf(policy.activations));
    if (policy.maxDelay != anyDelay)
      json.attribute("most_delay", policy.maxDelay);
  });
}

void writeStage2(llvm::json::OStream &json, const Problem &problem,
                 const EdgeTable &edges, int32_t stage) {
  const ReplicaRange replicas = problem.replicas.of(stage);
  auto numberOf = [&](const Replica &replica) {
    return problem.replicas.numberOf(stage, replica.index);
  };
  json.attributeArray("replicas", [&] {
    for (const Replica &replica : replicas)
      json.object([&] {
        json.attribute("rank", replica.rank);
        if (replicas.size() == 1)
          return;
        if (!replica.isRoundRobin())
          json.attribute("samples", replica.samples);
        writeCosts(json, problem, edges, {numberOf(replica)});
      });
  });
  if (replicas.begin()->isRoundRobin())
    json.attribute("split", "round_robin");
  writeShard(json, problem, stage);
  if (!problem.weightBytes.empty())
    json.attribute("parameter_bytes", problem.weightBytes[stage]);
  if (!problem.versions.empty())
    writeVersions(json, problem.versions[stage]);
  // A micro-batch's, by the replicas that take it.
  std::vector<int32_t> all;
  for (const Replica &replica : replicas)
    if (replica.takes(0))
      all.push_back(numberOf(replica));
  writeCosts(json, problem, edges, all);
}

/// Writes one entry for an activation and its gradient.
void writeEdges(llvm::json::OStream &json, const Problem &problem) {
  // By stages: bytes of all parts together.
  std::map<std::pair<int32_t, int32_t>, int64_t> forwards, gradients;
  std::set<std::pair<int32_t, int32_t>> recomputed;
  std::vector<std::pair<int32_t, int32_t>> order;
  for (const Edge &edge : problem.edges) {
    const int32_t from = problem.replicas[edge.from].stage,
                  to = problem.replicas[edge.to].stage;
    // Every micro-batch has the same bytes.
    const int64_t bytes = problem.carries(edge, 0) ? edge.bytes : 0;
    if (edge.producer == ActionKind::InputGrad) {
      gradients[{to, from}] += bytes;
      continue;
    }
    if (edge.producer == ActionKind::Recompute) {
      recomputed.insert({from, to});
      continue;
    }
    if (!forwards.count({from, to}))
      order.push_back({from, to});
    forwards[{from, to}] += bytes;
  }
  json.attributeArray("edges", [&] {
    for (const auto &pair : order)
      json.object([&] {
        json.attribute("from", pair.first);
        json.attribute("to", pair.second);
        json.attribute("bytes", forwards[pair]);
        auto gradient = gradients.find(pair);
        if (gradient == gradients.end())
          json.attribute("gradient_bytes", nullptr);
        else if (gradient->second != forwards[pair])
          json.attribute("gradient_bytes", gradient->second);
        if (recomputed.count(pair))
          json.attribute("recomputed", true);
      });
  });
}

void writeChannels(llvm::json::OStream &json, const ChannelModel &channels) {
  json.attributeObject("channels", [&] {
    json.attribute("protocol", channels.protocol == Protocol::Eager
                                   ? "eager"
                                   : "rendezvous");
    if (channels.receiveSlots)
      json.attribute("receive_slots", channels.receiveSlots);
    json.attribute("queues",
                   channels.queues == Queues::PerRank ? "rank" : "pair");
  });
}

void writeNics(llvm::json::OStream &json, const Problem &problem) {
  json.attributeArray("nics", [&] {
    for (int32_t nic = 0; nic < problem.nics.count(); ++nic)
      json.object([&] {
        json.attributeArray("ranks", [&] {
          for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
            if (problem.nics.ofRank[rank] == nic)
              json.value(rank);
        });
        json.attribute("bytes_per_us", problem.nics.bytesPerUs[nic]);
        if (problem.nics.serverOf(nic) >= 0)
          json.attribute("server", problem.nics.serverOf(nic));
      });
  });
}

void writeHost(llvm::json::OStream &json, const HostCosts &host) {
  json.attributeObject("host", [&] {
    json.attribute("action_ns", host.actionNs);
    json.attribute("send_ns", host.sendNs);
    json.attribute("receive_ns", host.receiveNs);
    json.attribute("wait_ns", host.waitNs);
  });
}

/// Whether one set of host costs is for all ranks.
bool haveSameHost(const Problem &problem) {
  return std::all_of(
      problem.hosts.begin(), problem.hosts.end(),
      [&](const HostCosts &host) { return host == problem.hosts.front(); });
}

/// Whether version 1 can say this problem: its stages are a chain with one
/// replica each, B takes I's and W's time, I and B take no bytes, steps and the
/// host no time, and there are no NICs, and one iteration without versions.
bool isVersion1(const Problem &problem) {
  if (problem.replicas.isReplicated() || hasRecomputation(problem) ||
      !problem.nics.empty() || !problem.hosts.empty() ||
      problem.iterations > 1 || !problem.versions.empty() ||
      !problem.weightBytes.empty())
    return false;
  const int32_t numStages = problem.numStages();
  Problem chain;
  chain.replicas = problem.replicas;
  std::vector<int64_t> outputBytes(numStages, 0);
  for (int32_t s = 0; s < numStages; ++s) {
    if (s + 1 < numStages && size_t(s) < problem.edges.size())
      outputBytes[s] = problem.edges[s].bytes;
    if (problem.cost(s, ActionKind::Backward).ns !=
            problem.cost(s, ActionKind::InputGrad).ns +
                problem.cost(s, ActionKind::WeightGrad).ns ||
        problem.cost(s, ActionKind::Step).ns != 0 ||
        problem.cost(s, ActionKind::InputGrad).acquireBytes != 0 ||
        problem.cost(s, ActionKind::Backward).acquireBytes != 0)
      return false;
  }
  chain.makeChain(outputBytes);
  const auto same = [](const Edge &a, const Edge &b) {
    return a.from == b.from && a.to == b.to && a.producer == b.producer &&
           a.bytes == b.bytes;
  };
  return std::equal(chain.edges.begin(), chain.edges.end(),
                    problem.edges.begin(), problem.edges.end(), same);
}

} // namespace

void writeProblem(llvm::raw_ostream &os, const Problem &problem) {
  const bool isFirst = isVersion1(problem);
  const EdgeTable edges(problem);
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("format", isFirst ? "rondo-problem/1" : "rondo-problem/2");
    json.attribute("name", problem.name);
    json.attribute("microbatches", problem.microbatchesEach());
    if (problem.iterations > 1)
      json.attribute("iterations", problem.iterations);
    if (!isFirst && (problem.statesSamples || problem.replicas.isReplicated()))
      json.attribute("samples", problem.samples);
    json.attributeArray("ranks", [&] {
      for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
        json.object([&] {
          writeBytes(json, "memory_bytes", problem.memoryCaps[rank]);
          if (!haveSameHost(problem))
            writeHost(json, problem.hosts[rank]);
          if (isFirst || problem.devices.empty())
            return;
          json.attributeObject("device", [&] {
            const DeviceMemory &device = problem.devices[rank];
            writeBytes(json, "memory_bytes", device.deviceBytes);
            json.attribute("state_bytes", device.stateBytes);
          });
        });
    });
    json.attributeArray("stages", [&] {
      for (int32_t stage = 0; stage < problem.numStages(); ++stage)
        json.object([&] {
          if (isFirst)
            writeStage1(json, problem, stage);
          else
            writeStage2(json, problem, edges, stage);
        });
    });
    if (!isFirst)
      writeEdges(json, problem);
    json.attributeObject("link", [&] { writeSpeed(json, problem.link); });
    json.attributeArray("links", [&] {
      for (const auto &[pair, link] : problem.links)
        json.object([&, ranks = pair, speed = link] {
          json.attribute("from", ranks.first);
          json.attribute("to", ranks.second);
          writeSpeed(json, speed);
        });
    });
    if (!problem.nics.empty())
      writeNics(json, problem);
    if (!problem.hosts.empty() && haveSameHost(problem))
      writeHost(json, problem.hosts.front());
    if (!isFirst)
      writeChannels(json, problem.channels);
    json.attribute("objective", objectiveName(problem));
  });
}

} // namespace rondo::json
