//===- CopyGraph.h - Tasks and copies of all micro-batches ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A problem whose stages may copy to their hosts, as arrays for a local search
// on the lists of ranks. Unlike in a FlatProblem, F and I of a stage may leave
// the order of their micro-batches, and a list has copies among its tasks.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SEARCH_COPYGRAPH_H
#define RONDO_SCHEDULE_SEARCH_COPYGRAPH_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <optional>
#include <vector>

namespace rondo {

/// Number of a task or copy: row * micro-batches + micro-batch.
using CopyTaskId = int32_t;

/// A kind of task or copy of a replica.
struct CopyRow {
  ActionKind kind = ActionKind::Forward;
  int32_t rank = 0, replica = 0;
  /// 0: compute, 1: to the host, 2: from the host. With a half-duplex host link
  /// all copies are on lane 1.
  int32_t lane = 0;
  /// Whether its actions follow the order of the micro-batches: W, by rule S7.
  bool isOrdered = false;
  /// The row that must come before, and the LOAD that must if the micro-batch
  /// is copied; -1: none.
  int32_t before = -1, load = -1;
  int64_t ns = 0, takes = 0, frees = 0, hostTakes = 0, hostFrees = 0;
  /// The least time from the end of its action to that of the micro-batch.
  int64_t tailNs = 0;
  /// Ranges of CopyGraph::outputs and CopyGraph::sources.
  int32_t outputBegin = 0, outputEnd = 0, sourceBegin = 0, sourceEnd = 0;
};

/// A message of a row's tasks.
struct CopyOutput {
  int32_t row = 0;
  /// -1: sender and receiver are on one rank.
  int32_t link = -1;
  int64_t occupancyNs = 0, latencyNs = 0;
};

/// Copies that a replica may have.
struct CopyPair {
  int32_t forward = 0, save = 0, load = 0, consumer = 0; // rows
};

struct CopyGraph {
  static constexpr int numLanes = 3;

  int32_t microbatches = 0, ranks = 0, links = 0;
  Objective objective = Objective::Makespan;
  std::vector<CopyRow> rows;
  std::vector<CopyOutput> outputs;
  /// Rows on the same rank whose messages a row needs.
  std::vector<int32_t> sources;
  /// [task]: whether its replica takes the micro-batch; number of messages that
  /// it needs.
  std::vector<uint8_t> exists;
  /// [task]: its row and micro-batch, so that hot loops divide no numbers.
  std::vector<int32_t> rowNumbers, microbatchNumbers;
  std::vector<int32_t> numInputs;
  /// [rank].
  std::vector<int64_t> caps, hostCaps;
  std::vector<std::vector<CopyPair>> pairs;
  std::vector<int32_t> numActions; // at most, with all copies
  /// [rank]: its shared host link, or -1; [shared link].
  std::vector<int32_t> sharedLinks;
  std::vector<uint8_t> isSharedHalf;
  int32_t numReplicas() const;
  bool hasSharedLinks() const { return !isSharedHalf.empty(); }

  /// Problem::replicas and kinds to rows; -1: none.
  int32_t rowOf(int32_t replica, ActionKind kind) const;
  int32_t size() const { return static_cast<int32_t>(exists.size()); }
  int32_t rowOf(CopyTaskId t) const { return rowNumbers[t]; }
  int32_t microbatchOf(CopyTaskId t) const { return microbatchNumbers[t]; }
  const CopyRow &row(CopyTaskId t) const { return rows[rowNumbers[t]]; }
  CopyTaskId id(int32_t row, int32_t microbatch) const {
    return row * microbatches + microbatch;
  }
};

/// `isFused`: each backward is one task. Nothing if an R waits for another R.
std::optional<CopyGraph> makeCopyGraph(const Problem &problem, bool isFused);

/// The lists of all ranks. The list of rank r begins at tasks[begin[r]] and has
/// length[r] entries.
struct CopyLists {
  std::vector<CopyTaskId> tasks;
  std::vector<int32_t> begin, length;

  CopyTaskId *rank(int32_t r) { return tasks.data() + begin[r]; }
  const CopyTaskId *rank(int32_t r) const { return tasks.data() + begin[r]; }
  int32_t total() const;
};

/// Empty lists with space for all actions.
CopyLists makeLists(const CopyGraph &graph);
/// The lists of a schedule. False if it has other tasks than the graph.
bool readLists(const CopyGraph &graph, const Schedule &schedule,
               CopyLists &lists);
Schedule toSchedule(const CopyGraph &graph, const CopyLists &lists);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_COPYGRAPH_H
