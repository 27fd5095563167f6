//===- rank_record.h - Records what a rank does -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_RANK_RECORD_H
#define RONDO_RUNTIME_EXECUTION_RANK_RECORD_H

#include "runtime/execution/rank.h"

namespace rondo::runtime {

/// Records an action for the watchdog and the ring, and for the trace if there
/// is one.
class RunningRank::Action {
public:
  Action(RunningRank &rank, ActionKind kind, int64_t subject,
         int64_t microbatch, Message message = Message::Activation)
      : rank(rank), kind(kind), message(message),
        home(traitsOf(kind).subject == Subject::Collective ? -1 : subject),
        number(home < 0 ? subject : rank.stageOf(home)),
        microbatch(microbatch) {
    const uint64_t what = (static_cast<uint64_t>(kind) << 58) |
                          (static_cast<uint64_t>(message) << 56) |
                          (static_cast<uint64_t>(number) << 32) |
                          static_cast<uint64_t>(microbatch);
    rank.current.store(what, std::memory_order_relaxed);
    rank.ring.begin(what);
    if (rank.fault)
      rank.fault->pass(rank.transport);
    rank.begun.store(rank.begun.load(std::memory_order_relaxed) + 1,
                     std::memory_order_relaxed);
    stamp();
  }
  /// Called when the waits are over.
  void restart() {
    rank.ring.endWaits();
    stamp();
  }
  ~Action() {
    if (!rank.keepTrace && !rank.keepTimes)
      return;
    const int64_t endNs = rank.device.stamp();
    if (rank.keepTrace && isTraced())
      rank.trace.push_back({kind, message, static_cast<int32_t>(home),
                            static_cast<int32_t>(number),
                            static_cast<int32_t>(microbatch), startNs, endNs});
    // What moves state takes its time on the collectives' lane.
    if (rank.keepTimes && traitsOf(kind).hasCost() &&
        !traitsOf(kind).movesState())
      rank.workTimes.push_back(
          {static_cast<int32_t>(home), kind, endNs - startNs});
  }

private:
  void stamp() {
    if (rank.keepTrace || rank.keepTimes)
      startNs = rank.device.stamp();
  }
  /// A step is an iteration's, and a micro-batch lies in one; what moves state
  /// is numbered in its iteration.
  bool isTraced() const {
    if (!rank.program.overlap)
      return rank.span.tracedIterations > 0;
    const int64_t iteration = traitsOf(kind).index == IndexMeaning::Step
                                  ? microbatch
                                  : microbatch / rank.program.microbatches;
    return iteration < rank.span.tracedIterations;
  }

  RunningRank &rank;
  const ActionKind kind;
  const Message message;
  const int64_t home, number, microbatch;
  int64_t startNs = 0;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_RANK_RECORD_H
