//===- Construct.cpp - Lists of tasks by priorities -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/lists/Construct.h"

#include "schedule/model/Infinity.h"
#include "schedule/model/Task.h"

#include <algorithm>

using namespace rondo;

namespace {

class Constructor {
public:
  Constructor(const TaskGraph &graph, const ConstructRule &rule,
              OrderClass orders, RankLists &lists)
      : graph(graph), rule(rule), orders(orders), lists(lists),
        arrivalNs(graph.size()), missing(graph.numInputs), isDone(graph.size()),
        linkFreeNs(graph.links), ranks(graph.ranks), turns(graph.rows.size()),
        forwardPlace(graph.microbatches) {
    for (int32_t k = 0; k < graph.microbatches; ++k)
      forwardPlace[orderOf(Task::F)[k]] = k;
  }

  bool run() {
    for (int32_t r = 0; r < graph.ranks; ++r) {
      ranks[r].begun.resize(graph.microbatches);
      ranks[r].most = mostInFlight(r);
      for (int32_t replica : graph.replicasOf[r])
        for (Task task : allTasks)
          for (int32_t i = 0; i < graph.microbatches; ++i)
            ranks[r].left += graph.exists[graph.id(replica, kindOf(task), i)];
    }
    for (;;) {
      // The rank whose next decision is the earliest.
      int32_t first = -1;
      int64_t firstNs = infinite;
      for (int32_t r = 0; r < graph.ranks; ++r) {
        Rank &rank = ranks[r];
        if (rank.hasChanged)
          rank.nextNs = nextNs(r);
        rank.hasChanged = false;
        if (rank.nextNs < firstNs) {
          firstNs = rank.nextNs;
          first = r;
        }
      }
      if (first < 0)
        break;
      ranks[first].clock = firstNs;
      start(first, choose(first, firstNs));
    }
    bool isComplete = true;
    for (const Rank &rank : ranks)
      isComplete &= rank.left == 0;
    return isComplete;
  }

private:
  struct Rank {
    int64_t clock = 0, held = 0, reserved = 0, nextNs = infinite;
    /// Whether `nextNs` is out of date.
    bool hasChanged = true;
    int32_t left = 0, inFlight = 0, most = 0;
    /// [micro-batch]: whether one of its F has run here.
    std::vector<uint8_t> begun;
  };

  const std::vector<int32_t> &orderOf(Task task) const {
    return task == Task::F && !rule.forwards.empty() ? rule.forwards
                                                     : lists.order;
  }
  Task taskOf(TaskId t) const { return rondo::taskOf(graph.row(t).kind); }
  int32_t microbatchOf(TaskId t) const { return graph.tasks[t].microbatch; }

  /// The R that runs directly before a task; -1: none.
  TaskId againOf(TaskId t) const {
    const int32_t row = graph.row(t).before;
    return row >= 0 && graph.rows[row].kind == ActionKind::Recompute
               ? graph.id(row, microbatchOf(t))
               : -1;
  }
  /// The cost of a task with its R.
  Cost costOf(TaskId t) const {
    const TaskFigures &task = graph.tasks[t];
    Cost cost = {task.ns, task.takes, task.frees};
    if (const TaskId again = againOf(t); again >= 0) {
      cost.ns += graph.tasks[again].ns;
      cost.acquireBytes += graph.tasks[again].takes;
      cost.releaseBytes += graph.tasks[again].frees;
    }
    return cost;
  }

  int32_t mostInFlight(int32_t r) const {
    if (!rule.isTapered || graph.replicasOf[r].empty())
      return rule.inFlight;
    // Replicas are numbered in the order of their stages.
    const int64_t replicas = graph.numReplicas(),
                  after = replicas - graph.replicasOf[r].front();
    return static_cast<int32_t>((rule.inFlight * after + replicas - 1) /
                                replicas);
  }

  /// Bytes of all F of a micro-batch on a rank.
  int64_t forwardBytes(int32_t r, int32_t i) const {
    int64_t bytes = 0;
    for (int32_t replica : graph.replicasOf[r])
      bytes += graph.tasks[graph.id(replica, ActionKind::Forward, i)].takes;
    return bytes;
  }

  bool fits(int32_t r, TaskId t) const {
    const Rank &rank = ranks[r];
    const int32_t i = microbatchOf(t);
    if (taskOf(t) != Task::F)
      return rank.held + costOf(t).acquireBytes <= graph.caps[r];
    if (rank.begun[i])
      return true; // reserved
    return rank.inFlight < rank.most &&
           rank.held + rank.reserved + forwardBytes(r, i) <= graph.caps[r];
  }

  /// The earliest start of a task, `infinite` if an input has not been made.
  int64_t readyNs(TaskId t) const {
    const TaskRow &row = graph.row(t);
    const Task task = taskOf(t);
    if (missing[t] > 0 ||
        (task != Task::F &&
         !isDone[graph.id(row.replica, kindOf(taskBefore(task)),
                          microbatchOf(t))]))
      return infinite;
    return std::max(arrivalNs[t], ranks[row.rank].clock);
  }

  /// Calls visit(task, earliest start) for each task that may be next. If it
  /// returns true, other tasks of the same stage and kind are skipped.
  template <typename Visit> void forEach(int32_t r, const Visit &visit) const {
    for (int32_t replica : graph.replicasOf[r])
      for (Task task : allTasks) {
        const int32_t row = graph.rowOf(replica, kindOf(task));
        const bool isOrdered = graph.isOrdered(orders, graph.rows[row]);
        const std::vector<int32_t> &order = orderOf(task);
        for (int32_t k = turns[row]; k < graph.microbatches; ++k) {
          const TaskId t = graph.id(row, order[k]);
          if (!graph.exists[t] || isDone[t])
            continue;
          if (fits(r, t))
            if (const int64_t ns = readyNs(t); ns < infinite)
              if (visit(t, ns))
                break;
          if (isOrdered)
            break;
        }
      }
  }

  int64_t nextNs(int32_t r) const {
    int64_t next = infinite;
    forEach(r, [&](TaskId, int64_t ns) {
      next = std::min(next, ns);
      return ns <= ranks[r].clock;
    });
    return next;
  }

  TaskId choose(int32_t r, int64_t now) const {
    TaskId best = -1;
    int bestRank = 4;
    int64_t arrival = infinite;
    forEach(r, [&](TaskId t, int64_t ns) {
      const Task task = taskOf(t);
      if (ns > now) {
        if (task != Task::W)
          arrival = std::min(arrival, ns);
        return false;
      }
      const bool isEager =
          rule.weightGrad == ConstructRule::WeightGrad::Follows;
      const int rank = task == Task::W ? (isEager ? 0 : 3)
                       : (task == Task::I) == rule.isBackwardFirst ? 1
                                                                   : 2;
      const std::vector<int32_t> &place =
          task == Task::F ? forwardPlace : lists.place;
      const bool isBefore =
          best >= 0 && place[microbatchOf(t)] < place[microbatchOf(best)];
      if (rank < bestRank || (rank == bestRank && isBefore)) {
        best = t;
        bestRank = rank;
      }
      return true;
    });
    if (best >= 0 && taskOf(best) == Task::W && arrival < infinite &&
        rule.weightGrad == ConstructRule::WeightGrad::Waits &&
        now + graph.tasks[best].ns / 2 > arrival)
      forEach(r, [&](TaskId t, int64_t ns) {
        if (ns == arrival && taskOf(t) != Task::W)
          best = t;
        return false;
      });
    return best;
  }

  void start(int32_t r, TaskId t) {
    Rank &rank = ranks[r];
    const TaskFigures &figures = graph.tasks[t];
    const Task task = taskOf(t);
    const Cost cost = costOf(t);
    const int64_t end = readyNs(t) + cost.ns;
    rank.clock = end;
    rank.hasChanged = true;
    isDone[t] = true;
    --rank.left;
    if (const TaskId again = againOf(t); again >= 0)
      lists.append(r, again);
    lists.append(r, t);
    if (task == Task::F) {
      if (!rank.begun[figures.microbatch]) {
        rank.begun[figures.microbatch] = true;
        rank.reserved += forwardBytes(r, figures.microbatch);
      }
      rank.reserved -= cost.acquireBytes;
      ++rank.inFlight;
    }
    rank.inFlight -= task == Task::I;
    rank.held += cost.acquireBytes - cost.releaseBytes;
    int32_t &turn = turns[figures.row];
    while (turn < graph.microbatches) {
      const TaskId next = graph.id(figures.row, orderOf(task)[turn]);
      if (graph.exists[next] && !isDone[next])
        break;
      ++turn;
    }
    for (int32_t o = figures.outputBegin; o < figures.outputEnd; ++o) {
      const TaskOutput &output = graph.outputs[o];
      int64_t arrival = end;
      if (output.link >= 0) {
        int64_t &freeNs = linkFreeNs[output.link];
        freeNs = std::max(freeNs, end) + output.occupancyNs;
        arrival = freeNs + output.latencyNs;
      }
      arrivalNs[output.to] = std::max(arrivalNs[output.to], arrival);
      --missing[output.to];
      ranks[graph.row(output.to).rank].hasChanged = true;
    }
  }

  const TaskGraph &graph;
  const ConstructRule &rule;
  const OrderClass orders;
  RankLists &lists;
  std::vector<int64_t> arrivalNs;
  std::vector<int32_t> missing;
  std::vector<uint8_t> isDone;
  std::vector<int64_t> linkFreeNs;
  std::vector<Rank> ranks;
  /// [row]: the first place of its order that is not done.
  std::vector<int32_t> turns;
  /// [micro-batch]: its place in the order of F.
  std::vector<int32_t> forwardPlace;
};

} // namespace

bool rondo::construct(const TaskGraph &graph, const ConstructRule &rule,
                      OrderClass orders, std::vector<int32_t> order,
                      RankLists &lists) {
  lists = makeLists(graph);
  lists.setOrder(std::move(order));
  return Constructor(graph, rule, orders, lists).run();
}

RankLists rondo::constructOneByOne(const TaskGraph &graph,
                                   std::vector<int32_t> order) {
  RankLists lists = makeLists(graph);
  lists.setOrder(std::move(order));
  for (int32_t r = 0; r < graph.ranks; ++r)
    for (int32_t i : lists.order) {
      const auto add = [&](int32_t replica, ActionKind kind) {
        if (const TaskId t = graph.id(replica, kind, i); graph.exists[t])
          lists.append(r, t);
      };
      const std::vector<int32_t> &replicas = graph.replicasOf[r];
      for (int32_t replica : replicas)
        add(replica, ActionKind::Forward);
      for (auto replica = replicas.rbegin(); replica != replicas.rend();
           ++replica)
        for (ActionKind kind : {ActionKind::Recompute, ActionKind::InputGrad,
                                ActionKind::WeightGrad})
          add(*replica, kind);
    }
  return lists;
}
