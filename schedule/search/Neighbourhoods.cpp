//===- Neighbourhoods.cpp - Large neighbourhood search --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Large neighbourhood search (Shaw, 1998). A neighbourhood is a time interval
// on all ranks or on adjacent ones. Tasks that start before it are fixed, and
// so is the order of tasks that start after it. So each task of the
// neighbourhood has a tail: the longest path from its end through later tasks.
// The memory held at the end of a neighbourhood does not depend on the order
// within it. NeighbourhoodBeam.cpp searches that order.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/NeighbourhoodBeam.h"
#include "schedule/search/Random.h"
#include "schedule/search/SearchParts.h"
#include "schedule/search/Timer.h"

#include <algorithm>

using namespace rondo;

namespace {

class NeighbourhoodMoves : public Part {
public:
  explicit NeighbourhoodMoves(const PartInput &input)
      : flat(input.flat), best(input.best), budget(input.budget), timer(flat),
        random(input.seed), neighbourhood(flat), beam(flat, budget),
        index(size_t(flat.tasks())), after(size_t(flat.tasks())),
        prefix(flat.ranks) {}

  void run(int64_t tasks) override {
    const int64_t end = budget.tasksUsed() + tasks;
    if (own > best.objective && !best.orders.empty())
      adopt(best.orders);
    if (own >= never)
      return;
    while (!best.isOptimal() && budget.tasksUsed() < end &&
           !budget.isSpent(4 * flat.tasks())) {
      const int64_t known = own;
      moveOnce();
      stale = own < known ? 0 : stale + 1;
      if (stale < patience)
        continue;
      // After `patience` neighbourhoods without a gain, take larger ones; after
      // `maxTasks`, start over with small ones.
      stale = 0;
      size = size < maxTasks ? size + size / 3 : leastTasks;
    }
  }

  int64_t value() const override { return own; }

private:
  int64_t nsOf(const NeighbourhoodTask &task) const {
    return flat.ns[task.kind][task.stage];
  }

  /// Makes `orders` the current ones, unless they deadlock or break a cap.
  void adopt(const Orders &orders) {
    const int64_t found = timer.run(orders);
    budget.use(2 * flat.tasks());
    if (found >= never)
      return;
    current = orders;
    own = found;
    listTasks();
    // In reverse, so that the tails of successors are known.
    for (size_t i = tasks.size(); i-- > 0;)
      after[neighbourhood.at(tasks[i])] = pathAfter(tasks[i], after, 0);
  }

  /// Lists the current tasks in an order in which they may run, with their
  /// starts.
  void listTasks() {
    tasks.clear();
    std::vector<size_t> next(flat.ranks);
    std::vector<int32_t> done(numCodes(flat.stages));
    auto mayRun = [&](Task kind, int32_t s, int32_t k) {
      if (kind != Task::F && k >= done[codeOf(taskBefore(kind), s)])
        return false;
      if (kind != Task::W)
        for (int32_t e : flat.inputs(kind, s))
          if (k >= done[codeOf(kind, flat.messages[e].from)])
            return false;
      return true;
    };
    while (int64_t(tasks.size()) < flat.tasks())
      for (int32_t rank = 0; rank < flat.ranks; ++rank)
        for (size_t &i = next[rank]; i < current.ranks[rank].size(); ++i) {
          const Code code = current.ranks[rank][i];
          const int32_t s = stageOf(code), k = done[code];
          if (!mayRun(taskOf(code), s, k))
            break;
          ++done[code];
          tasks.push_back({rank, taskOf(code), s, k, timer.starts()[rank][i]});
        }
    nextOnRank.assign(tasks.size(), -1);
    std::vector<int32_t> last(flat.ranks, -1);
    for (size_t i = tasks.size(); i-- > 0;) {
      nextOnRank[i] = last[tasks[i].rank];
      last[tasks[i].rank] = int32_t(i);
    }
    for (size_t i = 0; i < tasks.size(); ++i)
      index[neighbourhood.at(tasks[i])] = int32_t(i);
  }

  /// The longest path from a task's end through its successors, by their
  /// `tails`; at least `least`.
  int64_t pathAfter(const NeighbourhoodTask &task,
                    const std::vector<int64_t> &tails, int64_t least) const {
    int64_t path = std::max(least, flat.endOffset[task.rank]);
    auto add = [&](Task kind, int32_t s, int32_t k, int64_t delay) {
      path =
          std::max(path, delay + flat.ns[kind][s] + tails[flat.at(kind, s, k)]);
    };
    if (task.kind != Task::W) {
      add(taskAfter(task.kind), task.stage, task.k, 0);
      for (int32_t e : flat.outputs(task.kind, task.stage))
        add(task.kind, flat.messages[e].to, task.k,
            flat.messages[e].transferNs());
    }
    const int32_t next = nextOnRank[index[neighbourhood.at(task)]];
    if (&tails == &after && next >= 0)
      add(tasks[next].kind, tasks[next].stage, tasks[next].k, 0);
    if (&tails != &after && task.k + 1 < flat.microbatches)
      add(task.kind, task.stage, task.k + 1, 0);
    return path;
  }

  /// Searches a neighbourhood of about `size` tasks around a random task.
  void moveOnce() {
    const NeighbourhoodTask &center =
        tasks[random.below(int64_t(tasks.size()))];
    const int64_t reach =
        random.below(3) ? flat.ranks : 1 + random.below(flat.ranks);
    int32_t free = 0;
    for (int32_t rank = 0; rank < flat.ranks; ++rank) {
      neighbourhood.isFree[rank] = std::abs(rank - center.rank) < reach;
      free += neighbourhood.isFree[rank];
    }
    const auto length =
        int64_t(double(own) * double(size) / double(flat.tasks()) *
                double(flat.ranks) / double(free));
    const int64_t from = center.start - random.below(length + 1);
    // Half of the searches accept only a better order, which cuts off more
    // states. The others accept any order that is no worse, so that later
    // neighbourhoods start from different orders.
    const bool isStrict = random.below(2);
    PartialState state(flat);
    if (!open(from, from + length, state))
      return;
    const auto placed =
        beam.search(neighbourhood, std::move(state), current, own - isStrict,
                    isStrict ? nullptr : &random);
    if (!placed.empty())
      accept(placed);
  }

  /// Runs the tasks before a neighbourhood, and finds the tails of its tasks.
  /// False if it has too few or too many tasks.
  bool open(int64_t from, int64_t to, PartialState &state) {
    neighbourhood.tasks.clear();
    neighbourhood.tail = after;
    neighbourhood.rankTail = flat.endOffset;
    std::fill(neighbourhood.limit.begin(), neighbourhood.limit.end(), 0);
    std::fill(prefix.begin(), prefix.end(), 0);
    std::vector<bool> isClosed(flat.ranks);
    int64_t freeTasks = 0;
    for (const NeighbourhoodTask &task : tasks) {
      if (task.start < from) {
        state.run(flat, task.kind, task.stage,
                  state.earliest(flat, task.kind, task.stage));
        ++prefix[task.rank];
      } else if (task.start < to) {
        neighbourhood.tasks.push_back(task);
        freeTasks += neighbourhood.isFree[task.rank];
      } else if (!isClosed[task.rank]) {
        isClosed[task.rank] = true;
        neighbourhood.rankTail[task.rank] =
            nsOf(task) + after[neighbourhood.at(task)];
      }
    }
    budget.use(flat.tasks() / 2);
    if (freeTasks < 4 || int64_t(neighbourhood.tasks.size()) > 2 * maxTasks)
      return false;
    for (auto &list : neighbourhood.byTail)
      list.clear();
    for (size_t i = neighbourhood.tasks.size(); i-- > 0;) {
      const NeighbourhoodTask &task = neighbourhood.tasks[i];
      neighbourhood.tail[neighbourhood.at(task)] = pathAfter(
          task, neighbourhood.tail, neighbourhood.rankTail[task.rank]);
      neighbourhood.byTail[task.rank].push_back(task);
      int64_t &limit = neighbourhood.limit[codeOf(task.kind, task.stage)];
      limit = std::max(limit, int64_t(task.k) + 1);
    }
    for (auto &list : neighbourhood.byTail)
      std::stable_sort(
          list.begin(), list.end(),
          [&](const NeighbourhoodTask &a, const NeighbourhoodTask &b) {
            return neighbourhood.tail[neighbourhood.at(a)] >
                   neighbourhood.tail[neighbourhood.at(b)];
          });
    return true;
  }

  /// Times the orders with the neighbourhood's new order, and adopts them if
  /// they are no worse.
  void accept(const std::vector<NeighbourhoodBeam::Placed> &placed) {
    Orders changed = current;
    std::vector<int64_t> next = prefix;
    bool isNew = false;
    for (const auto &[rank, code] : placed) {
      Code &at = changed.ranks[rank][next[rank]++];
      isNew |= at != code;
      at = code;
    }
    if (!isNew)
      return;
    int64_t found = timer.run(changed, own);
    budget.use(flat.tasks());
    if (found >= never && !changed.links.empty()) {
      // Try again with messages in the order in which they become ready.
      changed.links.clear();
      found = timer.run(changed, own);
      budget.use(flat.tasks());
    }
    if (found >= never)
      return;
    best.offer(changed, found, "neighbourhoods");
    adopt(changed);
  }

  static constexpr int64_t leastTasks = 12, maxTasks = 60, patience = 80;

  const FlatProblem &flat;
  Incumbent &best;
  Budget &budget;
  Timer timer;
  Random random;
  Neighbourhood neighbourhood;
  NeighbourhoodBeam beam;
  Orders current;
  int64_t own = never, size = leastTasks, stale = 0;
  /// The tasks of the current orders; and the index of the next task on the
  /// same rank, -1: none.
  std::vector<NeighbourhoodTask> tasks;
  std::vector<int32_t> nextOnRank;
  /// [Neighbourhood::at()]: index of the task in `tasks`; and the longest path
  /// from its end to the end of the schedule.
  std::vector<int32_t> index;
  std::vector<int64_t> after;
  /// [rank]: number of tasks before the neighbourhood.
  std::vector<int64_t> prefix;
};

} // namespace

SearchPart rondo::neighbourhoods() {
  return {"neighbourhoods", "windows of time searched anew", PartPhase::Round,
          makePart<NeighbourhoodMoves>};
}
