//===- Measured.h - An iteration as a program ran it ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the readers of traces agree on. Times are ns from the start of the
// iteration, which begins when its first rank does and ends with its last.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_TIMELINE_MEASURED_H
#define RONDO_SCHEDULE_TIMELINE_MEASURED_H

#include "kinds/Actions.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

/// F, I, W, B, R or a step, without the waits before it.
struct MeasuredTask {
  int32_t rank = 0, stage = 0, replica = 0;
  ActionKind kind = ActionKind::Forward;
  /// 0 for a step.
  int64_t microbatch = 0;
  int64_t startNs = 0, endNs = 0;
};

/// A rank did nothing until a message was there, or had left the buffer that it
/// was to write (`onRank` is the rank at the other end), or until a collective
/// had ended (-1).
struct MeasuredWait {
  int32_t rank = 0, onRank = -1;
  /// Whether the message was one to arrive.
  bool isArrival = false;
  int64_t startNs = 0, endNs = 0;
};

/// From when it was sent to when its receiver had it.
struct MeasuredMessage {
  int32_t from = 0, to = 0;
  int32_t stage = 0;
  MessageKind kind = MessageKind::Activation;
  int64_t microbatch = 0, bytes = 0;
  int64_t leaveNs = 0, arriveNs = 0;
};

/// What else a rank did.
struct MeasuredRank {
  /// Of its first action, and the end of its last.
  int64_t startNs = 0, endNs = 0;
  /// Handing over messages; issuing collectives, and moving a stage's state.
  int64_t messagesNs = 0, collectivesNs = 0;
};

struct MeasuredIteration {
  /// Of the training, from 1.
  int64_t number = 0;
  /// Empty where it is not known.
  std::string schedule;
  int64_t durationNs = 0;
  /// All have their ranks in order, and of a rank in the order of starts.
  std::vector<MeasuredRank> ranks;
  std::vector<MeasuredTask> tasks;
  std::vector<MeasuredWait> waits;
  std::vector<MeasuredMessage> messages;
  /// Whether the trace has waits and messages, not tasks alone.
  bool hasWaits = false;
};

struct MeasuredRun {
  int32_t numStages = 0;
  std::vector<MeasuredIteration> iterations;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_TIMELINE_MEASURED_H
