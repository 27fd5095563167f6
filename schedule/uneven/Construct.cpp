//===- Construct.cpp - Lists of tasks by priorities -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/uneven/Construct.h"

#include "schedule/model/Infinity.h"

#include <algorithm>

using namespace rondo;

namespace {

class Constructor {
public:
  Constructor(const TaskGraph &graph, const ConstructRule &rule,
              OrderClass orders, RankLists &lists)
      : graph(graph), rule(rule), orders(orders), lists(lists),
        arrivalNs(graph.size()), missing(graph.numInputs), isDone(graph.size()),
        linkFreeNs(graph.links), ranks(graph.ranks),
        turns(size_t(graph.replicas) * tasksPerMicrobatch) {}

  bool run() {
    for (int32_t r = 0; r < graph.ranks; ++r) {
      ranks[r].begun.resize(graph.microbatches);
      ranks[r].most = mostInFlight(r);
      for (int32_t replica : graph.replicasOf[r])
        for (Task task : allTasks)
          for (int32_t i = 0; i < graph.microbatches; ++i)
            ranks[r].left += isListed(graph.id(replica, task, i));
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
    lists.tasks.clear();
    lists.begin.assign(1, 0);
    bool isComplete = true;
    for (const Rank &rank : ranks) {
      lists.tasks.insert(lists.tasks.end(), rank.tasks.begin(),
                         rank.tasks.end());
      lists.begin.push_back(static_cast<int32_t>(lists.tasks.size()));
      isComplete &= rank.left == 0;
    }
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
    std::vector<TaskId> tasks;
  };

  bool isListed(TaskId t) const {
    return graph.exists[t] && !(graph.isFused && graph.taskOf(t) == Task::W);
  }

  int32_t mostInFlight(int32_t r) const {
    if (!rule.isTapered || graph.replicasOf[r].empty())
      return rule.inFlight;
    // Replicas are numbered in the order of their stages.
    const int64_t after = graph.replicas - graph.replicasOf[r].front();
    return static_cast<int32_t>((rule.inFlight * after + graph.replicas - 1) /
                                graph.replicas);
  }

  /// Bytes of all F of a micro-batch on a rank.
  int64_t forwardBytes(int32_t r, int32_t i) const {
    int64_t bytes = 0;
    for (int32_t replica : graph.replicasOf[r])
      bytes += graph.takes[graph.id(replica, Task::F, i)];
    return bytes;
  }

  bool fits(int32_t r, TaskId t) const {
    const Rank &rank = ranks[r];
    const TaskPlace &place = graph.places[t];
    if (place.task != Task::F)
      return rank.held + graph.takes[t] <= graph.caps[r];
    if (rank.begun[place.microbatch])
      return true; // reserved
    return rank.inFlight < rank.most &&
           rank.held + rank.reserved + forwardBytes(r, place.microbatch) <=
               graph.caps[r];
  }

  /// The earliest start of a task, `infinite` if an input has not been made.
  int64_t readyNs(TaskId t) const {
    if (missing[t] > 0 ||
        (graph.taskOf(t) != Task::F && !isDone[graph.before(t)]))
      return infinite;
    return std::max(arrivalNs[t], ranks[graph.rankOf(t)].clock);
  }

  /// Calls visit(task, earliest start) for each task that may be next. If it
  /// returns true, other tasks of the same stage and kind are skipped.
  template <typename Visit> void forEach(int32_t r, const Visit &visit) const {
    for (int32_t replica : graph.replicasOf[r])
      for (Task task : allTasks) {
        if (graph.isFused && task == Task::W)
          continue;
        const bool isOrdered = isOrderedKind(graph, orders, task);
        for (int32_t k = turns[replica * tasksPerMicrobatch + indexOf(task)];
             k < graph.microbatches; ++k) {
          const TaskId t = graph.id(replica, task, lists.order[k]);
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
      const TaskPlace &place = graph.places[t];
      if (ns > now) {
        if (place.task != Task::W)
          arrival = std::min(arrival, ns);
        return false;
      }
      const bool isEager =
          rule.weightGrad == ConstructRule::WeightGrad::Follows;
      const int rank = place.task == Task::W ? (isEager ? 0 : 3)
                       : (place.task == Task::I) == rule.isBackwardFirst ? 1
                                                                         : 2;
      const bool isBefore =
          best >= 0 && lists.place[place.microbatch] <
                           lists.place[graph.places[best].microbatch];
      if (rank < bestRank || (rank == bestRank && isBefore)) {
        best = t;
        bestRank = rank;
      }
      return true;
    });
    if (best >= 0 && graph.taskOf(best) == Task::W && arrival < infinite &&
        rule.weightGrad == ConstructRule::WeightGrad::Waits &&
        now + graph.ns[best] / 2 > arrival)
      forEach(r, [&](TaskId t, int64_t ns) {
        if (ns == arrival && graph.taskOf(t) != Task::W)
          best = t;
        return false;
      });
    return best;
  }

  void start(int32_t r, TaskId t) {
    Rank &rank = ranks[r];
    const TaskPlace &place = graph.places[t];
    const int64_t end = readyNs(t) + graph.ns[t];
    rank.clock = end;
    rank.hasChanged = true;
    isDone[t] = true;
    --rank.left;
    rank.tasks.push_back(t);
    if (place.task == Task::F) {
      if (!rank.begun[place.microbatch]) {
        rank.begun[place.microbatch] = true;
        rank.reserved += forwardBytes(r, place.microbatch);
      }
      rank.reserved -= graph.takes[t];
      ++rank.inFlight;
    }
    rank.inFlight -= place.task == Task::I;
    rank.held += graph.takes[t] - graph.frees[t];
    int32_t &turn = turns[place.row];
    while (turn < graph.microbatches) {
      const TaskId next = place.row * graph.microbatches + lists.order[turn];
      if (graph.exists[next] && !isDone[next])
        break;
      ++turn;
    }
    for (int32_t o = graph.outputBegin[t]; o < graph.outputBegin[t + 1]; ++o) {
      const TaskOutput &output = graph.outputs[o];
      int64_t arrival = end;
      if (output.link >= 0) {
        int64_t &freeNs = linkFreeNs[output.link];
        freeNs = std::max(freeNs, end) + output.occupancyNs;
        arrival = freeNs + output.latencyNs;
      }
      arrivalNs[output.to] = std::max(arrivalNs[output.to], arrival);
      --missing[output.to];
      ranks[graph.rankOf(output.to)].hasChanged = true;
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
  /// [TaskPlace::row]: the first place of `order` that is not done.
  std::vector<int32_t> turns;
};

} // namespace

bool rondo::construct(const TaskGraph &graph, const ConstructRule &rule,
                      OrderClass orders, std::vector<int32_t> order,
                      RankLists &lists) {
  lists.setOrder(std::move(order));
  return Constructor(graph, rule, orders, lists).run();
}

void rondo::constructOneByOne(const TaskGraph &graph,
                              std::vector<int32_t> order, RankLists &lists) {
  lists.setOrder(std::move(order));
  lists.tasks.clear();
  lists.begin.assign(1, 0);
  for (const std::vector<int32_t> &replicas : graph.replicasOf) {
    for (int32_t i : lists.order) {
      auto add = [&](int32_t replica, Task task) {
        if (const TaskId t = graph.id(replica, task, i); graph.exists[t])
          lists.tasks.push_back(t);
      };
      for (int32_t replica : replicas)
        add(replica, Task::F);
      for (auto replica = replicas.rbegin(); replica != replicas.rend();
           ++replica) {
        add(*replica, Task::I);
        if (!graph.isFused)
          add(*replica, Task::W);
      }
    }
    lists.begin.push_back(static_cast<int32_t>(lists.tasks.size()));
  }
}
