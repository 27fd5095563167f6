//===- UnevenBounds.cpp - Bounds if micro-batches differ ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/UnevenBounds.h"

#include "schedule/bounds/CopyAreas.h"
#include "schedule/lists/TaskGraph.h"
#include "schedule/model/Infinity.h"
#include "schedule/partial/PreemptiveBound.h"

#include <algorithm>

using namespace rondo;

namespace {

/// The tasks of a replica's micro-batch, in their order.
constexpr ActionKind taskKinds[] = {ActionKind::Forward, ActionKind::Recompute,
                                    ActionKind::InputGrad,
                                    ActionKind::WeightGrad};

/// Heads and tails of all tasks in the least times of a backward, fused or
/// split. R may run before its gradient arrives.
struct Paths {
  TaskGraph graph;
  /// [task]: its earliest start; the longest path after its end.
  std::vector<int64_t> heads, tails;
  /// [task]: of F, the least time from its end to the start of its I.
  std::vector<int64_t> returns;

  explicit Paths(const Problem &problem, TaskGraph tasks)
      : graph(std::move(tasks)), heads(graph.size()), tails(graph.size()),
        returns(graph.size()) {
    useLeastBackwards(problem);
    const int32_t replicas = graph.numReplicas();
    const auto forward = [&](int32_t replica, ActionKind kind) {
      forEachTask(replica, kind, [&](TaskId t) { passOn(t); });
    };
    const auto back = [&](int32_t replica, ActionKind kind) {
      forEachTask(replica, kind, [&](TaskId t) { passBack(t); });
    };
    for (int32_t replica = 0; replica < replicas; ++replica) {
      forward(replica, ActionKind::Forward);
      forward(replica, ActionKind::Recompute);
    }
    for (int32_t replica = replicas; replica-- > 0;)
      forward(replica, ActionKind::InputGrad);
    for (int32_t replica = 0; replica < replicas; ++replica) {
      back(replica, ActionKind::InputGrad);
      back(replica, ActionKind::Recompute);
    }
    for (int32_t replica = replicas; replica-- > 0;)
      back(replica, ActionKind::Forward);
    findReturns();
  }

  int64_t ns(TaskId t) const { return graph.tasks[t].ns; }
  int32_t microbatchOf(TaskId t) const { return graph.tasks[t].microbatch; }
  /// The task of another kind of the same replica and micro-batch.
  TaskId peer(TaskId t, ActionKind kind) const {
    return graph.id(graph.row(t).replica, kind, microbatchOf(t));
  }
  /// The next task of the replica's micro-batch. Precondition: not W.
  TaskId after(TaskId t) const {
    const ActionKind kind = graph.row(t).kind;
    if (kind == ActionKind::Forward)
      if (const TaskId again = peer(t, ActionKind::Recompute);
          graph.exists[again])
        return again;
    return peer(t, kind == ActionKind::InputGrad ? ActionKind::WeightGrad
                                                 : ActionKind::InputGrad);
  }

  template <typename Visit>
  void forEachTask(int32_t replica, ActionKind kind, const Visit &visit) const {
    for (int32_t i = 0; i < graph.microbatches; ++i)
      if (const TaskId t = graph.id(replica, kind, i); graph.exists[t])
        visit(t);
  }
  template <typename Visit>
  void forEachTaskOf(int32_t rank, const Visit &visit) const {
    for (int32_t replica : graph.replicasOf[rank])
      for (ActionKind kind : taskKinds)
        forEachTask(replica, kind, visit);
  }

private:
  void useLeastBackwards(const Problem &problem) {
    for (int32_t replica = 0; replica < graph.numReplicas(); ++replica)
      forEachTask(replica, ActionKind::InputGrad, [&](TaskId t) {
        int64_t &own = graph.tasks[t].ns, &last = graph.tasks[after(t)].ns;
        const int64_t both = std::min(
            own + last,
            problem.cost(replica, ActionKind::Backward, microbatchOf(t)).ns);
        own = std::min(own, both);
        last = both - own;
      });
  }

  void passOn(TaskId t) {
    const int64_t end = heads[t] + ns(t);
    heads[after(t)] = std::max(heads[after(t)], end);
    forEachOutput(t, [&](TaskId to, int64_t delay) {
      heads[to] = std::max(heads[to], end + delay);
    });
  }
  void passBack(TaskId t) {
    tails[t] = ns(after(t)) + tails[after(t)];
    forEachOutput(t, [&](TaskId to, int64_t delay) {
      tails[t] = std::max(tails[t], delay + ns(to) + tails[to]);
    });
  }
  template <typename Visit>
  void forEachOutput(TaskId t, const Visit &visit) const {
    const TaskFigures &task = graph.tasks[t];
    for (int32_t o = task.outputBegin; o < task.outputEnd; ++o)
      visit(graph.outputs[o].to,
            graph.outputs[o].occupancyNs + graph.outputs[o].latencyNs);
  }

  /// From the end of F of a replica to its I, by the replicas that follow it.
  /// O(replicas^2) for each micro-batch.
  void findReturns() {
    const int32_t replicas = graph.numReplicas();
    std::vector<int64_t> at(graph.size());
    for (int32_t replica = 0; replica < replicas; ++replica)
      forEachTask(replica, ActionKind::Forward, [&](TaskId first) {
        const int32_t i = microbatchOf(first);
        const auto reach = [&](int32_t other, ActionKind kind) {
          const TaskId t = graph.id(other, kind, i);
          if (!graph.exists[t] || (at[t] < 0 && t != first))
            return;
          const int64_t end = t == first ? 0 : at[t] + ns(t);
          at[after(t)] = std::max(at[after(t)], end);
          forEachOutput(t, [&](TaskId to, int64_t delay) {
            at[to] = std::max(at[to], end + delay);
          });
        };
        for (int32_t other = replica; other < replicas; ++other)
          for (ActionKind kind : taskKinds)
            at[graph.id(other, kind, i)] = -1;
        for (int32_t other = replica; other < replicas; ++other) {
          reach(other, ActionKind::Forward);
          reach(other, ActionKind::Recompute);
        }
        for (int32_t other = replicas; --other > replica;)
          reach(other, ActionKind::InputGrad);
        returns[first] = at[peer(first, ActionKind::InputGrad)];
      });
  }
};

std::optional<Paths> pathsOf(const Problem &problem) {
  std::optional<TaskGraph> graph = makeTaskGraph(problem, /*isFused=*/false);
  if (!graph)
    return std::nullopt;
  return Paths(problem, std::move(*graph));
}

} // namespace

int64_t rondo::unevenRankWork(const Problem &problem) {
  const auto paths = pathsOf(problem);
  int64_t best = 0;
  for (int32_t rank = 0; paths && rank < problem.numRanks(); ++rank) {
    int64_t work = 0, head = infinite, tail = infinite;
    paths->forEachTaskOf(rank, [&](TaskId t) {
      work += paths->ns(t);
      head = std::min(head, paths->heads[t]);
      tail = std::min(tail, paths->tails[t]);
    });
    if (work == 0)
      continue;
    int64_t ends = head + tail;
    if (problem.objective == Objective::Span)
      ends = 0;
    best = std::max(best, work + ends);
  }
  return best;
}

int64_t rondo::unevenCriticalPath(const Problem &problem) {
  const auto paths = pathsOf(problem);
  int64_t best = 0;
  if (paths && problem.objective == Objective::Makespan)
    for (TaskId t = 0; t < paths->graph.size(); ++t)
      best = std::max(best, paths->heads[t] + paths->ns(t) + paths->tails[t]);
  return best;
}

/// A link carries one message at a time, from the end of its producer on.
static int64_t jacksonOfLinks(const Paths &paths) {
  const TaskGraph &graph = paths.graph;
  struct Message {
    int64_t head, tail, ns;
  };
  std::vector<std::vector<Message>> byLink(graph.links);
  for (TaskId t = 0; t < graph.size(); ++t)
    for (int32_t o = graph.tasks[t].outputBegin; o < graph.tasks[t].outputEnd;
         ++o)
      if (const TaskOutput &output = graph.outputs[o];
          output.link >= 0 && output.occupancyNs > 0)
        byLink[output.link].push_back(
            {paths.heads[t] + paths.ns(t),
             output.latencyNs + paths.ns(output.to) + paths.tails[output.to],
             output.occupancyNs});
  int64_t best = 0;
  PreemptiveBound machine;
  for (const std::vector<Message> &messages : byLink) {
    machine.clear();
    for (const Message &message : messages)
      machine.add(&message.head, &message.tail, message.ns, 0, 1);
    best = machine.run(0, best);
  }
  return best;
}

int64_t rondo::unevenJackson(const Problem &problem) {
  const auto paths = pathsOf(problem);
  int64_t best = 0;
  if (!paths || problem.objective == Objective::Span)
    return best;
  PreemptiveBound machine;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    machine.clear();
    paths->forEachTaskOf(rank, [&](TaskId t) {
      if (paths->ns(t) > 0)
        machine.add(&paths->heads[t], &paths->tails[t], paths->ns(t), 0, 1);
    });
    best = machine.run(0, best);
  }
  return std::max(best, jacksonOfLinks(*paths));
}

/// Adds the copy of the micro-batch of an F.
static void addCopy(CopyAreas &areas, const Paths &paths, TaskId forward) {
  const HostMemory &host = areas.problem.hostMemory;
  const TaskRow &row = paths.graph.row(forward);
  if (!host.mayCopy(row.replica))
    return;
  const auto costOf = [&](ActionKind kind) {
    return areas.problem.cost(row.replica, kind, paths.microbatchOf(forward));
  };
  const TaskId inputGrad = paths.peer(forward, ActionKind::InputGrad);
  const bool isLate = *host.loads[row.replica] == LoadBefore::WeightGrad;
  const Cost save = costOf(ActionKind::Save);
  areas.add(
      row.rank,
      {save.releaseBytes, save.ns, costOf(ActionKind::Load).ns,
       paths.returns[forward] + (isLate ? paths.ns(inputGrad) : 0),
       paths.ns(forward), paths.ns(isLate ? paths.after(inputGrad) : inputGrad),
       1},
      // Not if R changes what is held.
      areas.problem.recomputes(row.replica)
          ? 0
          : costOf(ActionKind::Forward).acquireBytes -
                (isLate ? costOf(ActionKind::InputGrad).releaseBytes : 0));
}

int64_t rondo::unevenMemory(const Problem &problem, const Problem *copying) {
  const auto paths = pathsOf(problem);
  CopyAreas areas(copying ? *copying : problem);
  int64_t best = 0;
  for (int32_t rank = 0; paths && rank < problem.numRanks(); ++rank) {
    const int64_t cap = problem.memoryCaps[rank];
    if (cap == noMemoryCap || cap <= 0)
      continue;
    // In bytes times ns.
    __int128 area = 0;
    int64_t head = infinite;
    for (int32_t replica : paths->graph.replicasOf[rank])
      paths->forEachTask(replica, ActionKind::Forward, [&](TaskId t) {
        const TaskId again = paths->peer(t, ActionKind::Recompute),
                     inputGrad = paths->peer(t, ActionKind::InputGrad);
        const auto freedBy = [&](TaskId other) {
          return paths->graph.tasks[other].frees;
        };
        const int64_t whole = paths->graph.tasks[t].takes,
                      left = std::max<int64_t>(0, whole - freedBy(again)),
                      last = std::max<int64_t>(0, left - freedBy(inputGrad));
        // R may free its part directly after F.
        const int64_t away =
            freedBy(again) > 0 ? paths->ns(again) : paths->returns[t];
        area += static_cast<__int128>(whole) * (paths->ns(t) + away);
        area += static_cast<__int128>(left) *
                (paths->returns[t] - away + paths->ns(inputGrad));
        area +=
            static_cast<__int128>(last) * paths->ns(paths->after(inputGrad));
        head = std::min(head, paths->heads[t]);
        addCopy(areas, *paths, t);
      });
    if (area == 0 || !areas.applies(rank))
      continue;
    auto ns = static_cast<int64_t>((area + cap - 1) / cap);
    if (copying)
      ns = areas.leastHorizon(double(area) / double(cap) * (1 - 1e-9),
                              double(cap), rank);
    best =
        std::max(best, ns + (problem.objective == Objective::Span ? 0 : head));
  }
  return best;
}
