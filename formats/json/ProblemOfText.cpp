//===- ProblemOfText.cpp - rondo-problem's text to Problem ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that concern several keys, which no row of a table can state.
//
//===----------------------------------------------------------------------===//

#include "formats/json/ProblemText.h"
#include "kinds/Counts.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

namespace rondo::json {

namespace {

class Builder {
public:
  Builder(const ProblemText &text, Problem &problem)
      : text(text), problem(problem) {}

  std::optional<TextFault> build();

private:
  using Check = std::optional<TextFault>;

  Check checkRank(const std::string &where, int64_t rank) const;
  Check addRanks();
  Check addChain();
  Check addStages();
  Check addStage(const StageText &stage, const std::string &where);
  Check sharesOf(const StageText &stage, const std::string &where,
                 std::vector<Share> &shares) const;
  Check setOwnCosts(const StageText &stage, const std::string &where,
                    int32_t firstReplica);
  Check addUnevenCosts(const StageText &stage, const std::string &where,
                       int32_t firstReplica);
  Check bytesOf(const UnevenText &uneven, const std::string &where,
                std::vector<int64_t> &bytes) const;
  void setUneven();
  void addVersions();
  Check addEdges();
  Check addHostLinks();
  Check addLinks();
  Check addNics();

  const ProblemText &text;
  Problem &problem;
  /// [replica]: its costs by micro-batch; empty: they do not differ.
  std::vector<std::vector<CostRow>> unevenCosts;
  /// [edge]: bytes by micro-batch; empty: they do not differ.
  std::vector<std::vector<int64_t>> unevenBytes;
};

std::string element(const std::string &list, size_t index) {
  return list + "[" + std::to_string(index) + "]";
}

std::optional<TextFault> Builder::checkRank(const std::string &where,
                                            int64_t rank) const {
  if (rank < problem.numRanks())
    return {};
  const std::string last = std::to_string(problem.numRanks() - 1);
  return where + " is " + std::to_string(rank) + "; " +
         (problem.numRanks() == 1 ? "there is only rank 0"
                                  : "the ranks are 0 to " + last);
}

/// The cap of a rank is what the state leaves of its device.
std::optional<TextFault> checkCap(const RankText &rank,
                                  const std::string &where, int64_t &cap) {
  cap = rank.memoryBytes.value_or(noMemoryCap);
  if (!rank.device)
    return {};
  const int64_t left =
      rank.device->deviceBytes == noMemoryCap
          ? noMemoryCap
          : std::max<int64_t>(
                rank.device->deviceBytes - rank.device->stateBytes, 0);
  if (rank.memoryBytes && cap != left)
    return where + ".memory_bytes is " +
           (cap == noMemoryCap ? "null" : std::to_string(cap)) +
           ", but the state leaves " +
           (left == noMemoryCap ? "no cap" : std::to_string(left)) +
           " of the device";
  cap = left;
  return {};
}

std::optional<TextFault> Builder::addRanks() {
  const HostCosts none, all = text.host.value_or(none);
  bool hasDevices = false, hasHosts = false, hasHostCaps = false,
       hasHostLinks = false;
  for (const auto &[index, rank] : llvm::enumerate(text.ranks)) {
    int64_t cap;
    if (auto fault = checkCap(rank, element("ranks", index), cap))
      return fault;
    problem.memoryCaps.push_back(cap);
    problem.devices.push_back(rank.device.value_or(DeviceMemory{cap, 0}));
    problem.hosts.push_back(rank.host.value_or(all));
    problem.hostMemory.caps.push_back(rank.hostMemoryBytes);
    problem.hostMemory.links.push_back(rank.hostLink);
    hasHostCaps |= rank.hostMemoryBytes != noMemoryCap;
    hasHostLinks |= rank.hostLink.has_value();
    hasDevices |= rank.device.has_value();
    hasHosts |= !(problem.hosts.back() == none);
  }
  if (!hasHosts && all == none)
    problem.hosts.clear();
  if (!hasDevices)
    problem.devices.clear();
  if (!hasHostCaps)
    problem.hostMemory.caps.clear();
  if (!hasHostLinks)
    problem.hostMemory.links.clear();
  return addHostLinks();
}

std::optional<TextFault> Builder::addHostLinks() {
  HostMemory &host = problem.hostMemory;
  if (!text.hostLinks.empty())
    host.sharedOf.resize(text.ranks.size(), -1);
  for (const auto &[number, link] : llvm::enumerate(text.hostLinks)) {
    for (const auto &[index, rank] : llvm::enumerate(link.ranks)) {
      const std::string where =
          element(element("host_links", number) + ".ranks", index);
      if (auto fault = checkRank(where, rank))
        return fault;
      int32_t &own = host.sharedOf[rank];
      if (own >= 0)
        return where + " is " + std::to_string(rank) +
               ", which is on host_links[" + std::to_string(own) +
               "] already; a rank is on at most one host link";
      own = static_cast<int32_t>(number);
    }
    host.shared.push_back(link);
  }
  return {};
}

std::optional<TextFault> Builder::addChain() {
  std::vector<int64_t> outputBytes;
  for (const auto &[index, stage] : llvm::enumerate(text.chain)) {
    const std::string where = element("stages", index);
    if (auto fault = checkRank(where + ".rank", stage.rank))
      return fault;
    if (stage.freedBytes > stage.activationBytes)
      return where + ".input_grad_frees_bytes is " +
             std::to_string(stage.freedBytes) +
             ", more than its activation_bytes " +
             std::to_string(stage.activationBytes);
    problem.replicas.addStage(static_cast<int32_t>(stage.rank));
    problem.costs.resize(problem.costs.size() + numCostColumns);
    problem.setStageCost(static_cast<int32_t>(index), stage.forwardNs,
                         stage.inputGradNs, stage.weightGradNs,
                         stage.activationBytes, stage.freedBytes);
    outputBytes.push_back(stage.outputBytes);
  }
  problem.makeChain(outputBytes);
  return {};
}

/// The shares of the replicas of a stage; equal if none is stated.
std::optional<TextFault> Builder::sharesOf(const StageText &stage,
                                           const std::string &where,
                                           std::vector<Share> &shares) const {
  const size_t stated =
      llvm::count_if(stage.replicas, [](const ReplicaText &replica) {
        return replica.samples.has_value();
      });
  const auto number = static_cast<int32_t>(stage.replicas.size());
  const bool areRoundRobin = stage.split == Split::RoundRobin;
  if (areRoundRobin && stated != 0)
    return where + " states samples, but the stage assigns whole micro-batches";
  if (stated != 0 && stated != stage.replicas.size())
    return where + " states samples of " + std::to_string(stated) + " of " +
           std::to_string(number) + " replicas; state all or none";
  if (!areRoundRobin && stated == 0 && problem.samples % number != 0)
    return where + " are " + std::to_string(number) +
           " replicas with equal shares, but a micro-batch has " +
           countOf(problem.samples, "sample") + "; state the samples of each";
  const int32_t equal =
      areRoundRobin ? problem.samples : problem.samples / number;
  for (const auto &[index, replica] : llvm::enumerate(stage.replicas)) {
    if (auto fault = checkRank(element(where, index) + ".rank", replica.rank))
      return fault;
    shares.push_back(
        {static_cast<int32_t>(replica.rank), replica.samples.value_or(equal)});
  }
  return {};
}

bool hasRecompute(const CostsText &costs) {
  return costs.has[costColumn(ActionKind::Recompute)];
}

/// The costs of replicas that have some of their own.
std::optional<TextFault> Builder::setOwnCosts(const StageText &stage,
                                              const std::string &where,
                                              int32_t firstReplica) {
  for (const auto &[index, replica] : llvm::enumerate(stage.replicas)) {
    if (!replica.costs)
      continue;
    const std::string own = element(where + ".replicas", index) + ".costs";
    const Result<CostsText> costs =
        costsOfMicrobatch(*replica.costs, own, text, 0);
    if (!costs)
      return TextFault(describe(costs.fault()));
    if (auto fault =
            setCosts(*costs, own, stage.shard.has_value(),
                     &problem.costs[(firstReplica + index) * numCostColumns]))
      return fault;
    const bool hasOwn = hasRecompute(*replica.costs);
    if (hasOwn != hasRecompute(stage.costs))
      return own + (hasOwn ? " has R, but the costs of its stage have none"
                           : " has no R, but the costs of its stage have");
  }
  return {};
}

std::optional<TextFault> Builder::addStage(const StageText &stage,
                                           const std::string &where) {
  std::vector<Share> shares;
  if (auto fault = sharesOf(stage, where + ".replicas", shares))
    return fault;
  CostRow costs{};
  const Result<CostsText> ofFirst =
      costsOfMicrobatch(stage.costs, where + ".costs", text, 0);
  if (!ofFirst)
    return TextFault(describe(ofFirst.fault()));
  if (auto fault = setCosts(*ofFirst, where + ".costs", stage.shard.has_value(),
                            costs.data()))
    return isUneven(stage.costs) ? withWords("", *fault, ", of micro-batch 0")
                                 : *fault;
  const int32_t number = problem.numStages(), first = problem.numReplicas();
  // One replica takes all either way.
  if (stage.split == Split::RoundRobin && shares.size() > 1) {
    std::vector<int32_t> ranks;
    for (const Share &share : shares)
      ranks.push_back(share.rank);
    problem.replicas.addRoundRobinStage(ranks, problem.samples);
  } else {
    problem.replicas.addStage(
        shares, stage.shard ? stage.shard->group.value_or(
                                  static_cast<int32_t>(shares.size()))
                            : 1);
  }
  if (stage.shard)
    problem.sharded.resize(number, ShardedState::None);
  if (stage.shard || !problem.sharded.empty())
    problem.sharded.push_back(stage.shard ? stage.shard->what
                                          : ShardedState::None);
  problem.setCosts(number, costs);
  if (hasRecompute(stage.costs)) {
    problem.recomputation.resize(first);
    problem.recomputation.resize(problem.numReplicas(),
                                 Recomputation::FromCheckpoint);
  }
  if (auto fault = setOwnCosts(stage, where, first))
    return fault;
  if (auto fault = setCopies(stage, where, number, problem))
    return fault;
  return addUnevenCosts(stage, where, first);
}

/// The costs of a stage by micro-batch, of each replica, if they differ.
std::optional<TextFault> Builder::addUnevenCosts(const StageText &stage,
                                                 const std::string &where,
                                                 int32_t firstReplica) {
  const auto hasUneven = [](const ReplicaText &replica) {
    return replica.costs && isUneven(*replica.costs);
  };
  if (!isUneven(stage.costs) && llvm::none_of(stage.replicas, hasUneven))
    return {};
  if (stage.replicas.size() > 1 && stage.split == Split::Samples)
    return where + " divides the samples of micro-batches that are not alike; "
                   "a share of samples is no share of their sizes. Assign "
                   "whole micro-batches (\"split\": \"round_robin\"), or "
                   "state one replica";
  unevenCosts.resize(problem.numReplicas());
  for (const auto &[index, replica] : llvm::enumerate(stage.replicas))
    for (int64_t i = 0; i < problem.microbatches; ++i) {
      CostRow row{};
      for (const auto &[costs, place] :
           {std::pair(&stage.costs, where + ".costs"),
            std::pair(replica.costs ? &*replica.costs : nullptr,
                      element(where + ".replicas", index) + ".costs")}) {
        if (!costs)
          continue;
        const Result<CostsText> own = costsOfMicrobatch(*costs, place, text, i);
        if (!own)
          return TextFault(describe(own.fault()));
        if (auto fault = setCosts(*own, place, false, row.data()))
          return withWords("", *fault, ", of micro-batch " + std::to_string(i));
        if (auto fault = setCopyCosts(*costs, place, text, i, problem,
                                      firstReplica + int32_t(index), row))
          return fault;
      }
      unevenCosts[firstReplica + index].push_back(row);
    }
  return {};
}

std::optional<TextFault> Builder::bytesOf(const UnevenText &uneven,
                                          const std::string &where,
                                          std::vector<int64_t> &bytes) const {
  for (int64_t i = 0; uneven.isStated() && i < problem.microbatches; ++i) {
    const Result<int64_t> own = valueOf(uneven, where, text, i);
    if (!own)
      return TextFault(describe(own.fault()));
    bytes.push_back(*own);
  }
  return {};
}

/// Gives the problem what differs by micro-batch.
void Builder::setUneven() {
  const int64_t count = problem.microbatches;
  std::vector<Cost> costs;
  std::vector<int64_t> bytes;
  unevenCosts.resize(unevenCosts.empty() ? 0 : problem.numReplicas());
  for (const auto &[replica, rows] : llvm::enumerate(unevenCosts))
    for (int column = 0; column < numCostColumns; ++column)
      for (int64_t i = 0; i < count; ++i)
        costs.push_back(rows.empty()
                            ? problem.costs[replica * numCostColumns + column]
                            : rows[i][column]);
  const bool isAny =
      llvm::any_of(unevenBytes, [](auto &row) { return !row.empty(); });
  for (const auto &[edge, row] : llvm::enumerate(unevenBytes))
    for (int64_t i = 0; isAny && i < count; ++i)
      bytes.push_back(row.empty() ? problem.edges[edge].bytes : row[i]);
  problem.setUneven(std::move(costs), std::move(bytes));
}

/// Stages that state none are synchronous, and their weights have no bytes.
void Builder::addVersions() {
  const auto &stages = text.stages;
  if (llvm::any_of(stages, [](auto &stage) { return stage.versions; }))
    for (const StageText &stage : stages)
      problem.versions.push_back(stage.versions.value_or(synchronousPolicy));
  if (llvm::any_of(stages, [](auto &stage) { return stage.weightBytes; }))
    for (const StageText &stage : stages)
      problem.weightBytes.push_back(stage.weightBytes.value_or(0));
}

std::optional<TextFault> Builder::addStages() {
  for (const auto &[index, stage] : llvm::enumerate(text.stages))
    if (auto fault = addStage(stage, element("stages", index)))
      return fault;
  addVersions();
  if (problem.hostMemory.hasCopies())
    problem.hostMemory.loads.resize(problem.numReplicas());
  if (!problem.recomputation.empty())
    problem.recomputation.resize(problem.numReplicas());
  return addEdges();
}

/// Edges of activations first, then those of gradients, as in makeChain(), and
/// then those of what R makes.
std::optional<TextFault> Builder::addEdges() {
  // Edges between stages, which the replicas divide, with their bytes by
  // micro-batch, if these differ.
  struct StageEdge : Edge {
    std::vector<int64_t> uneven;
  };
  std::vector<StageEdge> forwards, gradients, recomputed;
  std::set<std::pair<int32_t, int32_t>> pairs;
  for (const auto &[index, edge] : llvm::enumerate(text.edges)) {
    const std::string where = element("edges", index);
    const std::string ends = " from stage " + std::to_string(edge.from) +
                             " to stage " + std::to_string(edge.to);
    if (edge.from >= edge.to)
      return where + " goes" + ends +
             "; an edge goes from an earlier stage to a later one";
    if (!pairs.insert({edge.from, edge.to}).second)
      return where + " is the second one" + ends;
    std::vector<int64_t> uneven, unevenGradient;
    if (auto fault = bytesOf(edge.unevenBytes, where + ".bytes", uneven))
      return fault;
    if (auto fault = bytesOf(edge.unevenGradientBytes,
                             where + ".gradient_bytes", unevenGradient))
      return fault;
    const int64_t bytes = uneven.empty() ? *edge.bytes : uneven.front();
    if (!edge.gradientBytes && unevenGradient.empty())
      unevenGradient = uneven;
    forwards.push_back(
        {{edge.from, edge.to, ActionKind::Forward, bytes}, uneven});
    gradients.push_back(
        {{edge.to, edge.from, ActionKind::InputGrad,
          unevenGradient.empty() ? edge.gradientBytes.value_or(bytes)
                                 : unevenGradient.front()},
         unevenGradient});
    if (!edge.isRecomputed)
      continue;
    const int32_t first = problem.replicas.numberOf(edge.to);
    if (!problem.recomputes(first))
      return where + " is recomputed, but stage " + std::to_string(edge.to) +
             " does not recompute: its costs have no R";
    for (const Replica &replica : problem.replicas.of(edge.to))
      problem.recomputation[first + replica.index] = Recomputation::FromStage;
    recomputed.push_back(
        {{edge.from, edge.to, ActionKind::Recompute, bytes}, uneven});
  }
  for (const std::vector<StageEdge> &list : {forwards, gradients, recomputed})
    for (const StageEdge &edge : list) {
      problem.addStageEdge(edge.from, edge.to, edge.producer, edge.bytes);
      unevenBytes.resize(problem.edges.size(), edge.uneven);
    }
  return {};
}

std::optional<TextFault> Builder::addLinks() {
  problem.link = text.link.value_or(Link());
  for (const auto &[index, link] : llvm::enumerate(text.links)) {
    const std::string where = element("links", index);
    for (auto [key, rank] : {std::pair(".from", link.from), {".to", link.to}})
      if (auto fault = checkRank(where + key, rank))
        return fault;
    const std::string pair = "rank " + std::to_string(link.from) + " to rank " +
                             std::to_string(link.to);
    if (link.from == link.to)
      return where + " goes from " + pair;
    if (!problem.links.try_emplace({link.from, link.to}, link).second)
      return where + " is the second one from " + pair;
  }
  return {};
}

std::optional<TextFault> Builder::addNics() {
  if (!text.nics.empty())
    problem.nics.ofRank.resize(text.ranks.size(), -1);
  for (const auto &[number, nic] : llvm::enumerate(text.nics)) {
    for (const auto &[index, rank] : llvm::enumerate(nic.ranks)) {
      const std::string where =
          element(element("nics", number) + ".ranks", index);
      if (auto fault = checkRank(where, rank))
        return fault;
      int32_t &own = problem.nics.ofRank[rank];
      if (own >= 0)
        return where + " is " + std::to_string(rank) + ", which is on nics[" +
               std::to_string(own) + "] already; a rank is on at most one NIC";
      own = static_cast<int32_t>(number);
    }
    problem.nics.bytesPerUs.push_back(nic.bytesPerUs);
    problem.nics.servers.push_back(nic.server);
  }
  return {};
}

std::optional<TextFault> Builder::build() {
  if (auto fault = checkSizes(text))
    return fault;
  problem.name = text.name;
  problem.iterations = text.iterations;
  problem.microbatches = text.microbatches * text.iterations;
  problem.samples = text.samples.value_or(1);
  problem.statesSamples = text.samples.has_value();
  problem.objective = text.objective;
  problem.channels = text.channels.value_or(ChannelModel());
  if (auto fault = addRanks())
    return fault;
  if (auto fault = text.chain.empty() ? addStages() : addChain())
    return fault;
  setUneven();
  if (!problem.hosts.empty() && problem.replicas.areRoundRobin())
    return "host costs and stages that assign micro-batches are not supported "
           "together";
  problem.addHostCosts();
  if (auto fault = addLinks())
    return fault;
  if (auto fault = addNics())
    return fault;
  return addShardCosts(problem);
}

} // namespace

std::optional<TextFault> toProblem(const ProblemText &text, Problem &problem) {
  return Builder(text, problem).build();
}

} // namespace rondo::json
