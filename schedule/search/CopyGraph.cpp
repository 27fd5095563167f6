//===- CopyGraph.cpp - Tasks and copies of all micro-batches --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/CopyGraph.h"

#include "schedule/model/EdgeTable.h"
#include "schedule/simulate/Network.h"

#include <algorithm>
#include <numeric>

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
      : problem(problem), isFused(isFused), edges(problem), links(problem) {
    const HostMemory &host = problem.hostMemory;
    graph.microbatches = problem.microbatches;
    graph.ranks = problem.numRanks();
    graph.links = links.count();
    graph.objective = problem.objective;
    graph.caps = problem.memoryCaps;
    graph.pairs.resize(graph.ranks);
    graph.numActions.resize(graph.ranks);
    for (int32_t r = 0; r < graph.ranks; ++r) {
      graph.hostCaps.push_back(host.cap(r));
      graph.sharedLinks.push_back(host.sharedLink(r));
    }
    for (const SharedHostLink &shared : host.shared)
      graph.isSharedHalf.push_back(shared.isHalf);
  }

  CopyGraph build() {
    const int32_t replicas = problem.numReplicas();
    graph.rows.resize(size_t(replicas) * rowsPerReplica);
    graph.exists.resize(graph.rows.size() * graph.microbatches);
    graph.numInputs.resize(graph.exists.size());
    for (size_t row = 0; row < graph.rows.size(); ++row)
      for (int32_t i = 0; i < graph.microbatches; ++i) {
        graph.rowNumbers.push_back(static_cast<int32_t>(row));
        graph.microbatchNumbers.push_back(i);
      }
    for (int32_t replica = 0; replica < replicas; ++replica)
      for (ActionKind kind : rowKinds)
        if (hasRow(replica, kind))
          addRow(replica, kind);
    for (int32_t replica = 0; replica < replicas; ++replica)
      for (ActionKind kind : {ActionKind::Forward, ActionKind::InputGrad})
        addOutputs(replica, kind);
    addSources();
    // If stages assign micro-batches, an edge carries some of them only.
    if (!problem.replicas.areRoundRobin())
      addTails();
    return std::move(graph);
  }

private:
  int32_t rowOf(int32_t replica, ActionKind kind) const {
    return replica * rowsPerReplica + indexOfKind(kind);
  }

  bool hasRow(int32_t replica, ActionKind kind) const {
    switch (kind) {
    case ActionKind::Save:
    case ActionKind::Load:
      return problem.hostMemory.mayCopy(replica);
    case ActionKind::Recompute:
      return problem.recomputes(replica);
    case ActionKind::WeightGrad:
      return !isFused;
    default:
      return true;
    }
  }

  ActionKind consumerOf(int32_t replica) const {
    const ActionKind kind =
        rondo::consumerOf(*problem.hostMemory.loads[replica]);
    return isFused && kind == ActionKind::WeightGrad ? ActionKind::InputGrad
                                                     : kind;
  }

  ActionKind before(int32_t replica, ActionKind kind) const {
    switch (kind) {
    case ActionKind::Load:
      return ActionKind::Save;
    case ActionKind::WeightGrad:
      return ActionKind::InputGrad;
    case ActionKind::InputGrad:
      if (problem.recomputes(replica))
        return ActionKind::Recompute;
      break;
    default:
      break;
    }
    return ActionKind::Forward;
  }

  void addRow(int32_t replica, ActionKind kind) {
    const int32_t number = rowOf(replica, kind), rank = problem.rankOf(replica);
    CopyRow &row = graph.rows[number];
    row.kind =
        isFused && kind == ActionKind::InputGrad ? ActionKind::Backward : kind;
    row.rank = rank;
    row.replica = replica;
    const Lane lane = problem.hostMemory.laneOf(rank, kind);
    row.lane = lane == Lane::CopyOut ? 1 : lane == Lane::CopyIn ? 2 : 0;
    row.isOrdered = kind == ActionKind::WeightGrad;
    if (kind != ActionKind::Forward)
      row.before = rowOf(replica, before(replica, kind));
    const Cost &cost = problem.cost(replica, row.kind);
    row.ns = cost.ns;
    row.takes = cost.acquireBytes;
    row.frees = cost.releaseBytes;
    if (kind == ActionKind::Save)
      row.hostTakes = cost.releaseBytes;
    if (kind == ActionKind::Load)
      row.hostFrees = cost.acquireBytes;
    const bool mayCopy = problem.hostMemory.mayCopy(replica);
    if (mayCopy && kind == consumerOf(replica)) {
      row.load = rowOf(replica, ActionKind::Load);
      if (problem.cost(replica, ActionKind::Save).releaseBytes > 0)
        graph.pairs[rank].push_back({rowOf(replica, ActionKind::Forward),
                                     rowOf(replica, ActionKind::Save), row.load,
                                     number});
    }
    for (int32_t i = 0; i < graph.microbatches; ++i) {
      const bool exists = problem.replicas[replica].takes(i);
      graph.exists[graph.id(number, i)] = exists;
      graph.numActions[rank] += exists;
    }
  }

  void addOutputs(int32_t replica, ActionKind kind) {
    CopyRow &row = graph.rows[rowOf(replica, kind)];
    row.outputBegin = static_cast<int32_t>(graph.outputs.size());
    for (int32_t e : edges.outputs(replica, row.kind)) {
      const Edge &edge = problem.edges[e];
      CopyOutput output;
      output.row = rowOf(edge.to, kind);
      if (output.link = links.ofEdge(e); output.link >= 0) {
        const Link &link = links[output.link].link;
        output.occupancyNs = link.occupancyNs(edge.bytes);
        output.latencyNs = link.latencyNs;
      }
      graph.outputs.push_back(output);
      for (int32_t i = 0; i < graph.microbatches; ++i)
        if (problem.carries(edge, i))
          ++graph.numInputs[graph.id(output.row, i)];
    }
    row.outputEnd = static_cast<int32_t>(graph.outputs.size());
  }

  /// Edges of F lead to later stages, those of I to earlier ones.
  void addTails() {
    const auto lengthen = [&](int32_t number, int32_t next, int64_t delayNs) {
      CopyRow &row = graph.rows[number];
      row.tailNs = std::max(row.tailNs, delayNs + graph.rows[next].ns +
                                            graph.rows[next].tailNs);
    };
    const auto follow = [&](int32_t number) {
      const CopyRow &row = graph.rows[number];
      for (int32_t o = row.outputBegin; o < row.outputEnd; ++o)
        lengthen(number, graph.outputs[o].row,
                 graph.outputs[o].occupancyNs + graph.outputs[o].latencyNs);
    };
    const int32_t replicas = problem.numReplicas();
    for (int32_t replica = 0; replica < replicas; ++replica) {
      const int32_t number = rowOf(replica, ActionKind::InputGrad);
      if (!isFused)
        lengthen(number, rowOf(replica, ActionKind::WeightGrad), 0);
      follow(number);
      if (problem.recomputes(replica))
        lengthen(rowOf(replica, ActionKind::Recompute), number, 0);
    }
    for (int32_t replica = replicas; replica-- > 0;) {
      const int32_t number = rowOf(replica, ActionKind::Forward);
      follow(number);
      lengthen(number,
               rowOf(replica, before(replica, ActionKind::InputGrad) ==
                                      ActionKind::Recompute
                                  ? ActionKind::Recompute
                                  : ActionKind::InputGrad),
               0);
      if (!problem.hostMemory.mayCopy(replica))
        continue;
      const int32_t load = rowOf(replica, ActionKind::Load);
      lengthen(load, rowOf(replica, consumerOf(replica)), 0);
      lengthen(rowOf(replica, ActionKind::Save), load, 0);
    }
  }

  void addSources() {
    std::vector<std::vector<int32_t>> sources(graph.rows.size());
    for (size_t i = 0; i < graph.rows.size(); ++i)
      for (int32_t o = graph.rows[i].outputBegin; o < graph.rows[i].outputEnd;
           ++o)
        if (graph.outputs[o].link < 0)
          sources[graph.outputs[o].row].push_back(static_cast<int32_t>(i));
    for (size_t i = 0; i < graph.rows.size(); ++i) {
      graph.rows[i].sourceBegin = static_cast<int32_t>(graph.sources.size());
      graph.sources.insert(graph.sources.end(), sources[i].begin(),
                           sources[i].end());
      graph.rows[i].sourceEnd = static_cast<int32_t>(graph.sources.size());
    }
  }

  const Problem &problem;
  const bool isFused;
  const EdgeTable edges;
  const LinkTable links;
  CopyGraph graph;
};

} // namespace

int32_t CopyGraph::rowOf(int32_t replica, ActionKind kind) const {
  const int32_t index = indexOfKind(kind);
  return index < 0 ? -1 : replica * rowsPerReplica + index;
}

int32_t CopyGraph::numReplicas() const {
  return static_cast<int32_t>(rows.size()) / rowsPerReplica;
}

std::optional<CopyGraph> rondo::makeCopyGraph(const Problem &problem,
                                              bool isFused) {
  if (problem.hasRecomputationAcross())
    return std::nullopt;
  return Builder(problem, isFused).build();
}

int32_t CopyLists::total() const {
  return std::accumulate(length.begin(), length.end(), 0);
}

CopyLists rondo::makeLists(const CopyGraph &graph) {
  CopyLists lists;
  int32_t begin = 0;
  for (int32_t r = 0; r < graph.ranks; ++r) {
    lists.begin.push_back(begin);
    begin += graph.numActions[r];
  }
  lists.length.resize(graph.ranks);
  lists.tasks.resize(begin);
  return lists;
}

bool rondo::readLists(const CopyGraph &graph, const Schedule &schedule,
                      CopyLists &lists) {
  lists = makeLists(graph);
  int32_t tasks = 0;
  for (int32_t r = 0; r < graph.ranks; ++r)
    for (Action action : schedule.rank(r)) {
      const int32_t row =
          graph.rowOf(static_cast<int32_t>(action.subject), action.kind());
      if (row < 0 || action.count != 1 ||
          graph.rows[row].kind != action.kind() ||
          lists.length[r] == graph.numActions[r])
        return false;
      tasks += !isCopy(action.kind());
      lists.rank(r)[lists.length[r]++] =
          graph.id(row, static_cast<int32_t>(action.index));
    }
  int32_t expected = 0;
  for (CopyTaskId t = 0; t < graph.size(); ++t)
    expected += graph.exists[t] && !isCopy(graph.row(t).kind);
  return tasks == expected;
}

Schedule rondo::toSchedule(const CopyGraph &graph, const CopyLists &lists) {
  Schedule schedule;
  schedule.reserve(lists.total());
  for (int32_t r = 0; r < graph.ranks; ++r) {
    for (const CopyTaskId *t = lists.rank(r),
                          *end = lists.rank(r) + lists.length[r];
         t < end; ++t) {
      const CopyRow &row = graph.row(*t);
      schedule.append(Action(row.kind, row.replica, graph.microbatchOf(*t)));
    }
    schedule.endRank();
  }
  return schedule;
}
