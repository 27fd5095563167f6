//===- NeighbourhoodBeam.cpp - Searches the order of a neighbourhood ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A job shop with heads, tails and caps, of some dozens of tasks, searched like
// the whole problem (Beam.cpp): by layers with dominance. The bound considers
// only the tasks of the neighbourhood. The search is exact if no layer has more
// than `width` states.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/NeighbourhoodBeam.h"

#include <algorithm>

using namespace rondo;

Neighbourhood::Neighbourhood(const FlatProblem &flat)
    : flat(flat), limit(numCodes(flat.stages)), isFree(flat.ranks),
      rankTail(flat.ranks), byTail(flat.ranks) {}

NeighbourhoodBeam::NeighbourhoodBeam(const FlatProblem &flat, Budget &budget)
    : flat(flat), budget(budget), mayWait(ranksThatMayWait(flat)),
      head(size_t(flat.tasks())) {}

std::vector<NeighbourhoodBeam::Placed>
NeighbourhoodBeam::search(const Neighbourhood &searched, PartialState state,
                          const Orders &order, int64_t most, Random *choice) {
  neighbourhood = &searched;
  current = &order;
  ceiling = most;
  random = choice;
  nodes.clear();
  std::vector<Item> layer(1);
  layer[0].state = std::move(state);
  for (size_t depth = 0; depth < neighbourhood->tasks.size(); ++depth) {
    made.clear();
    numGroups = 0;
    index.clear();
    for (const Item &item : layer)
      expand(item, item.state);
    keepBest(layer);
    if (layer.empty())
      return {};
  }
  std::vector<Placed> placed;
  const size_t last = random ? size_t(random->below(int64_t(layer.size()))) : 0;
  for (int32_t node = layer[last].node; node >= 0; node = nodes[node].parent)
    placed.push_back(nodes[node].placed);
  std::reverse(placed.begin(), placed.end());
  return placed;
}

void NeighbourhoodBeam::keepBest(std::vector<Item> &layer) {
  std::vector<size_t> order;
  for (size_t i = 0; i < made.size(); ++i)
    if (!made[i].isBeaten)
      order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return made[a].bound != made[b].bound ? made[a].bound < made[b].bound
                                          : made[a].sum < made[b].sum;
  });
  order.resize(std::min(order.size(), width));
  layer.clear();
  for (size_t i : order)
    layer.push_back(std::move(made[i]));
}

/// On a rank that is not free, only the next task of its current order may run.
bool NeighbourhoodBeam::mayRun(const PartialState &state, int32_t rank,
                               Task task, int32_t s) const {
  if (state.done(task, s) >= neighbourhood->limit[codeOf(task, s)])
    return false;
  if (neighbourhood->isFree[rank])
    return true;
  int64_t done = 0;
  for (int32_t other : flat.stagesOf[rank])
    for (Task each : allTasks)
      done += state.done(each, other);
  return current->ranks[rank][done] == codeOf(task, s);
}

/// Like ActiveChoices::expand(), within the neighbourhood and without messages.
void NeighbourhoodBeam::expand(const Item &item, const PartialState &state) {
  choices.clear();
  for (int32_t rank = 0; rank < flat.ranks; ++rank)
    for (int32_t s : flat.stagesOf[rank])
      for (Task task : allTasks) {
        if (task == Task::F &&
            (state.banned(s) ||
             state.held(rank) + flat.takes[s] > flat.caps[rank]))
          continue;
        const int64_t start = state.earliest(flat, task, s);
        if (start < never && mayRun(state, rank, task, s))
          choices.push_back(
              {{rank}, task, s, -1, start, start + flat.ns[task][s]});
      }
  if (choices.empty())
    return;
  const Choice first = forEachActive(
      choices, [&](const Choice &choice) { make(item, state, choice); });
  if (first.task != Task::F || !mayWait[first.machine.number] ||
      !neighbourhood->isFree[first.machine.number])
    return;
  PartialState held = state;
  held.banned(first.stage) = 1;
  expand(item, held);
}

std::vector<int32_t> &NeighbourhoodBeam::groupOf(uint64_t key) {
  const uint32_t group =
      index.findOrAdd(key, uint32_t(numGroups),
                      [&](uint32_t known) { return groups[known].key == key; });
  if (group == numGroups) {
    if (numGroups++ == groups.size())
      groups.emplace_back();
    groups[group].key = key;
    groups[group].states.clear();
  }
  return groups[group].states;
}

void NeighbourhoodBeam::make(const Item &parent, const PartialState &state,
                             const Choice &choice) {
  const auto [machine, task, stage, edge, start, unused] = choice;
  Item item;
  item.state = state;
  const int64_t k = state.done(task, stage);
  const int64_t end = item.state.run(flat, task, stage, start);
  item.cost = std::max(
      parent.cost, end + neighbourhood->tail[flat.at(task, stage, int32_t(k))]);
  budget.use(int64_t(neighbourhood->tasks.size()) / 2 + 4);
  if (item.cost > ceiling)
    return;
  std::vector<int32_t> &group = groupOf(item.state.key());
  for (int32_t other : group)
    if (!made[other].isBeaten && made[other].cost <= item.cost &&
        made[other].state.dominates(flat, item.state))
      return;
  estimate(item);
  if (item.bound > ceiling)
    return;
  if (random)
    item.sum += random->below(1 + ceiling / 8);
  for (int32_t other : group)
    if (item.cost <= made[other].cost &&
        item.state.dominates(flat, made[other].state))
      made[other].isBeaten = true;
  nodes.push_back({parent.node, {machine.number, codeOf(task, stage)}});
  item.node = int32_t(nodes.size()) - 1;
  group.push_back(int32_t(made.size()));
  made.push_back(std::move(item));
}

/// Bounds the objective by the heads and tails of the neighbourhood's remaining
/// tasks.
void NeighbourhoodBeam::estimate(Item &item) {
  const PartialState &state = item.state;
  item.bound = item.cost;
  item.sum = 0;
  for (const NeighbourhoodTask &each : neighbourhood->tasks) {
    const auto [rank, task, s, k, unused] = each;
    if (k < state.done(task, s))
      continue;
    int64_t start = state.clock(rank);
    auto wait = [&](Task from, int32_t stage, int32_t which, int64_t delay) {
      if (which >= state.done(from, stage))
        start = std::max(start, head[flat.at(from, stage, which)] +
                                    flat.ns[from][stage] + delay);
    };
    if (k > 0)
      wait(task, s, k - 1, 0);
    if (task != Task::F)
      wait(taskBefore(task), s, k, 0);
    if (task != Task::W)
      for (int32_t e : flat.inputs(task, s)) {
        if (k < state.sent(e))
          start = std::max(start, state.arrival(e, k));
        else
          wait(task, flat.messages[e].from, k, flat.messages[e].transferNs());
      }
    head[neighbourhood->at(each)] = start;
    item.bound =
        std::max(item.bound, start + flat.ns[task][s] +
                                 neighbourhood->tail[neighbourhood->at(each)]);
  }
  for (int32_t rank = 0; rank < flat.ranks; ++rank) {
    int64_t work = 0, first = never;
    for (const NeighbourhoodTask &task : neighbourhood->byTail[rank]) {
      if (task.k < state.done(task.kind, task.stage))
        continue;
      work += flat.ns[task.kind][task.stage];
      first = std::min(first, head[neighbourhood->at(task)]);
      item.bound =
          std::max(item.bound,
                   first + work + neighbourhood->tail[neighbourhood->at(task)]);
    }
    item.sum += (first < never ? first + work : state.clock(rank)) +
                neighbourhood->rankTail[rank];
  }
}
