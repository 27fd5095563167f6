//===- Measured.h - A measured iteration ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The common result of all trace readers. Times are in ns from the start of the
// iteration, which lasts from the first rank's start to the last rank's end.
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_TIMELINE_MEASURED_H
#define RONDO_SCHEDULE_TIMELINE_MEASURED_H

#include "kinds/Actions.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

/// F, I, W, B, R or a step, without the wait before it.
struct MeasuredTask {
  int32_t rank = 0, stage = 0, replica = 0;
  ActionKind kind = ActionKind::Forward;
  /// 0 for a step.
  int64_t microbatch = 0;
  int64_t startNs = 0, endNs = 0;
};

/// Time in which a rank waited: for a message to arrive, or for a message to
/// leave the buffer that the rank was about to write (`onRank` is the rank at
/// the other end), or for the end of a collective (`onRank` is -1).
struct MeasuredWait {
  int32_t rank = 0, onRank = -1;
  /// Whether it waited for the arrival of a message.
  bool isArrival = false;
  int64_t startNs = 0, endNs = 0;
};

/// A message, from when it was sent to when its receiver had it.
struct MeasuredMessage {
  int32_t from = 0, to = 0;
  int32_t stage = 0;
  MessageKind kind = MessageKind::Activation;
  int64_t microbatch = 0, bytes = 0;
  int64_t leaveNs = 0, arriveNs = 0;
};

/// Start, end and remaining activities of a rank.
struct MeasuredRank {
  /// Start of its first action, and end of its last.
  int64_t startNs = 0, endNs = 0;
  /// Time spent handing over messages, and on issuing collectives and moving a
  /// stage's state.
  int64_t messagesNs = 0, collectivesNs = 0;
};

struct MeasuredIteration {
  /// Number of the iteration in the training, from 1.
  int64_t number = 0;
  /// Empty if unknown.
  std::string schedule;
  int64_t durationNs = 0;
  /// All lists are ordered by rank, then by start.
  std::vector<MeasuredRank> ranks;
  std::vector<MeasuredTask> tasks;
  std::vector<MeasuredWait> waits;
  std::vector<MeasuredMessage> messages;
  /// Whether the trace has waits and messages in addition to tasks.
  bool hasWaits = false;
};

struct MeasuredRun {
  int32_t numStages = 0;
  std::vector<MeasuredIteration> iterations;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_TIMELINE_MEASURED_H
