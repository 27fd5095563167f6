//===- Greedy.h - Orders that never wait while a task can run ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_GREEDY_H
#define RONDO_SCHEDULE_SEARCH_GREEDY_H

#include "schedule/model/EdgeTable.h"
#include "schedule/model/Schedule.h"
#include "schedule/simulate/EventClock.h"
#include "schedule/simulate/Network.h"

#include <array>
#include <optional>
#include <vector>

namespace rondo {

/// Which task of a rank goes first where several can: that of the earliest
/// target, offset of its kind and replica + micro-batch * period.
struct Priorities {
  /// [0, 1 or 2 for F, I (or B) and W][replica].
  std::array<std::vector<int64_t>, 3> offset;
  /// By replica: whether its backwards are fused.
  std::vector<bool> isFused;
  int64_t period = 1;
  /// W goes by its target too, not only where nothing else can run.
  bool ordersWeightGrads = false;
};

/// Makes orders of any problem, with stages that assign micro-batches as well:
/// whenever a rank is free, one of the tasks whose inputs have arrived and that
/// fit in its memory starts. Each replica serves its micro-batches in order,
/// with R in front of the backward.
class Greedy {
public:
  explicit Greedy(const Problem &problem);

  /// Nothing if no task fits any more before all have run. O(tasks * (replicas
  /// of a rank + log tasks)).
  std::optional<Schedule> run(const Priorities &priorities);

private:
  /// The next task of a kind that a replica could run.
  struct Candidate {
    int32_t replica = -1;
    int letter = 0;
    int64_t target = 0;
  };

  int64_t at(int32_t replica, int64_t microbatch) const {
    return int64_t(replica) * problem.microbatches + microbatch;
  }
  /// The micro-batch of a replica's next task of a kind; at least the problem's
  /// number if there is none.
  int64_t next(int letter, int32_t replica) const {
    const Replica &place = problem.replicas[replica];
    return place.turn + int64_t(started[letter][replica]) * place.turns;
  }
  bool canStart(int letter, int32_t replica, int64_t now) const;
  bool fits(int32_t replica) const;
  Candidate choose(const Priorities &priorities, int32_t rank,
                   int64_t now) const;
  void start(const Candidate &chosen, bool isFused, int32_t rank, int64_t now);
  void task(ActionKind kind, int32_t replica, int64_t microbatch, int32_t rank);
  void wake(int32_t rank, int64_t time) { alarms.add(time, rank, {}); }
  void send(int32_t edge, int64_t microbatch, int64_t now);
  void arrive(int32_t edge, int64_t microbatch, int64_t arrival);
  void carryUntil(int64_t now);

  const Problem &problem;
  const EdgeTable edges;
  std::vector<std::vector<int32_t>> replicasOf;
  /// By replica: the bytes that its R and F take at most.
  std::vector<int64_t> most;

  std::vector<std::vector<Action>> orders;
  std::vector<int64_t> clock, held;
  /// [letter][replica]: how many have started.
  std::array<std::vector<int32_t>, 3> started;
  /// [0 for F, 1 for I][at()]: inputs that are still to come, and when the last
  /// one has come.
  std::array<std::vector<int32_t>, 2> missing;
  std::array<std::vector<int64_t>, 2> arrived;
  const LinkTable links;
  Network network;
  struct Alarm {};
  EventClock<Alarm> alarms;
  int64_t left = 0;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_GREEDY_H
