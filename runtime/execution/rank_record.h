//===- rank_record.h - Records what a rank does -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_RANK_RECORD_H
#define RONDO_RUNTIME_EXECUTION_RANK_RECORD_H

#include "runtime/execution/rank.h"

namespace rondo::runtime {

/// Null if the buffer is.
inline char *at(char *buffer, int64_t offset) {
  return buffer ? buffer + offset : nullptr;
}

/// Records an action for the watchdog and the ring, and for the trace if there
/// is one.
class RunningRank::Action {
public:
  Action(RunningRank &rank, ActionKind kind, int64_t subject,
         int64_t microbatch, Message message = Message::Activation)
      : rank(rank), kind(kind), message(message),
        replica(traitsOf(kind).subject == Subject::Collective ? -1 : subject),
        number(replica < 0 ? subject : rank.stageOf(replica)),
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
    if (traitsOf(kind).hasCost() && !traitsOf(kind).movesState())
      rank.device.beginTask();
    stamp();
  }
  /// Called when the waits are over.
  void restart() {
    rank.ring.endWaits();
    stamp();
  }
  /// Called after a wait, which began where the wait before it ended.
  void waited(Traced what, int64_t edge, int64_t messageMicrobatch) {
    if (!rank.keepTrace || !isTraced())
      return;
    const int64_t endNs = rank.device.stamp();
    record(what, edge, messageMicrobatch, endNs);
    startNs = endNs;
  }
  /// Of the message that it sends or receives.
  void setEdge(int32_t number) { edge = number; }
  ~Action() {
    if (!rank.keepTrace && !rank.keepTimes)
      return;
    const int64_t endNs = rank.device.stamp();
    if (rank.keepTrace && isTraced())
      record(Traced::Action, edge, microbatch, endNs);
    // What moves state takes its time on the collectives' lane.
    if (rank.keepTimes && traitsOf(kind).hasCost() &&
        !traitsOf(kind).movesState())
      rank.workTimes.push_back(
          {static_cast<int32_t>(replica), kind, endNs - startNs});
  }

private:
  void record(Traced what, int64_t ofEdge, int64_t messageMicrobatch,
              int64_t endNs) {
    rank.trace.push_back(
        {what, kind, message, rank.program.id, static_cast<int32_t>(replica),
         static_cast<int32_t>(number), static_cast<int32_t>(microbatch),
         static_cast<int32_t>(ofEdge), static_cast<int32_t>(messageMicrobatch),
         rank.span.before + iteration() + 1, startNs, endNs});
  }
  void stamp() {
    if (rank.keepTrace || rank.keepTimes)
      startNs = rank.device.stamp();
  }
  /// Of the run, from 0. A step is an iteration's, and a micro-batch lies in
  /// one; what moves state is numbered in its iteration.
  int64_t iteration() const {
    return !rank.program.overlap ? 0
           : traitsOf(kind).index == IndexMeaning::Step
               ? microbatch
               : microbatch / rank.program.microbatches;
  }
  bool isTraced() const { return iteration() < rank.span.tracedIterations; }

  RunningRank &rank;
  const ActionKind kind;
  const Message message;
  const int64_t replica, number, microbatch;
  int32_t edge = -1;
  int64_t startNs = 0;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_RANK_RECORD_H
