//===- Replicas.cpp - Families on stages with several homes ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/families/Replicas.h"

#include <algorithm>
#include <map>

using namespace rondo;

Result<RankGroups> RankGroups::of(const Problem &problem) {
  // By rank: its stages, ascending.
  std::vector<std::vector<int32_t>> stages(problem.numRanks());
  for (const Home &home : problem.homes)
    stages[home.rank].push_back(home.stage);
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const int32_t first = problem.homes.of(s).begin()->rank;
    for (const Home &home : problem.homes.of(s))
      if (stages[home.rank] != stages[first])
        return makeFault<FaultKind::MixedRanks>(s, first, home.rank);
  }

  RankGroups groups(problem);
  std::map<std::vector<int32_t>, int32_t> byStages;
  for (int32_t r = 0; r < problem.numRanks(); ++r) {
    auto [it, isNew] = byStages.insert({stages[r], groups.numGroups});
    // Ranks without a stage have nothing in common.
    groups.numGroups += isNew || stages[r].empty();
    groups.groupOf.push_back(stages[r].empty() ? groups.numGroups - 1
                                               : it->second);
  }
  return groups;
}

Problem RankGroups::groupProblem() const {
  const Problem &all = *problem;
  Problem groups;
  groups.name = all.name;
  groups.microbatches = all.microbatches;
  groups.objective = all.objective;
  groups.channels = all.channels;
  groups.memoryCaps.assign(numGroups, noMemoryCap);
  for (int32_t r = 0; r < all.numRanks(); ++r) {
    int64_t &cap = groups.memoryCaps[groupOf[r]];
    cap = std::min(cap, all.memoryCaps[r]);
  }
  for (int32_t s = 0; s < all.numStages(); ++s)
    groups.homes.addStage(groupOf[all.homes.of(s).begin()->rank]);

  if (!all.recomputation.empty())
    for (int32_t s = 0; s < all.numStages(); ++s)
      groups.recomputation.push_back(all.recomputation[all.homes.numberOf(s)]);
  groups.costs.resize(size_t(all.numStages()) * numCostColumns);
  for (int32_t home = 0; home < all.numHomes(); ++home)
    for (int column = 0; column < numCostColumns; ++column) {
      const Cost &one = all.costs[home * numCostColumns + column];
      Cost &most =
          groups.costs[all.homes[home].stage * numCostColumns + column];
      most.ns = std::max(most.ns, one.ns);
      most.acquireBytes = std::max(most.acquireBytes, one.acquireBytes);
      most.releaseBytes = std::max(most.releaseBytes, one.releaseBytes);
      most.lane = one.lane;
    }
  addMessages(groups);
  return groups;
}

/// A stage edge has the bytes of its largest part, and a link between groups
/// the latency and bandwidth of the slowest link that carries a part.
void RankGroups::addMessages(Problem &groups) const {
  groups.link = problem->link;
  for (const Edge &edge : problem->edges) {
    const Home &from = problem->homes[edge.from], &to = problem->homes[edge.to];
    if (groups.edges.empty() || groups.edges.back().stageEdge != edge.stageEdge)
      groups.edges.push_back(
          {from.stage, to.stage, edge.producer, 0, edge.stageEdge});
    int64_t &bytes = groups.edges.back().bytes;
    bytes = std::max(bytes, edge.bytes);
    if (from.rank == to.rank)
      continue;
    const Link &link = problem->linkBetween(from.rank, to.rank);
    auto [it, isNew] =
        groups.links.insert({{groupOf[from.rank], groupOf[to.rank]}, link});
    Link &slowest = it->second;
    if (isNew)
      continue;
    slowest.latencyNs = std::max(slowest.latencyNs, link.latencyNs);
    // 0 has no limit.
    if (slowest.bytesPerUs == 0 ||
        (link.bytesPerUs != 0 && link.bytesPerUs < slowest.bytesPerUs))
      slowest.bytesPerUs = link.bytesPerUs;
  }
}

Schedule RankGroups::spread(const Schedule &ofGroups) const {
  const Homes &homes = problem->homes;
  Schedule schedule;
  for (int32_t r = 0; r < problem->numRanks(); ++r) {
    for (Action action : ofGroups.rank(groupOf[r])) {
      const int32_t stage = static_cast<int32_t>(action.subject);
      action.subject = homes.numberOn(stage, r);
      schedule.append(action);
    }
    schedule.endRank();
  }
  for (const auto &[pair, tasks] : ofGroups.linkOrders)
    spreadLinkOrder(pair, tasks, schedule);
  return schedule;
}

/// Each pair of ranks has the messages of the pair of groups that have a part
/// for it.
void RankGroups::spreadLinkOrder(std::pair<int32_t, int32_t> groups,
                                 const std::vector<Action> &tasks,
                                 Schedule &schedule) const {
  // By pair of ranks, whether a home's F or I sends there.
  std::map<std::pair<int32_t, int32_t>, std::vector<Edge>> parts;
  for (const Edge &edge : problem->edges) {
    const int32_t from = problem->rankOf(edge.from),
                  to = problem->rankOf(edge.to);
    if (from != to && groupOf[from] == groups.first &&
        groupOf[to] == groups.second)
      parts[{from, to}].push_back(edge);
  }
  for (const auto &[ranks, edges] : parts)
    for (Action action : tasks) {
      action.subject = problem->homes.numberOn(
          static_cast<int32_t>(action.subject), ranks.first);
      auto sends = [&](const Edge &edge) {
        return edge.from == static_cast<int32_t>(action.subject) &&
               edge.message() == action.traits().produces;
      };
      if (std::any_of(edges.begin(), edges.end(), sends))
        schedule.linkOrders[ranks].push_back(action);
    }
}
