//===- RankLists.h - Orders of tasks, made legal and timed ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_UNEVEN_RANKLISTS_H
#define RONDO_SCHEDULE_UNEVEN_RANKLISTS_H

#include "schedule/uneven/TaskGraph.h"

#include <vector>

namespace rondo {

/// The order of micro-batches, and the tasks of every rank in their order.
struct RankLists {
  /// The order that `OrderClass` refers to, and the place of each micro-batch
  /// in it.
  std::vector<int32_t> order, place;
  /// The tasks of rank r: tasks[begin[r]] to tasks[begin[r + 1] - 1].
  std::vector<TaskId> tasks;
  std::vector<int32_t> begin;

  void setOrder(std::vector<int32_t> given);
  int32_t length(int32_t rank) const { return begin[rank + 1] - begin[rank]; }
  TaskId *rank(int32_t r) { return tasks.data() + begin[r]; }
  const TaskId *rank(int32_t r) const { return tasks.data() + begin[r]; }
};

/// The lists of a schedule. False if it has other tasks than the graph.
bool readLists(const TaskGraph &graph, const Schedule &schedule,
               RankLists &lists);
/// The schedule of lists, without an order of accumulation.
Schedule toSchedule(const TaskGraph &graph, const RankLists &lists);

/// Action for a task that does not fit its rank's cap yet.
enum class Overflow : uint8_t {
  /// It comes after the tasks that free enough.
  Defer,
  /// Tasks that free bytes come before it, if they can.
  Pull,
};

/// Makes lists legal: tasks follow those of the same stage and micro-batch that
/// they need, tasks of a class's ordered kinds follow `order`, and no cap is
/// exceeded. Allocates only in the constructor.
class Legalizer {
public:
  Legalizer(const TaskGraph &graph, OrderClass orders);

  /// Rewrites the list of a rank, which has each of its tasks once. The k-th
  /// task of an ordered kind of a replica becomes that of the k-th micro-batch.
  /// False if it cannot: then the list is unchanged. O(length), with few
  /// deferred tasks.
  bool legalize(RankLists &lists, int32_t rank, Overflow overflow);

private:
  bool isOrdered(Task task) const { return isOrderedKind(graph, orders, task); }
  /// The task that an entry of the list stands for now; -1 if it has been
  /// placed.
  TaskId meantBy(const RankLists &lists, TaskId t) const;
  /// Whether the task of the same micro-batch before it is placed; and whether
  /// it also fits.
  bool isAvailable(TaskId t) const;
  bool isReady(TaskId t) const;
  void place(const RankLists &lists, TaskId t);
  void retryDeferred(const RankLists &lists);
  void pullFor(const RankLists &lists, TaskId t, const TaskId *rest,
               const TaskId *end);

  const TaskGraph &graph;
  const OrderClass orders;
  int64_t held = 0, cap = 0;
  std::vector<TaskId> made, deferred;
  /// [task]: whether it is in `made`.
  std::vector<uint8_t> isPlaced;
  /// [TaskPlace::row]: places of `order` that have been passed.
  std::vector<int32_t> passed;
};

/// The times of lists. Each task starts as early as its rank's list and its
/// messages allow; a link sends messages in the order in which its rank makes
/// them, and NICs take no time.
class ListTimer {
public:
  explicit ListTimer(const TaskGraph &graph);

  /// The objective, or `never` if tasks wait for each other. O(tasks); does not
  /// allocate.
  int64_t run(const RankLists &lists);

  // Times of the last run that did not return `never`.
  int64_t startNs(TaskId t) const { return start[t]; }
  int64_t endNs(TaskId t) const { return start[t] + graph.ns[t]; }
  /// The position of a task in RankLists::tasks.
  int32_t indexOf(TaskId t) const { return index[t]; }
  /// The tasks of a longest path, from the last one back: each starts when the
  /// next one in the list, or its message, ends.
  const std::vector<TaskId> &criticalPath(const RankLists &lists);

private:
  const TaskGraph &graph;
  std::vector<int64_t> start, ready, linkFreeNs, clock, firstNs;
  /// [task]: the producer of the message that arrived last, -1 if the task of
  /// its rank before it delays it at least as long.
  std::vector<TaskId> cause, path;
  std::vector<int32_t> missing, index, position, worklist;
  std::vector<uint8_t> isQueued;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_UNEVEN_RANKLISTS_H
