//===- Greedy.h - Orders that never wait while a task can run ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_GREEDY_H
#define RONDO_SCHEDULE_SEARCH_GREEDY_H

#include "schedule/model/EdgeTable.h"
#include "schedule/model/Schedule.h"
#include "schedule/model/Task.h"
#include "schedule/simulate/EventClock.h"
#include "schedule/simulate/Network.h"

#include <optional>
#include <vector>

namespace rondo {

/// Priorities of a rank's tasks: the one with the earliest target starts first.
/// The target of a task is offset[kind][replica] + micro-batch * period.
struct Priorities {
  /// [task][replica], in ns; that of B is that of I.
  PerTask<std::vector<int64_t>> offset;
  /// [replica]: whether its backwards are fused.
  std::vector<bool> isFused;
  int64_t period = 1;
  /// Whether W is ordered by its target too; otherwise W runs only if nothing
  /// else can.
  bool ordersWeightGrads = false;
};

/// List scheduling for any problem, including round-robin stages: whenever a
/// rank is free, it starts one of the tasks whose inputs have arrived and that
/// fit in its memory. Each replica serves its micro-batches in order, with R
/// before the backward.
class Greedy {
public:
  explicit Greedy(const Problem &problem);

  /// Nothing if at some point no remaining task fits. O(tasks * (replicas of a
  /// rank + log tasks)).
  std::optional<Schedule> run(const Priorities &priorities);

private:
  /// The next task of a kind that a replica could run.
  struct Candidate {
    int32_t replica = -1;
    Task task = Task::F;
    int64_t target = 0;
  };

  int64_t at(int32_t replica, int64_t microbatch) const {
    return int64_t(replica) * problem.microbatches + microbatch;
  }
  /// The micro-batch of a replica's next task of a kind; at least
  /// `problem.microbatches` if there is none.
  int64_t next(Task task, int32_t replica) const {
    const Replica &place = problem.replicas[replica];
    return place.turn + int64_t(started[task][replica]) * place.turns;
  }
  bool canStart(Task task, int32_t replica, int64_t now) const;
  bool fits(int32_t replica) const;
  Candidate choose(const Priorities &priorities, int32_t rank,
                   int64_t now) const;
  void start(const Candidate &chosen, bool isFused, int32_t rank, int64_t now);
  void append(ActionKind kind, int32_t replica, int64_t microbatch,
              int32_t rank);
  void wake(int32_t rank, int64_t time) { alarms.add(time, rank, {}); }
  void send(int32_t edge, int64_t microbatch, int64_t now);
  void arrive(int32_t edge, int64_t microbatch, int64_t arrival);
  void carryUntil(int64_t now);

  const Problem &problem;
  const EdgeTable edges;
  std::vector<std::vector<int32_t>> replicasOf;
  /// [replica]: upper bound of the bytes that one micro-batch takes by its F, R
  /// and backward.
  std::vector<int64_t> most;

  std::vector<std::vector<Action>> orders;
  std::vector<int64_t> clock, held;
  /// [task][replica]: number of tasks that have started.
  PerTask<std::vector<int32_t>> started;
  /// [F or I][at()]: number of inputs that have not been sent, and
  /// the latest arrival so far in ns.
  PerTask<std::vector<int32_t>> missing;
  PerTask<std::vector<int64_t>> arrived;
  const LinkTable links;
  Network network;
  struct Alarm {};
  EventClock<Alarm> alarms;
  int64_t left = 0;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_GREEDY_H
