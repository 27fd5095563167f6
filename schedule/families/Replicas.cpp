//===- Replicas.cpp - Families on stages with several replicas ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/families/Replicas.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace rondo;

/// [rank]: its stages, ascending.
static std::vector<std::vector<int32_t>> stagesOfRanks(const Problem &problem) {
  std::vector<std::vector<int32_t>> stages(problem.numRanks());
  for (const Replica &replica : problem.replicas)
    stages[replica.rank].push_back(replica.stage);
  return stages;
}

bool RankGroups::areNeeded(const Problem &problem) {
  if (problem.replicas.isReplicated())
    return true;
  int32_t before = -1;
  for (const std::vector<int32_t> &stages : stagesOfRanks(problem)) {
    if (stages.empty() || stages.front() < before)
      return true;
    before = stages.front();
  }
  return false;
}

Result<RankGroups> RankGroups::of(const Problem &problem) {
  const std::vector<std::vector<int32_t>> stages = stagesOfRanks(problem);
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const int32_t first = problem.replicas.of(s).begin()->rank;
    for (const Replica &replica : problem.replicas.of(s))
      if (stages[replica.rank] != stages[first])
        return makeFault<FaultKind::MixedRanks>(s, first, replica.rank);
  }

  RankGroups groups(problem);
  for (const Replica &replica : problem.replicas)
    groups.microbatchesInRound = static_cast<int32_t>(std::min<int64_t>(
        std::lcm(int64_t(groups.microbatchesInRound), int64_t(replica.turns)),
        problem.microbatches));
  // Sorted by their lists of stages.
  std::map<std::vector<int32_t>, int32_t> byStages;
  for (const std::vector<int32_t> &own : stages)
    if (!own.empty())
      byStages.insert({own, 0});
  for (auto &[own, group] : byStages)
    group = groups.numGroups++;
  for (const std::vector<int32_t> &own : stages)
    groups.groupOf.push_back(own.empty() ? noGroup : byStages[own]);
  return groups;
}

Problem RankGroups::groupProblem() const {
  const Problem &all = *problem;
  Problem groups;
  groups.name = all.name;
  groups.microbatches =
      (all.microbatches + microbatchesInRound - 1) / microbatchesInRound;
  groups.iterations = all.iterations;
  groups.countsOnce = all.countsOnce;
  groups.versions = all.versions;
  groups.tiedStages = all.tiedStages;
  groups.objective = all.objective;
  groups.channels = all.channels;
  groups.memoryCaps.assign(numGroups, noMemoryCap);
  for (int32_t r = 0; r < all.numRanks(); ++r)
    if (groupOf[r] != noGroup) {
      int64_t &cap = groups.memoryCaps[groupOf[r]];
      cap = std::min(cap, all.memoryCaps[r]);
    }
  for (int32_t s = 0; s < all.numStages(); ++s)
    groups.replicas.addStage(groupOf[all.replicas.of(s).begin()->rank]);

  if (!all.recomputation.empty())
    for (int32_t s = 0; s < all.numStages(); ++s)
      groups.recomputation.push_back(
          all.recomputation[all.replicas.numberOf(s)]);
  groups.costs.resize(size_t(all.numStages()) * numCostColumns);
  for (int32_t replica = 0; replica < all.numReplicas(); ++replica)
    for (int column = 0; column < numCostColumns; ++column) {
      Cost one = all.costs[replica * numCostColumns + column];
      // A step runs once an iteration, not once a micro-batch.
      if (column != costColumn(ActionKind::Step)) {
        const int64_t times = inRound(all.replicas[replica].turns);
        one.ns *= times;
        one.acquireBytes *= times;
        one.releaseBytes *= times;
      }
      Cost &most =
          groups.costs[all.replicas[replica].stage * numCostColumns + column];
      most.ns = std::max(most.ns, one.ns);
      most.acquireBytes = std::max(most.acquireBytes, one.acquireBytes);
      most.releaseBytes = std::max(most.releaseBytes, one.releaseBytes);
      most.lane = one.lane;
    }
  addMessages(groups);
  return groups;
}

/// A stage edge gets the bytes of its largest part, and a link between groups
/// the latency and bandwidth of the slowest link that carries a part.
void RankGroups::addMessages(Problem &groups) const {
  groups.link = problem->link;
  for (const Edge &edge : problem->edges) {
    const Replica &from = problem->replicas[edge.from],
                  &to = problem->replicas[edge.to];
    if (groups.edges.empty() || groups.edges.back().stageEdge != edge.stageEdge)
      groups.edges.push_back(
          {from.stage, to.stage, edge.producer, 0, edge.stageEdge});
    int64_t &bytes = groups.edges.back().bytes;
    const int64_t times =
        inRound(std::lcm(int64_t(from.turns), int64_t(to.turns)));
    bytes = std::max(bytes, edge.bytes > maxMessageBytes / times
                                ? maxMessageBytes
                                : edge.bytes * times);
    if (from.rank == to.rank)
      continue;
    const Link link = problem->linkBetween(from.rank, to.rank);
    auto [it, isNew] =
        groups.links.insert({{groupOf[from.rank], groupOf[to.rank]}, link});
    Link &slowest = it->second;
    if (isNew)
      continue;
    slowest.latencyNs = std::max(slowest.latencyNs, link.latencyNs);
    // 0: no limit.
    if (slowest.bytesPerUs == 0 ||
        (link.bytesPerUs != 0 && link.bytesPerUs < slowest.bytesPerUs))
      slowest.bytesPerUs = link.bytesPerUs;
  }
}

template <typename Visit>
void RankGroups::forEachOfRounds(int64_t round, int64_t count,
                                 Visit visit) const {
  const int64_t first = round * microbatchesInRound;
  const int64_t end = std::min<int64_t>(first + count * microbatchesInRound,
                                        problem->microbatches);
  for (int64_t microbatch = first; microbatch < end; ++microbatch)
    visit(microbatch);
}

std::optional<Action> RankGroups::taskOn(int32_t rank, Action ofGroup,
                                         int64_t microbatch) const {
  const Replicas &replicas = problem->replicas;
  const int32_t replica =
      replicas.numberOn(static_cast<int32_t>(ofGroup.subject), rank);
  if (!replicas[replica].takes(microbatch))
    return std::nullopt;
  return Action(ofGroup.kind(), replica, microbatch);
}

void RankGroups::spreadBackward(int32_t rank, Action ofGroup,
                                Schedule &schedule) const {
  // All replicas share the samples of each micro-batch.
  if (microbatchesInRound == 1) {
    ofGroup.subject =
        problem->replicas.numberOn(static_cast<int32_t>(ofGroup.subject), rank);
    schedule.append(ofGroup);
    return;
  }
  forEachOfRounds(ofGroup.index, ofGroup.count, [&](int64_t microbatch) {
    if (auto task = taskOn(rank, ofGroup, microbatch))
      schedule.append(*task);
  });
}

/// The end of the run of actions from `i` that is written micro-batch by
/// micro-batch. If no stage needs an F, its backward need not wait for the
/// other Fs of the round.
int64_t RankGroups::endOfRun(ActionRange order, int64_t i,
                             const std::vector<bool> &feeds) const {
  const Action first = order[i];
  int64_t end = i + 1;
  if (first.kind() != ActionKind::Forward || feeds[first.subject])
    return end;
  while (end < order.size() && order[end].isTask() &&
         order[end].subject == first.subject &&
         order[end].index == first.index &&
         order[end].kind() != ActionKind::WeightGrad)
    ++end;
  return end;
}

Schedule RankGroups::spread(const Schedule &ofGroups) const {
  // [stage]: whether another stage needs its F.
  std::vector<bool> feeds(problem->numStages());
  for (const Edge &edge : problem->edges)
    if (edge.producer == ActionKind::Forward)
      feeds[problem->replicas[edge.from].stage] = true;
  Schedule schedule;
  for (int32_t r = 0; r < problem->numRanks(); ++r) {
    const ActionRange order =
        groupOf[r] == noGroup ? ActionRange() : ofGroups.rank(groupOf[r]);
    for (int64_t i = 0; i < order.size();) {
      Action action = order[i];
      if (action.kind() == ActionKind::Step) {
        // Steps are numbered by iterations.
        action.subject =
            problem->replicas.numberOn(static_cast<int32_t>(action.subject), r);
        schedule.append(action);
        ++i;
        continue;
      }
      if (action.count > 1) {
        spreadBackward(r, action, schedule);
        ++i;
        continue;
      }
      const int64_t end = endOfRun(order, i, feeds);
      forEachOfRounds(action.index, 1, [&](int64_t microbatch) {
        for (int64_t k = i; k < end; ++k)
          if (auto task = taskOn(r, order[k], microbatch))
            schedule.append(*task);
      });
      i = end;
    }
    schedule.endRank();
  }
  for (const auto &[pair, tasks] : ofGroups.linkOrders)
    spreadLinkOrder(pair, tasks, schedule);
  return schedule;
}

/// Each pair of ranks gets those messages of its pair of groups that have a
/// part between these ranks.
void RankGroups::spreadLinkOrder(std::pair<int32_t, int32_t> groups,
                                 const std::vector<Action> &tasks,
                                 Schedule &schedule) const {
  // [pair of ranks]: the edges between them.
  std::map<std::pair<int32_t, int32_t>, std::vector<Edge>> parts;
  for (const Edge &edge : problem->edges) {
    const int32_t from = problem->rankOf(edge.from),
                  to = problem->rankOf(edge.to);
    if (from != to && groupOf[from] == groups.first &&
        groupOf[to] == groups.second)
      parts[{from, to}].push_back(edge);
  }
  for (const auto &[ranks, edges] : parts)
    for (Action ofGroup : tasks)
      forEachOfRounds(ofGroup.index, 1, [&](int64_t microbatch) {
        const auto task = taskOn(ranks.first, ofGroup, microbatch);
        auto sends = [&](const Edge &edge) {
          return edge.from == static_cast<int32_t>(task->subject) &&
                 edge.message() == task->traits().produces &&
                 problem->carries(edge, microbatch);
        };
        if (task && std::any_of(edges.begin(), edges.end(), sends))
          schedule.linkOrders[ranks].push_back(*task);
      });
}
