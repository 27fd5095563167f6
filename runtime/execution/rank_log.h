//===- rank_log.h - Records what a rank does --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_RANK_LOG_H
#define RONDO_RUNTIME_EXECUTION_RANK_LOG_H

#include "runtime/execution/connections.h"
#include "runtime/execution/span.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace rondo::runtime {

/// A rank does one action at a time.
using ActionKind = rondo::ActionKind;
/// `0F3`, `send 0F3`, `recv 1I0`, `all_reduce 0`, `await 0`, `step 2`, `unshard
/// 2, unit 0`.
std::string actionName(ActionKind kind, Message message, int64_t subject,
                       int64_t microbatch);

/// The kind of an event of a trace.
enum class Traced : uint8_t {
  /// An action without its waits. A message's time is the moment when it was
  /// handed over; an await is all wait.
  Action,
  /// A wait of an action: for the arrival of a message, or until a message has
  /// left the buffer that the action writes.
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
  /// A stage or a collective, and a micro-batch. Of a run: its number of
  /// iterations.
  int32_t number, microbatch;
  /// The edge of a message or of a wait for one, with its micro-batch; else -1.
  int32_t edge, messageMicrobatch;
  /// The iteration of the training, from 1.
  int64_t iteration;
  int64_t startNs, endNs;
  /// Bytes of the message, set when a run's events are collected.
  int64_t bytes = 0;
};

/// Duration of a replica's task or step.
struct WorkTime {
  int32_t replica;
  ActionKind kind;
  int64_t ns;
};

/// Context of the parts of a rank, which must outlive them.
struct RankContext {
  State &state;
  const ProgramDesc &program;
  const Wiring &wiring;
  Transport &transport;
  int32_t rank;

  Device &device() const { return state.device(rank); }
  int32_t stageOf(int64_t replica) const {
    return state.executable().replicas[replica].stage;
  }
};

/// The actions of a rank: for the watchdog, the ring and, on demand, a trace or
/// measured times. The rank's thread writes.
class RankLog {
public:
  RankLog(const RankContext &context, ActionRing &ring, FaultPoint *fault)
      : program(context.program), executable(context.state.executable()),
        device(context.device()), transport(context.transport), ring(ring),
        fault(fault) {}

  void beginRun(const Span &span);

  /// Actions begun so far, and the last one. Any thread.
  uint64_t actionsBegun() const {
    return begun.load(std::memory_order_relaxed);
  }
  std::string currentAction() const;
  /// Whether it has done all of its run. Any thread.
  bool hasEnded() const { return ring.isIdle(); }

  /// The newest action waits for a message of an edge.
  void waitFor(int32_t edge) { ring.waitFor(edge); }

  /// Filled by iterations while `keepTrace`; the caller clears it.
  std::vector<TraceEvent> trace;
  bool keepTrace = false;
  /// The same while `keepTimes`: the time of tasks and steps without their
  /// waits. Only on devices that run them at once.
  std::vector<WorkTime> workTimes;
  bool keepTimes = false;

protected:
  /// Around the actions of a run.
  void beginTrace();
  void endTrace();

private:
  friend class Action;

  const ProgramDesc &program;
  const Executable &executable;
  Device &device;
  Transport &transport;

protected:
  ActionRing &ring;

private:
  /// For tests; null: none.
  FaultPoint *const fault;
  /// Iterations of the training before the run, of the run, and in the trace.
  int64_t before = 0, iterations = 1, tracedIterations = 0;
  int64_t beginStamp = 0;
  std::atomic<uint64_t> begun{0};
  /// kind | message | stage or collective | micro-batch.
  std::atomic<uint64_t> current{0};
};

/// An action of a rank, from its construction to its destruction.
class Action {
public:
  Action(RankLog &log, ActionKind kind, int64_t subject, int64_t microbatch,
         Message message = Message::Activation)
      : log(log), kind(kind), message(message),
        replica(traitsOf(kind).subject == Subject::Collective ? -1 : subject),
        number(replica < 0 ? subject : log.executable.replicas[replica].stage),
        microbatch(microbatch) {
    const uint64_t what = (static_cast<uint64_t>(kind) << 58) |
                          (static_cast<uint64_t>(message) << 56) |
                          (static_cast<uint64_t>(number) << 32) |
                          static_cast<uint64_t>(microbatch);
    log.current.store(what, std::memory_order_relaxed);
    log.ring.begin(what);
    if (log.fault)
      log.fault->pass(log.transport);
    log.begun.store(log.begun.load(std::memory_order_relaxed) + 1,
                    std::memory_order_relaxed);
    if (traitsOf(kind).hasCost() && !traitsOf(kind).movesState())
      log.device.beginTask();
    stamp();
  }
  /// Called when the waits are over.
  void restart() {
    log.ring.endWaits();
    stamp();
  }
  /// Called after a wait, which began where the wait before it ended.
  void waited(Traced what, int64_t edge, int64_t messageMicrobatch) {
    if (!log.keepTrace || !isTraced())
      return;
    const int64_t endNs = log.device.stamp();
    record(what, edge, messageMicrobatch, endNs);
    startNs = endNs;
  }
  /// Sets the edge of the message that it sends or receives.
  void setEdge(int32_t number) { edge = number; }
  ~Action() {
    if (!log.keepTrace && !log.keepTimes)
      return;
    const int64_t endNs = log.device.stamp();
    if (log.keepTrace && isTraced())
      record(Traced::Action, edge, microbatch, endNs);
    // The time of what moves state belongs to the collectives.
    if (log.keepTimes && traitsOf(kind).hasCost() &&
        !traitsOf(kind).movesState())
      log.workTimes.push_back(
          {static_cast<int32_t>(replica), kind, endNs - startNs});
  }

private:
  void record(Traced what, int64_t ofEdge, int64_t messageMicrobatch,
              int64_t endNs) {
    log.trace.push_back(
        {what, kind, message, log.program.id, static_cast<int32_t>(replica),
         static_cast<int32_t>(number), static_cast<int32_t>(microbatch),
         static_cast<int32_t>(ofEdge), static_cast<int32_t>(messageMicrobatch),
         log.before + iteration() + 1, startNs, endNs});
  }
  void stamp() {
    if (log.keepTrace || log.keepTimes)
      startNs = log.device.stamp();
  }
  /// The iteration of the run, from 0. A step is an iteration's, and a
  /// micro-batch lies in one; what moves state is numbered in its iteration.
  int64_t iteration() const {
    return !log.program.overlap ? 0
           : traitsOf(kind).index == IndexMeaning::Step
               ? microbatch
               : microbatch / log.program.microbatches;
  }
  bool isTraced() const { return iteration() < log.tracedIterations; }

  RankLog &log;
  const ActionKind kind;
  const Message message;
  const int64_t replica, number, microbatch;
  int32_t edge = -1;
  int64_t startNs = 0;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_RANK_LOG_H
