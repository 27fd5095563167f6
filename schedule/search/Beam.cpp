//===- Beam.cpp - Partial schedules, layer by layer -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer is expanded a few states at a time. Then the successors with equal
// task counts are judged in the order in which they were made. States with
// different counts do not affect each other, so threads share the work without
// changing the result.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/Beam.h"
#include "schedule/model/HashIndex.h"
#include "schedule/search/ActiveChoices.h"
#include "schedule/search/Timer.h"

#include <algorithm>

using namespace rondo;

namespace {

struct Node {
  int32_t parent;
  Machine machine;
  Code code;
};

struct Item {
  PartialState state;
  Estimate estimate;
  int32_t node = -1;
  bool isBeaten = false;
  /// Whether its estimate is that of its parent.
  bool inherits = false;
};

/// The memory of one thread.
struct WorkerState {
  explicit WorkerState(const FlatProblem &flat) : propagation(flat, true) {}

  Propagation propagation;
  ActiveChoices::Scratch scratch;
};

/// States of the next layer with equal task counts: the kept ones, by index in
/// `made`, and those to be judged.
struct Group {
  uint64_t key = 0;
  std::vector<int32_t> kept;
  std::vector<Child *> fresh;
};

class Beam {
public:
  Beam(const FlatProblem &flat, int64_t width, Incumbent &best, Budget &budget,
       Workers *workers)
      : flat(flat), width(width), best(best), budget(budget), workers(workers),
        choices(flat) {
    workerStates.emplace_back(flat);
    if (workers && width >= sharedWidth)
      for (int32_t i = 1; i < workers->count(); ++i)
        workerStates.emplace_back(flat);
    depths = flat.tasks();
    for (const FlatProblem::Message &message : flat.messages)
      if (message.isContended && message.beginsBurst())
        depths += flat.microbatches;
  }

  bool run() {
    std::vector<Item> layer(1);
    layer[0].state = PartialState(flat, true);
    for (int64_t depth = 0; depth < depths; ++depth) {
      used = 0;
      clearGroups();
      left = (flat.tasks() * (depths - depth)) / depths;
      isLast = depth + 1 == depths;
      // Expand as many states at a time as take about a millisecond. Several
      // threads start and end together, so they take eight times as many; but
      // if the effort ends the search, it must end at the same point for any
      // number of threads.
      const int64_t times =
          workerStates.size() > 1 && !budget.isByEffort() ? 8 : 1;
      const auto part =
          size_t(times * std::max<int64_t>(
                             4, std::min<int64_t>(64, 5000 / (8 + left / 2))));
      for (size_t from = 0; from < layer.size(); from += part) {
        expandAll(&layer[from], std::min(part, layer.size() - from));
        if (budget.isSpent())
          return false;
      }
      keepBest(layer);
      if (layer.empty())
        return end(best.objective);
    }
    const Item *winner = &layer.front();
    for (const Item &item : layer)
      if (item.estimate.bound < winner->estimate.bound)
        winner = &item;
    int64_t value = winner->estimate.bound;
    const Orders orders = ordersOf(winner->node);
    const int64_t least = std::min(best.objective, value);
    if (flat.nics > 0)
      value = Timer(flat).run(orders, best.objective);
    best.offer(orders, value, "beam");
    return end(least);
  }

private:
  /// Returns whether the tree is exhausted: no state was cut off by the width.
  /// Then `least` is a bound of all its schedules.
  bool end(int64_t least) {
    if (!wasCut)
      best.exhaustedNs = least;
    return !wasCut;
  }

  void clearGroups() {
    for (size_t i = 0; i < numGroups; ++i)
      groups[i].kept.clear();
    numGroups = 0;
    groupOf.clear();
  }

  int32_t groupOfKey(uint64_t key) {
    const uint32_t group =
        groupOf.findOrAdd(key, uint32_t(numGroups), [&](uint32_t known) {
          return groups[known].key == key;
        });
    if (group == numGroups) {
      if (numGroups++ == groups.size())
        groups.emplace_back();
      groups[group].key = key;
    }
    return int32_t(group);
  }

  /// Calls work(worker's state, i) for every i below `count`, on several
  /// threads if `tasks` is large enough.
  template <typename Work>
  void forEach(size_t count, int64_t tasks, const Work &work) {
    if (workerStates.size() == 1 || tasks < sharedTasks) {
      for (size_t i = 0; i < count; ++i)
        work(workerStates[0], i);
      return;
    }
    const double begin = budget.seconds();
    workers->forEach(int64_t(count), [&](int32_t worker, int64_t i) {
      work(workerStates[worker], size_t(i));
    });
    budget.addSeconds(double(workers->available() - 1) *
                      (budget.seconds() - begin));
  }

  /// Expands some states of a layer, and judges their successors.
  void expandAll(const Item *items, size_t count) {
    if (successors.size() < count)
      successors.resize(count);
    forEach(count, 8 * 4 * int64_t(count), [&](WorkerState &own, size_t i) {
      successors[i].count = 0;
      choices.expand(items[i].state, own.scratch, successors[i]);
    });
    touched.clear();
    int64_t numMade = 0;
    for (size_t i = 0; i < count; ++i)
      for (size_t n = 0; n < successors[i].count; ++n) {
        Child &child = successors[i].children[n];
        // The only successor of a state inherits its estimate, which is a bound
        // for it too and hardly worse than its own; but not twice in a row. In
        // the last layer, each state needs its own objective.
        child.inherits =
            successors[i].count == 1 && !items[i].inherits && !isLast;
        if (child.inherits)
          child.estimate = items[i].estimate;
        child.group = groupOfKey(child.state.key());
        if (groups[child.group].fresh.empty())
          touched.push_back(child.group);
        groups[child.group].fresh.push_back(&child);
        ++numMade;
      }
    budget.use(8 * numMade);
    forEach(
        touched.size(), numMade * (left / 2 + 1),
        [&](WorkerState &own, size_t i) { judge(own, groups[touched[i]]); });
    for (size_t i = 0; i < count; ++i)
      for (size_t n = 0; n < successors[i].count; ++n)
        keep(successors[i].children[n], items[i].node);
    for (int32_t group : touched)
      groups[group].fresh.clear();
  }

  void judge(WorkerState &own, Group &group) {
    for (size_t i = 0; i < group.fresh.size(); ++i) {
      Child &child = *group.fresh[i];
      if (isBeaten(group, i))
        continue;
      if (!child.inherits)
        child.estimate = own.propagation.estimate(child.state, best.objective);
      child.isEstimated = !child.inherits;
      if (child.estimate.bound >= best.objective)
        continue;
      if (!child.inherits) {
        own.propagation.tighten(child.state);
        if (isBeaten(group, i))
          continue;
      }
      child.isKept = true;
      for (int32_t other : group.kept)
        if (!made[other].isBeaten &&
            child.state.dominates(flat, made[other].state))
          made[other].isBeaten = true;
      for (size_t other = 0; other < i; ++other)
        if (Child &before = *group.fresh[other];
            before.isKept && !before.isBeaten &&
            child.state.dominates(flat, before.state))
          before.isBeaten = true;
    }
  }

  /// Whether a kept state of this layer dominates group.fresh[number]. The
  /// states before it have been judged.
  bool isBeaten(const Group &group, size_t number) const {
    const PartialState &state = group.fresh[number]->state;
    for (int32_t other : group.kept)
      if (!made[other].isBeaten && made[other].state.dominates(flat, state))
        return true;
    for (size_t i = 0; i < number; ++i)
      if (const Child &before = *group.fresh[i];
          before.isKept && !before.isBeaten &&
          before.state.dominates(flat, state))
        return true;
    return false;
  }

  void keep(Child &child, int32_t parent) {
    if (child.isEstimated)
      budget.use(left / 2 + 1);
    if (!child.isKept)
      return;
    if (used == made.size())
      made.emplace_back();
    groups[child.group].kept.push_back(int32_t(used));
    Item &item = made[used++];
    std::swap(item.state, child.state);
    item.estimate = child.estimate;
    item.isBeaten = child.isBeaten;
    item.inherits = child.inherits;
    nodes.push_back({parent, child.choice.machine,
                     codeOf(child.choice.task, child.choice.stage)});
    item.node = int32_t(nodes.size()) - 1;
  }

  void keepBest(std::vector<Item> &layer) {
    order.clear();
    for (size_t i = 0; i < used; ++i)
      if (!made[i].isBeaten)
        order.push_back(int32_t(i));
    auto isBetter = [&](int32_t a, int32_t b) {
      const Estimate &x = made[a].estimate, &y = made[b].estimate;
      return x.bound != y.bound ? x.bound < y.bound
             : x.sum != y.sum   ? x.sum < y.sum
                                : a < b;
    };
    if (int64_t(order.size()) > width) {
      std::nth_element(order.begin(), order.begin() + width, order.end(),
                       isBetter);
      order.resize(width);
      wasCut = true;
    }
    std::sort(order.begin(), order.end(), isBetter);
    layer.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      std::swap(layer[i], made[order[i]]);
  }

  Orders ordersOf(int32_t node) const {
    Orders orders;
    orders.ranks.resize(flat.ranks);
    if (flat.hasContendedLinks)
      orders.links.resize(flat.links);
    for (; node >= 0; node = nodes[node].parent)
      orders.of(nodes[node].machine).push_back(nodes[node].code);
    for (auto *sequences : {&orders.ranks, &orders.links})
      for (Sequence &order : *sequences)
        std::reverse(order.begin(), order.end());
    return orders;
  }

  const FlatProblem &flat;
  const int64_t width;
  Incumbent &best;
  Budget &budget;
  Workers *const workers;
  std::vector<WorkerState> workerStates;
  const ActiveChoices choices;
  bool wasCut = false;
  int64_t depths = 0, left = 0;
  bool isLast = false;
  std::vector<Successors> successors;
  /// The next layer; only the first `used` states count.
  std::vector<Item> made;
  size_t used = 0;
  std::vector<Node> nodes;
  std::vector<int32_t> order;
  /// Only the first `numGroups` are used.
  std::vector<Group> groups;
  size_t numGroups = 0;
  /// Index of the groups by key; and the groups with states to be judged.
  HashIndex groupOf;
  std::vector<int32_t> touched;
  /// The least width of a beam, and the least number of tasks of a step, for
  /// which several threads pay off.
  static constexpr int64_t sharedWidth = 16, sharedTasks = 2000;
};

} // namespace

bool rondo::beam(const FlatProblem &flat, int64_t width, Incumbent &best,
                 Budget &budget, Workers *workers) {
  return Beam(flat, width, best, budget, workers).run();
}
