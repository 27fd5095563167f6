//===- trace_event.h - What a rank's trace keeps ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_TRACE_EVENT_H
#define RONDO_RUNTIME_EXECUTION_TRACE_EVENT_H

#include "runtime/model/executable.h"

namespace rondo::runtime {

/// What an event of a trace is.
enum class Traced : uint8_t {
  /// An action without its waits. A message's time is the moment when it was
  /// handed over, that of an await is all wait.
  Action,
  /// What an action waited for: the arrival of a message, or the moment when a
  /// message had left the buffer that it writes.
  Arrival,
  Release,
  /// A run of the rank, from its first action to the end of its last send.
  Run,
};

/// One event as it happened on the rank's device.
struct TraceEvent {
  Traced what;
  rondo::ActionKind kind;
  Message message;
  /// Its index among the executable's programs.
  int32_t program;
  /// The replica that runs the action, or that made the message.
  int32_t replica;
  /// A stage, or a collective, and a micro-batch. Of a run, how many
  /// iterations.
  int32_t number, microbatch;
  /// Of a message, or of a wait for one, with its micro-batch; else -1.
  int32_t edge, messageMicrobatch;
  /// Of the training, from 1.
  int64_t iteration;
  int64_t startNs, endNs;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_TRACE_EVENT_H
