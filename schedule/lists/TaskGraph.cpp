//===- TaskGraph.cpp - Tasks and copies of all micro-batches --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/lists/TaskGraph.h"

#include "schedule/model/EdgeTable.h"
#include "schedule/simulate/Network.h"

#include <algorithm>

using namespace rondo;

namespace {

/// The rows of a replica, in this order.
constexpr ActionKind rowKinds[] = {
    ActionKind::Forward,   ActionKind::Save,      ActionKind::Load,
    ActionKind::Recompute, ActionKind::InputGrad, ActionKind::WeightGrad};
constexpr int32_t rowsPerReplica = std::size(rowKinds);

constexpr int32_t indexOfKind(ActionKind kind) {
  if (kind == ActionKind::Backward)
    kind = ActionKind::InputGrad;
  for (int32_t i = 0; i < rowsPerReplica; ++i)
    if (rowKinds[i] == kind)
      return i;
  return -1;
}

class Builder {
public:
  Builder(const Problem &problem, bool isFused)
      : problem(problem), edges(problem), links(problem) {
    const HostMemory &host = problem.hostMemory;
    graph.microbatches = problem.microbatches;
    graph.ranks = problem.numRanks();
    graph.links = links.count();
    graph.objective = problem.objective;
    graph.isFused = isFused;
    graph.caps = problem.memoryCaps;
    graph.replicasOf = problem.replicas.byRank(graph.ranks);
    graph.mayCopy.resize(graph.ranks);
    graph.pairs.resize(graph.ranks);
    graph.numActions.resize(graph.ranks);
    for (int32_t r = 0; r < graph.ranks; ++r) {
      graph.hostCaps.push_back(host.cap(r));
      graph.sharedLinks.push_back(host.sharedLink(r));
    }
    for (const SharedHostLink &shared : host.shared)
      graph.isSharedHalf.push_back(shared.isHalf);
  }

  TaskGraph build() {
    const int32_t replicas = problem.numReplicas();
    graph.rows.resize(size_t(replicas) * rowsPerReplica);
    sources.resize(graph.rows.size());
    const size_t size = graph.rows.size() * size_t(graph.microbatches);
    graph.tasks.resize(size);
    graph.exists.resize(size);
    graph.numInputs.resize(size);
    for (int32_t replica = 0; replica < replicas; ++replica)
      for (ActionKind kind : rowKinds)
        addRow(replica, kind);
    for (const std::vector<int32_t> &own : sources) {
      TaskRow &row = graph.rows[&own - sources.data()];
      row.sourceBegin = static_cast<int32_t>(graph.sources.size());
      graph.sources.insert(graph.sources.end(), own.begin(), own.end());
      row.sourceEnd = static_cast<int32_t>(graph.sources.size());
    }
    for (TaskFigures &task : graph.tasks) {
      const TaskRow &row = graph.rows[task.row];
      task.lane = static_cast<uint8_t>(row.lane);
      task.hasSources = row.sourceBegin < row.sourceEnd;
      if (row.before >= 0)
        task.before = graph.id(row.before, task.microbatch);
      if (row.load >= 0)
        task.load = graph.id(row.load, task.microbatch);
    }
    addTails();
    return std::move(graph);
  }

private:
  bool hasRow(int32_t replica, ActionKind kind) const {
    switch (kind) {
    case ActionKind::Save:
    case ActionKind::Load:
      return problem.hostMemory.mayCopy(replica);
    case ActionKind::Recompute:
      return problem.recomputes(replica);
    case ActionKind::WeightGrad:
      return !graph.isFused;
    default:
      return true;
    }
  }

  ActionKind consumerOf(int32_t replica) const {
    const ActionKind kind =
        rondo::consumerOf(*problem.hostMemory.loads[replica]);
    return graph.isFused && kind == ActionKind::WeightGrad
               ? ActionKind::InputGrad
               : kind;
  }

  ActionKind before(int32_t replica, ActionKind kind) const {
    if (kind == ActionKind::Load)
      return ActionKind::Save;
    if (kind == ActionKind::WeightGrad)
      return ActionKind::InputGrad;
    return kind == ActionKind::InputGrad && problem.recomputes(replica)
               ? ActionKind::Recompute
               : ActionKind::Forward;
  }

  void addRow(int32_t replica, ActionKind kind) {
    const int32_t number = graph.rowOf(replica, kind),
                  rank = problem.rankOf(replica);
    TaskRow &row = graph.rows[number];
    row.kind = graph.isFused && kind == ActionKind::InputGrad
                   ? ActionKind::Backward
                   : kind;
    row.rank = rank;
    row.replica = replica;
    const bool hasTasks = hasRow(replica, kind);
    for (int32_t i = 0; i < graph.microbatches; ++i) {
      const TaskId t = graph.id(number, i);
      TaskFigures &task = graph.tasks[t];
      task.row = number;
      task.microbatch = i;
      task.rank = rank;
      task.outputBegin = static_cast<int32_t>(graph.outputs.size());
      const bool isTaken = problem.replicas[replica].takes(i);
      graph.isWhole &= isTaken;
      graph.exists[t] = hasTasks && isTaken;
      if (graph.exists[t]) {
        ++graph.numActions[rank];
        const Cost &cost = problem.cost(replica, row.kind, i);
        task.ns = cost.ns;
        task.takes = cost.acquireBytes;
        task.frees = cost.releaseBytes;
        if (kind == ActionKind::Forward || kind == ActionKind::InputGrad)
          addOutputs(row, kind, i);
      }
      task.outputEnd = static_cast<int32_t>(graph.outputs.size());
    }
    if (!hasTasks)
      return;
    const Lane lane = problem.hostMemory.laneOf(rank, kind);
    row.lane = lane == Lane::CopyOut ? 1 : lane == Lane::CopyIn ? 2 : 0;
    if (kind != ActionKind::Forward)
      row.before = graph.rowOf(replica, before(replica, kind));
    if (!problem.hostMemory.mayCopy(replica) || kind != consumerOf(replica))
      return;
    graph.mayCopy[rank] = true;
    row.load = graph.rowOf(replica, ActionKind::Load);
    const int32_t save = graph.rowOf(replica, ActionKind::Save);
    bool hasBytes = false;
    for (int32_t i = 0; i < graph.microbatches; ++i)
      hasBytes |= graph.tasks[graph.id(save, i)].frees > 0;
    if (hasBytes)
      graph.pairs[rank].push_back(
          {graph.rowOf(replica, ActionKind::Forward), save, row.load, number});
  }

  void addOutputs(const TaskRow &row, ActionKind kind, int32_t i) {
    for (int32_t e : edges.outputs(row.replica, row.kind)) {
      const Edge &edge = problem.edges[e];
      if (!problem.carries(edge, i))
        continue;
      TaskOutput &output = graph.outputs.emplace_back();
      const int32_t to = graph.rowOf(edge.to, kind);
      output.to = graph.id(to, i);
      ++graph.numInputs[output.to];
      if (output.link = links.ofEdge(e); output.link >= 0) {
        const Link &link = links[output.link].link;
        output.occupancyNs = link.occupancyNs(problem.bytesOf(e, i));
        output.latencyNs = link.latencyNs;
      } else if (const int32_t from = graph.rowOf(row.replica, kind);
                 sources[to].empty() || sources[to].back() != from) {
        sources[to].push_back(from);
      }
    }
  }

  void lengthen(TaskId t, TaskId next, int64_t delayNs) {
    if (graph.exists[t] && graph.exists[next])
      graph.tasks[t].tailNs =
          std::max(graph.tasks[t].tailNs,
                   delayNs + graph.tasks[next].ns + graph.tasks[next].tailNs);
  }

  /// Edges of F lead to later stages, those of I to earlier ones.
  void addTails() {
    const auto addRowTails = [&](int32_t replica, ActionKind kind) {
      const int32_t row = graph.rowOf(replica, kind);
      for (int32_t i = 0; i < graph.microbatches; ++i) {
        const TaskId t = graph.id(row, i);
        const TaskFigures &task = graph.tasks[t];
        for (int32_t o = task.outputBegin; o < task.outputEnd; ++o)
          lengthen(t, graph.outputs[o].to,
                   graph.outputs[o].occupancyNs + graph.outputs[o].latencyNs);
        // The rows that need this one follow it.
        for (int32_t next = row + 1; next < (replica + 1) * rowsPerReplica;
             ++next)
          if (graph.rows[next].before == row || graph.rows[next].load == row)
            if (graph.rows[next].kind != ActionKind::Save)
              lengthen(t, graph.id(next, i), 0);
      }
    };
    const int32_t replicas = problem.numReplicas();
    for (int32_t replica = 0; replica < replicas; ++replica)
      for (ActionKind kind : {ActionKind::WeightGrad, ActionKind::InputGrad,
                              ActionKind::Recompute})
        addRowTails(replica, kind);
    for (int32_t replica = replicas; replica-- > 0;)
      for (ActionKind kind :
           {ActionKind::Load, ActionKind::Save, ActionKind::Forward})
        addRowTails(replica, kind);
  }

  const Problem &problem;
  const EdgeTable edges;
  const LinkTable links;
  TaskGraph graph;
  /// [row].
  std::vector<std::vector<int32_t>> sources;
};

} // namespace

int32_t TaskGraph::rowOf(int32_t replica, ActionKind kind) const {
  const int32_t index = indexOfKind(kind);
  return index < 0 ? -1 : replica * rowsPerReplica + index;
}

int32_t TaskGraph::numReplicas() const {
  return static_cast<int32_t>(rows.size()) / rowsPerReplica;
}

int32_t TaskGraph::numTasks() const {
  int32_t count = 0;
  for (TaskId t = 0; t < size(); ++t)
    count += exists[t] && !isCopy(row(t).kind);
  return count;
}

bool TaskGraph::isOrdered(OrderClass orders, const TaskRow &row) const {
  if (row.kind == ActionKind::WeightGrad || row.kind == ActionKind::Backward)
    return ordersWeightGrads(orders);
  return ordersForwards(orders) &&
         (row.kind == ActionKind::Forward || row.kind == ActionKind::InputGrad);
}

std::optional<TaskGraph> rondo::makeTaskGraph(const Problem &problem,
                                              bool isFused) {
  if (problem.hasRecomputationAcross())
    return std::nullopt;
  return Builder(problem, isFused).build();
}
