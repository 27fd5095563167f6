//===- PanelOfIteration.cpp - An iteration as a prediction ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/timeline/Measured.h"

#include "formats/json/Value.h"
#include <algorithm>
#include <map>

using namespace rondo;
using namespace rondo::timeline;

static std::optional<Fault> misfit(const std::string &message) {
  return json::TextFault(message);
}

/// Stages with a replica for each replica that has tasks.
static std::optional<Fault> addReplicas(Problem &problem, int32_t numStages,
                                        const MeasuredIteration &iteration) {
  std::vector<std::map<int32_t, int32_t>> rankOf(numStages);
  for (const MeasuredTask &task : iteration.tasks) {
    const auto [replica, isNew] =
        rankOf[task.stage].insert({task.replica, task.rank});
    if (!isNew && replica->second != task.rank)
      return misfit("stage " + std::to_string(task.stage) + " is on rank " +
                    std::to_string(replica->second) + " and on rank " +
                    std::to_string(task.rank));
  }
  for (int32_t stage = 0; stage < numStages; ++stage) {
    std::vector<Share> shares;
    for (const auto &[replicaIndex, rank] : rankOf[stage]) {
      if (replicaIndex != int32_t(shares.size()))
        return misfit("the trace has no task of replica " +
                      std::to_string(shares.size()) + " of stage " +
                      std::to_string(stage));
      shares.push_back({rank});
    }
    if (shares.empty())
      return misfit("the trace has no task of stage " + std::to_string(stage));
    problem.replicas.addStage(shares);
    if (problem.numReplicas() > maxReplicas)
      return misfit("the trace has more than " + std::to_string(maxReplicas) +
                    " replicas of stages");
  }
  return std::nullopt;
}

Result<Panel> timeline::panelOf(std::string title, std::string name,
                                int32_t numStages,
                                const MeasuredIteration &iteration) {
  Panel panel;
  panel.title = std::move(title);
  Problem &problem = panel.problem;
  problem.name = std::move(name);
  problem.memoryCaps.assign(iteration.ranks.size(), noMemoryCap);
  if (std::optional<Fault> fault = addReplicas(problem, numStages, iteration))
    return *fault;
  problem.costs.resize(size_t(problem.numReplicas()) * numCostColumns);
  Timeline &timeline = panel.timeline;
  timeline.makespanNs = iteration.durationNs;
  timeline.rankBegin.assign(iteration.ranks.size() + 1, 0);
  for (const MeasuredTask &measured : iteration.tasks) {
    problem.microbatches =
        std::max(problem.microbatches, int32_t(measured.microbatch) + 1);
    TimelineTask task;
    task.action =
        Action(measured.kind,
               problem.replicas.numberOf(measured.stage, measured.replica),
               measured.microbatch);
    task.rank = measured.rank;
    task.startNs = measured.startNs;
    task.endNs = measured.endNs;
    timeline.tasks.push_back(task);
    timeline.rankBegin[measured.rank + 1] = int64_t(timeline.tasks.size());
  }
  // Ranks without tasks begin and end where the one before them ends.
  for (size_t rank = 1; rank < timeline.rankBegin.size(); ++rank)
    timeline.rankBegin[rank] =
        std::max(timeline.rankBegin[rank], timeline.rankBegin[rank - 1]);
  return panel;
}
