//===- RankLists.cpp - Lists of tasks and copies --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/lists/RankLists.h"

#include <numeric>

using namespace rondo;

void RankLists::setOrder(std::vector<int32_t> given) {
  order = std::move(given);
  place.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    place[order[i]] = static_cast<int32_t>(i);
}

int32_t RankLists::total() const {
  return std::accumulate(length.begin(), length.end(), 0);
}

RankLists rondo::makeLists(const TaskGraph &graph) {
  RankLists lists;
  lists.order.resize(graph.microbatches);
  std::iota(lists.order.begin(), lists.order.end(), 0);
  lists.place = lists.order;
  int32_t begin = 0;
  for (int32_t r = 0; r < graph.ranks; ++r) {
    lists.begin.push_back(begin);
    begin += graph.numActions[r];
  }
  lists.length.resize(graph.ranks);
  lists.tasks.resize(begin);
  return lists;
}

bool rondo::readLists(const TaskGraph &graph, const Schedule &schedule,
                      RankLists &lists) {
  lists = makeLists(graph);
  if (!schedule.accumulation.empty())
    lists.setOrder(schedule.accumulation);
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
      lists.append(r, graph.id(row, static_cast<int32_t>(action.index)));
    }
  return tasks == graph.numTasks();
}

Schedule rondo::toSchedule(const TaskGraph &graph, const RankLists &lists) {
  Schedule schedule;
  schedule.reserve(lists.total());
  for (int32_t r = 0; r < graph.ranks; ++r) {
    for (const TaskId *t = lists.rank(r); t < lists.rankEnd(r); ++t) {
      const TaskRow &row = graph.row(*t);
      schedule.append(
          Action(row.kind, row.replica, graph.tasks[*t].microbatch));
    }
    schedule.endRank();
  }
  return schedule;
}
