//===- TaskGraph.h - The tasks of all micro-batches -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A problem whose micro-batches differ, as one array of tasks. Unlike in a
// FlatProblem (schedule/partial/), tasks of a stage are not interchangeable, so
// each has its own time, bytes and messages.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_UNEVEN_TASKGRAPH_H
#define RONDO_SCHEDULE_UNEVEN_TASKGRAPH_H

#include "schedule/model/MicrobatchOrder.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"
#include "schedule/model/Task.h"

#include <optional>
#include <vector>

namespace rondo {

/// Number of a task: (replica * 3 + Task) * micro-batches + micro-batch.
using TaskId = int32_t;

/// A message of a task.
struct TaskOutput {
  TaskId to = 0;
  /// -1: sender and receiver are on one rank.
  int32_t link = -1;
  int64_t occupancyNs = 0, latencyNs = 0;
};

/// Kind, rank and micro-batch of a task, so that hot loops divide no numbers.
struct TaskPlace {
  int32_t rank = 0, microbatch = 0;
  /// replica * 3 + Task: the tasks of a row differ in their micro-batch.
  int32_t row = 0;
  Task task = Task::F;
};

struct TaskGraph {
  int32_t microbatches = 0, replicas = 0, ranks = 0, links = 0;
  Objective objective = Objective::Makespan;
  /// Whether a backward is one task, I, that also runs W; W then takes no time
  /// and no order lists it.
  bool isFused = false;
  /// Indexed by rank.
  std::vector<int64_t> caps;
  /// [rank]: its replicas, ascending.
  std::vector<std::vector<int32_t>> replicasOf;
  /// Indexed by replica.
  std::vector<bool> recomputes;
  /// Indexed by task.
  std::vector<TaskPlace> places;
  /// Indexed by task. I includes R, which runs directly before it.
  std::vector<int64_t> ns, takes, frees;
  /// Whether the task exists: its replica takes the micro-batch.
  std::vector<uint8_t> exists;
  /// Number of messages that a task needs, and the outputs of task t:
  /// outputs[outputBegin[t]] to outputs[outputBegin[t + 1] - 1].
  std::vector<int32_t> numInputs, outputBegin;
  std::vector<TaskOutput> outputs;

  int32_t size() const { return static_cast<int32_t>(ns.size()); }
  TaskId id(int32_t replica, Task task, int32_t microbatch) const {
    return (replica * tasksPerMicrobatch + indexOf(task)) * microbatches +
           microbatch;
  }
  Task taskOf(TaskId t) const { return places[t].task; }
  int32_t rankOf(TaskId t) const { return places[t].rank; }
  int32_t replicaOf(TaskId t) const {
    return places[t].row / tasksPerMicrobatch;
  }
  /// The task of the same micro-batch that must end before. Precondition: not
  /// F.
  TaskId before(TaskId t) const { return t - microbatches; }
  /// Number of tasks that orders list.
  int32_t numListed() const;

  /// The actions of a list of tasks: R before I if the replica recomputes.
  void append(TaskId t, Schedule &schedule) const;
};

/// Whether a class of orders states the order of a kind of task.
inline bool isOrderedKind(const TaskGraph &graph, OrderClass orders,
                          Task task) {
  const bool addsGradients =
      task == Task::W || (graph.isFused && task == Task::I);
  return addsGradients ? ordersWeightGrads(orders) : ordersForwards(orders);
}

/// Nothing if an R waits for another R.
std::optional<TaskGraph> makeTaskGraph(const Problem &problem, bool isFused);

} // namespace rondo

#endif // RONDO_SCHEDULE_UNEVEN_TASKGRAPH_H
