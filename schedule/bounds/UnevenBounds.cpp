//===- UnevenBounds.cpp - Bounds if micro-batches differ ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/UnevenBounds.h"

#include "schedule/model/Infinity.h"
#include "schedule/partial/PreemptiveBound.h"
#include "schedule/uneven/TaskGraph.h"

#include <algorithm>

using namespace rondo;

namespace {

/// Heads and tails of all tasks in the least times of a backward, fused or
/// split. R may run before its gradient arrives, so the times of I are without
/// it.
struct Paths {
  TaskGraph graph;
  /// [task]: of I, the time of the R that comes before it; else 0.
  std::vector<int64_t> againNs;
  /// [task]: its earliest start; the longest path after its end.
  std::vector<int64_t> heads, tails;
  /// [task]: of F, the least time from its end to the start of its I.
  std::vector<int64_t> returns;

  explicit Paths(const Problem &problem, TaskGraph tasks)
      : graph(std::move(tasks)), againNs(graph.size()), heads(graph.size()),
        tails(graph.size()), returns(graph.size()) {
    useLeastBackwards(problem);
    for (int32_t replica = 0; replica < graph.replicas; ++replica)
      forEachTask(replica, Task::F, [&](TaskId t) { passOn(t); });
    for (int32_t replica = graph.replicas; replica-- > 0;)
      forEachTask(replica, Task::I, [&](TaskId t) { passOn(t); });
    for (int32_t replica = 0; replica < graph.replicas; ++replica)
      forEachTask(replica, Task::I, [&](TaskId t) { passBack(t); });
    for (int32_t replica = graph.replicas; replica-- > 0;)
      forEachTask(replica, Task::F, [&](TaskId t) { passBack(t); });
    findReturns();
  }

  TaskId after(TaskId t) const { return t + graph.microbatches; }
  int64_t endOf(TaskId t) const { return heads[t] + graph.ns[t]; }

  template <typename Visit>
  void forEachTask(int32_t replica, Task task, const Visit &visit) const {
    for (int32_t i = 0; i < graph.microbatches; ++i)
      if (const TaskId t = graph.id(replica, task, i); graph.exists[t])
        visit(t);
  }
  template <typename Visit>
  void forEachTaskOf(int32_t rank, const Visit &visit) const {
    for (int32_t replica : graph.replicasOf[rank])
      for (Task task : allTasks)
        forEachTask(replica, task, visit);
  }

private:
  void useLeastBackwards(const Problem &problem) {
    for (int32_t replica = 0; replica < graph.replicas; ++replica)
      forEachTask(replica, Task::I, [&](TaskId t) {
        const int32_t i = graph.places[t].microbatch;
        if (graph.recomputes[replica])
          againNs[t] = problem.cost(replica, ActionKind::Recompute, i).ns;
        graph.ns[t] -= againNs[t];
        const int64_t both =
            std::min(graph.ns[t] + graph.ns[after(t)],
                     problem.cost(replica, ActionKind::Backward, i).ns);
        graph.ns[t] = std::min(graph.ns[t], both);
        graph.ns[after(t)] = both - graph.ns[t];
      });
  }

  void passOn(TaskId t) {
    const int64_t end = heads[t] + graph.ns[t];
    heads[after(t)] = std::max(heads[after(t)], end + againNs[after(t)]);
    forEachOutput(t, [&](TaskId to, int64_t ns) {
      heads[to] = std::max(heads[to], end + ns);
    });
  }
  void passBack(TaskId t) {
    tails[t] = againNs[after(t)] + graph.ns[after(t)] + tails[after(t)];
    forEachOutput(t, [&](TaskId to, int64_t ns) {
      tails[t] = std::max(tails[t], ns + graph.ns[to] + tails[to]);
    });
  }
  template <typename Visit>
  void forEachOutput(TaskId t, const Visit &visit) const {
    for (int32_t o = graph.outputBegin[t]; o < graph.outputBegin[t + 1]; ++o)
      visit(graph.outputs[o].to,
            graph.outputs[o].occupancyNs + graph.outputs[o].latencyNs);
  }

  /// From the end of F of a replica to its I, by the replicas that follow it.
  /// O(replicas^2) for each micro-batch.
  void findReturns() {
    std::vector<int64_t> at(graph.size());
    for (int32_t replica = 0; replica < graph.replicas; ++replica)
      forEachTask(replica, Task::F, [&](TaskId first) {
        const int32_t i = graph.places[first].microbatch;
        auto reach = [&](int32_t other, Task task, bool isReached) {
          const TaskId t = graph.id(other, task, i);
          if (!graph.exists[t] || (at[t] < 0 && !isReached))
            return;
          const int64_t end = t == first ? 0 : at[t] + graph.ns[t];
          if (task == Task::F)
            at[after(t)] = std::max(at[after(t)], end + againNs[after(t)]);
          forEachOutput(t, [&](TaskId to, int64_t ns) {
            at[to] = std::max(at[to], end + ns);
          });
        };
        for (int32_t other = replica; other < graph.replicas; ++other)
          for (Task task : {Task::F, Task::I})
            at[graph.id(other, task, i)] = -1;
        reach(replica, Task::F, true);
        for (int32_t other = replica + 1; other < graph.replicas; ++other)
          reach(other, Task::F, false);
        for (int32_t other = graph.replicas; --other > replica;)
          reach(other, Task::I, false);
        returns[first] = at[after(first)];
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
      work += paths->graph.ns[t] + paths->againNs[t];
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
      best = std::max(best,
                      paths->heads[t] + paths->graph.ns[t] + paths->tails[t]);
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
    for (int32_t o = graph.outputBegin[t]; o < graph.outputBegin[t + 1]; ++o)
      if (const TaskOutput &output = graph.outputs[o];
          output.link >= 0 && output.occupancyNs > 0)
        byLink[output.link].push_back(
            {paths.heads[t] + graph.ns[t],
             output.latencyNs + graph.ns[output.to] + paths.tails[output.to],
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
    // Each R, between F and I of its micro-batch.
    std::vector<std::pair<int64_t, int64_t>> again;
    paths->forEachTaskOf(rank, [&](TaskId t) {
      if (paths->graph.ns[t] > 0)
        machine.add(&paths->heads[t], &paths->tails[t], paths->graph.ns[t], 0,
                    1);
      if (paths->againNs[t] > 0)
        again.emplace_back(paths->endOf(paths->graph.before(t)),
                           paths->graph.ns[t] + paths->tails[t]);
    });
    size_t next = 0;
    paths->forEachTaskOf(rank, [&](TaskId t) {
      if (paths->againNs[t] > 0) {
        const auto &[head, tail] = again[next++];
        machine.add(&head, &tail, paths->againNs[t], 0, 1);
      }
    });
    best = machine.run(0, best);
  }
  return std::max(best, jacksonOfLinks(*paths));
}

int64_t rondo::unevenMemory(const Problem &problem) {
  const auto paths = pathsOf(problem);
  int64_t best = 0;
  for (int32_t rank = 0; paths && rank < problem.numRanks(); ++rank) {
    const int64_t cap = problem.memoryCaps[rank];
    if (cap == noMemoryCap || cap <= 0)
      continue;
    // In bytes times ns.
    __int128 area = 0;
    int64_t head = infinite;
    for (int32_t replica : paths->graph.replicasOf[rank])
      paths->forEachTask(replica, Task::F, [&](TaskId t) {
        const int32_t i = paths->graph.places[t].microbatch;
        const int64_t again =
            problem.cost(replica, ActionKind::Recompute, i).releaseBytes;
        const int64_t whole = paths->graph.takes[t],
                      left = std::max<int64_t>(0, whole - again),
                      last = std::max<int64_t>(
                          0,
                          left - problem.cost(replica, ActionKind::InputGrad, i)
                                     .releaseBytes);
        const TaskId inputGrad = paths->after(t);
        // R may free its part directly after F.
        const int64_t againNs = paths->againNs[inputGrad],
                      away = again > 0 ? againNs : paths->returns[t];
        area += static_cast<__int128>(whole) * (paths->graph.ns[t] + away);
        area += static_cast<__int128>(left) *
                (paths->returns[t] - away + paths->graph.ns[inputGrad]);
        area += static_cast<__int128>(last) *
                paths->graph.ns[paths->after(inputGrad)];
        head = std::min(head, paths->heads[t]);
      });
    if (area == 0)
      continue;
    const auto ns = static_cast<int64_t>((area + cap - 1) / cap);
    best =
        std::max(best, ns + (problem.objective == Objective::Span ? 0 : head));
  }
  return best;
}
