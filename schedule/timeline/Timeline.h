//===- Timeline.h - A schedule laid out over time ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The common input of all pictures of a schedule: tasks, messages, memory, and
// the reason of each task's start time.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_TIMELINE_TIMELINE_H
#define RONDO_SCHEDULE_TIMELINE_TIMELINE_H

#include "schedule/simulate/Simulator.h"

#include <cstdint>
#include <vector>

namespace rondo {

/// The event that a task's start waited for; Nothing for a task that starts at
/// 0.
enum class WaitedFor : uint8_t {
  Nothing,
  /// A task of the same rank and lane, or of the compute lane; `waited` is its
  /// position.
  Task,
  /// An action on another lane of the rank, which it needs or whose bytes it
  /// needs; `waited` is its position.
  Copy,
  /// A copy over the same shared host link; `waited` is its position.
  HostLink,
  /// A message from another rank; `waited` is its number.
  Message,
};

struct TimelineTask {
  Action action;
  int32_t rank = 0;
  Lane lane = Lane::Compute;
  int64_t startNs = 0, endNs = 0;
  /// Bytes that the rank holds after its start and after its end, of those that
  /// the problem declares. With copies, whose times overlap, at these times.
  int64_t heldBytes = 0, leftBytes = 0;
  WaitedFor waitedFor = WaitedFor::Nothing;
  int64_t waited = -1;
};

/// A message between two ranks. It is ready when task `from` ends, leaves when
/// the link is free, and arrives when it can be used.
struct TimelineMessage {
  /// Positions of the producing and consuming tasks.
  int64_t from = 0, to = 0;
  int32_t edge = 0;
  int64_t leaveNs = 0, arriveNs = 0;
};

/// A part of the critical path: a task, or a message from the end of its
/// producer to its arrival.
struct PathStep {
  bool isMessage = false;
  /// Number of the task or message.
  int64_t number = 0;
  int64_t startNs = 0, endNs = 0;
};

struct Timeline {
  int64_t makespanNs = 0;
  /// Indexed by position in the schedule's array: rank by rank, in order.
  std::vector<TimelineTask> tasks;
  /// [rank]: position of its first task; one extra entry at the end.
  std::vector<int64_t> rankBegin;
  /// Ordered by the sender's task, then by edge.
  std::vector<TimelineMessage> messages;

  /// The critical path without gaps from time 0 to the makespan: each step ends
  /// where the next begins. Among tasks that end last, takes the one of the
  /// lowest rank. O(length of the path).
  std::vector<PathStep> criticalPath() const;
};

/// `simulation` is the schedule's, complete and with times. O(actions).
Timeline layOut(const Problem &problem, const Schedule &schedule,
                const Simulation &simulation);

} // namespace rondo

#endif // RONDO_SCHEDULE_TIMELINE_TIMELINE_H
