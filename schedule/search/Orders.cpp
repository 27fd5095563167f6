//===- Orders.cpp - Converts sequences and schedules ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/Orders.h"

using namespace rondo;

/// Sets the link orders that differ from the order of the producers.
static void setLinkOrders(const FlatProblem &flat, const Orders &orders,
                          Schedule &schedule) {
  for (int32_t link = 0; link < int32_t(orders.links.size()); ++link) {
    const Sequence &order = orders.links[link];
    if (order.empty())
      continue;
    const LinkTable::Row &ends = flat.linkTable[link];
    auto sends = [&](Task task, int32_t stage) {
      for (int32_t e : flat.outputs(task, stage))
        if (flat.messages[e].link == link)
          return true;
      return false;
    };
    std::vector<Action> messages, ready;
    std::vector<std::vector<Action>> made(numCodes(flat.stages));
    for (Action action : schedule.rank(ends.from)) {
      const int32_t stage = int32_t(action.subject);
      const Task task = taskOf(action.kind());
      if (action.traits().produces != MessageKind::None && sends(task, stage)) {
        ready.push_back(action);
        made[codeOf(task, stage)].push_back(action);
      }
    }
    std::vector<size_t> next(made.size());
    for (Code code : order)
      messages.push_back(made[code][next[code]++]);
    if (messages != ready)
      schedule.linkOrders[{ends.from, ends.to}] = std::move(messages);
  }
}

Schedule rondo::toSchedule(const FlatProblem &flat, const Orders &orders,
                           bool fuse) {
  Schedule schedule;
  schedule.reserve(flat.tasks());
  for (int32_t rank = 0; rank < flat.ranks; ++rank) {
    const Sequence &order = orders.ranks[rank];
    std::vector<int32_t> next(numCodes(flat.stages), 0);
    for (size_t i = 0; i < order.size(); ++i) {
      Code code = order[i];
      int32_t stage = stageOf(code);
      int32_t k = next[code]++;
      Code weightGrad = codeOf(Task::W, stage);
      bool fused = fuse && taskOf(code) == Task::I && i + 1 < order.size() &&
                   order[i + 1] == weightGrad && next[weightGrad] == k;
      if (fused) {
        ++next[weightGrad];
        ++i;
      }
      if (taskOf(code) == Task::I && flat.recomputes[stage])
        schedule.append({ActionKind::Recompute, stage, k});
      schedule.append(
          {fused ? ActionKind::Backward : kindOf(taskOf(code)), stage, k});
    }
    schedule.endRank();
  }
  setLinkOrders(flat, orders, schedule);
  return schedule;
}

std::optional<Orders> rondo::toOrders(const FlatProblem &flat,
                                      const Schedule &schedule) {
  Orders orders;
  orders.ranks.resize(flat.ranks);
  std::vector<int64_t> next(numCodes(flat.stages), 0);
  for (int32_t rank = 0; rank < flat.ranks; ++rank)
    for (Action action : schedule.rank(rank)) {
      if (action.kind() == ActionKind::Recompute)
        continue;
      if (!action.isTask())
        return std::nullopt;
      const int32_t stage = int32_t(action.subject);
      auto append = [&](Task task) {
        orders.ranks[rank].push_back(codeOf(task, stage));
        return next[codeOf(task, stage)]++ == int64_t(action.index);
      };
      bool inOrder = action.kind() == ActionKind::Backward
                         ? append(Task::I) && append(Task::W)
                         : append(taskOf(action.kind()));
      if (!inOrder)
        return std::nullopt;
    }
  if (schedule.linkOrders.empty())
    return orders;
  orders.links.resize(flat.links);
  for (int32_t link = 0; link < flat.links; ++link) {
    auto order = schedule.linkOrders.find(
        {flat.linkTable[link].from, flat.linkTable[link].to});
    if (order == schedule.linkOrders.end())
      continue;
    std::vector<int64_t> count(numCodes(flat.stages), 0);
    for (Action action : order->second) {
      const Code code = codeOf(taskOf(action.kind()), int32_t(action.subject));
      if (count[code]++ != int64_t(action.index))
        return std::nullopt;
      orders.links[link].push_back(code);
    }
  }
  return orders;
}
