//===- TaskGraph.h - Tasks and copies of all micro-batches ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A problem as arrays for searches on the lists of ranks. Unlike in a
// FlatProblem (schedule/partial/), the tasks of a stage are not
// interchangeable: each has its own time, bytes and messages, F and I may leave
// the order of the micro-batches, R has a place of its own, and a list may have
// copies among its tasks.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_LISTS_TASKGRAPH_H
#define RONDO_SCHEDULE_LISTS_TASKGRAPH_H

#include "schedule/model/MicrobatchOrder.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <optional>
#include <vector>

namespace rondo {

/// Number of a task or copy: row * micro-batches + micro-batch.
using TaskId = int32_t;

/// A kind of task or copy of a replica.
struct TaskRow {
  ActionKind kind = ActionKind::Forward;
  int32_t rank = 0, replica = 0;
  /// 0: compute, 1: to the host, 2: from the host. With a half-duplex host link
  /// all copies are on lane 1.
  int32_t lane = 0;
  /// The row that must come before, and the LOAD that must if the micro-batch
  /// is copied; -1: none.
  int32_t before = -1, load = -1;
  /// Range of TaskGraph::sources.
  int32_t sourceBegin = 0, sourceEnd = 0;
};

/// A message of a task.
struct TaskOutput {
  TaskId to = 0;
  /// -1: sender and receiver are on one rank.
  int32_t link = -1;
  int64_t occupancyNs = 0, latencyNs = 0;
};

/// A task: what differs between those of a row, and what hot loops need of its
/// row. One cache line.
struct TaskFigures {
  int64_t ns = 0, takes = 0, frees = 0;
  /// The least time from the end of the task to that of its micro-batch.
  int64_t tailNs = 0;
  int32_t row = 0, microbatch = 0, rank = 0;
  /// The tasks of TaskRow::before and TaskRow::load; -1: none.
  TaskId before = -1, load = -1;
  /// Range of TaskGraph::outputs.
  int32_t outputBegin = 0, outputEnd = 0;
  uint8_t lane = 0;
  /// Whether TaskRow has sources.
  bool hasSources = false;
};

/// Copies that a replica may have.
struct CopyPair {
  int32_t forward = 0, save = 0, load = 0, consumer = 0; // rows
};

struct TaskGraph {
  static constexpr int numLanes = 3;

  int32_t microbatches = 0, ranks = 0, links = 0;
  Objective objective = Objective::Makespan;
  /// Whether a backward is one task, B; there is then no W.
  bool isFused = false;
  /// Whether every replica takes every micro-batch.
  bool isWhole = true;
  /// Rows of a replica follow each other.
  std::vector<TaskRow> rows;
  /// Rows on the same rank whose messages a row needs.
  std::vector<int32_t> sources;
  std::vector<TaskFigures> tasks;
  std::vector<TaskOutput> outputs;
  /// [task]: whether the problem has it: its replica takes the micro-batch.
  std::vector<uint8_t> exists;
  /// [task]: number of messages that it needs.
  std::vector<int32_t> numInputs;
  /// [rank].
  std::vector<int64_t> caps, hostCaps;
  /// [rank]: its replicas, ascending.
  std::vector<std::vector<int32_t>> replicasOf;
  std::vector<uint8_t> mayCopy;
  std::vector<std::vector<CopyPair>> pairs;
  std::vector<int32_t> numActions; // at most, with all copies
  /// [rank]: its shared host link, or -1; [shared link].
  std::vector<int32_t> sharedLinks;
  std::vector<uint8_t> isSharedHalf;

  int32_t numReplicas() const;
  int32_t size() const { return static_cast<int32_t>(tasks.size()); }
  bool hasSharedLinks() const { return !isSharedHalf.empty(); }
  /// Number of tasks, without copies.
  int32_t numTasks() const;

  /// A replica and a kind to its row; -1: not a task or copy.
  int32_t rowOf(int32_t replica, ActionKind kind) const;
  const TaskRow &row(TaskId t) const { return rows[tasks[t].row]; }
  TaskId id(int32_t row, int32_t microbatch) const {
    return row * microbatches + microbatch;
  }
  TaskId id(int32_t replica, ActionKind kind, int32_t microbatch) const {
    return id(rowOf(replica, kind), microbatch);
  }
  /// Bytes of the host that an action takes at its start, or frees at its end.
  int64_t hostTakes(TaskId t) const {
    return row(t).kind == ActionKind::Save ? tasks[t].frees : 0;
  }
  int64_t hostFrees(TaskId t) const {
    return row(t).kind == ActionKind::Load ? tasks[t].takes : 0;
  }
  /// Whether a class of orders states the order of a row's tasks.
  bool isOrdered(OrderClass orders, const TaskRow &row) const;
};

/// `isFused`: each backward is one task. Nothing if an R waits for another R.
std::optional<TaskGraph> makeTaskGraph(const Problem &problem, bool isFused);

} // namespace rondo

#endif // RONDO_SCHEDULE_LISTS_TASKGRAPH_H
