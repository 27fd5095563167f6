//===- TaskGraph.cpp - The tasks of all micro-batches ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/uneven/TaskGraph.h"

#include "schedule/model/EdgeTable.h"
#include "schedule/simulate/Network.h"

using namespace rondo;

int32_t TaskGraph::numListed() const {
  int32_t count = 0;
  for (TaskId t = 0; t < size(); ++t)
    count += exists[t] && !(isFused && taskOf(t) == Task::W);
  return count;
}

void TaskGraph::append(TaskId t, Schedule &schedule) const {
  const int32_t replica = replicaOf(t), microbatch = places[t].microbatch;
  const Task task = taskOf(t);
  if (task == Task::I && recomputes[replica])
    schedule.append(Action(ActionKind::Recompute, replica, microbatch));
  schedule.append(
      Action(task == Task::I && isFused ? ActionKind::Backward : kindOf(task),
             replica, microbatch));
}

namespace {

class Builder {
public:
  Builder(const Problem &problem, bool isFused)
      : problem(problem), edges(problem), links(problem) {
    graph.microbatches = problem.microbatches;
    graph.replicas = problem.numReplicas();
    graph.ranks = problem.numRanks();
    graph.links = links.count();
    graph.objective = problem.objective;
    graph.isFused = isFused;
    graph.caps = problem.memoryCaps;
    graph.replicasOf = problem.replicas.byRank(problem.numRanks());
  }

  TaskGraph build() {
    const size_t size = size_t(graph.replicas) * tasksPerMicrobatch *
                        size_t(graph.microbatches);
    graph.ns.resize(size);
    graph.takes.resize(size);
    graph.frees.resize(size);
    graph.exists.resize(size);
    graph.numInputs.resize(size);
    for (int32_t replica = 0; replica < graph.replicas; ++replica) {
      graph.recomputes.push_back(problem.recomputes(replica));
      for (Task task : allTasks)
        for (int32_t i = 0; i < graph.microbatches; ++i)
          addTask(replica, task, i);
    }
    graph.outputBegin.push_back(static_cast<int32_t>(graph.outputs.size()));
    return std::move(graph);
  }

private:
  void addTask(int32_t replica, Task task, int32_t i) {
    const TaskId t = graph.id(replica, task, i);
    graph.outputBegin.push_back(static_cast<int32_t>(graph.outputs.size()));
    graph.places.push_back({problem.rankOf(replica), i,
                            replica * tasksPerMicrobatch + indexOf(task),
                            task});
    graph.exists[t] = problem.replicas[replica].takes(i);
    if (!graph.exists[t] || (graph.isFused && task == Task::W))
      return;
    const ActionKind kind =
        graph.isFused && task == Task::I ? ActionKind::Backward : kindOf(task);
    const Cost &cost = problem.cost(replica, kind, i);
    graph.ns[t] = cost.ns;
    graph.takes[t] = cost.acquireBytes;
    graph.frees[t] = cost.releaseBytes;
    if (task == Task::I && graph.recomputes[replica]) {
      const Cost &again = problem.cost(replica, ActionKind::Recompute, i);
      graph.ns[t] += again.ns;
      graph.takes[t] += again.acquireBytes;
      graph.frees[t] += again.releaseBytes;
    }
    for (int32_t e : edges.outputs(replica, kind)) {
      const Edge &edge = problem.edges[e];
      if (!problem.carries(edge, i))
        continue;
      TaskOutput &output = graph.outputs.emplace_back();
      output.to = graph.id(edge.to, task, i);
      ++graph.numInputs[output.to];
      if ((output.link = links.ofEdge(e)) < 0)
        continue;
      const Link &link = links[output.link].link;
      output.occupancyNs = link.occupancyNs(problem.bytesOf(e, i));
      output.latencyNs = link.latencyNs;
    }
  }

  const Problem &problem;
  const EdgeTable edges;
  const LinkTable links;
  TaskGraph graph;
};

} // namespace

std::optional<TaskGraph> rondo::makeTaskGraph(const Problem &problem,
                                              bool isFused) {
  if (problem.hasRecomputationAcross())
    return std::nullopt;
  return Builder(problem, isFused).build();
}
