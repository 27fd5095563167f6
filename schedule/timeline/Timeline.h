//===- Timeline.h - A schedule laid out over time ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every picture of a schedule draws: tasks, messages, memory, and what
// each task waited for.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_TIMELINE_TIMELINE_H
#define RONDO_SCHEDULE_TIMELINE_TIMELINE_H

#include "schedule/simulate/Simulator.h"

#include <cstdint>
#include <vector>

namespace rondo {

/// What a start waited for; a task that starts at 0 waited for nothing.
enum class WaitedFor : uint8_t {
  Nothing,
  /// A task of the same rank; `waited` is its position.
  Task,
  /// A message from another rank; `waited` is its number.
  Message,
};

struct TimelineTask {
  Action action;
  int32_t rank = 0;
  Lane lane = Lane::Compute;
  int64_t startNs = 0, endNs = 0;
  /// What the rank holds from its start on and from its end on, of what the
  /// problem declares.
  int64_t heldBytes = 0, leftBytes = 0;
  WaitedFor waitedFor = WaitedFor::Nothing;
  int64_t waited = -1;
};

/// Between two ranks. It is ready when the task `from` ends, leaves when it has
/// its link, and arrives when it may be used.
struct TimelineMessage {
  /// Positions of tasks.
  int64_t from = 0, to = 0;
  int32_t edge = 0;
  int64_t leaveNs = 0, arriveNs = 0;
};

/// A part of the critical path: a task, or a message from the end of its
/// producer to its arrival.
struct PathStep {
  bool isMessage = false;
  /// Of the task or message.
  int64_t number = 0;
  int64_t startNs = 0, endNs = 0;
};

struct Timeline {
  int64_t makespanNs = 0;
  /// By position in the schedule's array: rank by rank, in order.
  std::vector<TimelineTask> tasks;
  /// By rank, and one more: the position of its first task.
  std::vector<int64_t> rankBegin;
  /// By sender's task, in the order of edges.
  std::vector<TimelineMessage> messages;

  /// From time 0 to the makespan without a gap: each step ends where the next
  /// begins. Of tasks that end last, the one of the lowest rank. O(its length).
  std::vector<PathStep> criticalPath() const;
};

/// `simulation` is the schedule's, complete and with times. O(actions).
Timeline layOut(const Problem &problem, const Schedule &schedule,
                const Simulation &simulation);

} // namespace rondo

#endif // RONDO_SCHEDULE_TIMELINE_TIMELINE_H
