//===- Program.h - A schedule with messages and memory ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The value that lowering works on: every rank's tasks, sends, receives,
// collectives and optimizer steps in order, and a compile-time slot for every
// buffer.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PROGRAM_PROGRAM_H
#define RONDO_SCHEDULE_PROGRAM_PROGRAM_H

#include "kinds/Collectives.h"
#include "schedule/model/BufferNumbers.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// Alignment of every slot in bytes; equals the runtime's bufferAlignment.
inline constexpr int64_t bufferAlignment = 64;

/// Maximum number of slots of a pool: tables of emitted programs have 16-bit
/// entries.
inline constexpr int32_t maxSlots = 65536;

/// Equal slots in one rank's arena.
struct Pool {
  int32_t rank = 0;
  int64_t offset = 0;
  int64_t slotBytes = 0;
  int32_t slots = 0;
};

/// The slots of a buffer of a replica. Instance i of the buffer (a micro-batch,
/// version or unit, depending on the kind) is in slot slotOf[i % slotOf.size()]
/// of the pool, so that a repeating sequence of slots is stored once. pool < 0:
/// the replica has no such buffer. A consumer on the same rank as its producer
/// shares the producer's pool and slots: Input with Output, OutputGrad with
/// InputGrad.
struct Place {
  int32_t pool = -1;
  std::vector<int32_t> slotOf;

  int32_t slot(int64_t number) const {
    const auto period = static_cast<int64_t>(slotOf.size());
    return slotOf[number < period ? number : number % period];
  }
};

/// A joint operation of several ranks, once per step or, if it moves sharded
/// state, once per unit.
struct Collective {
  CollectiveKind kind = CollectiveKind::GradientNorm;
  /// Global name of the shared tensor; empty if the kind names none.
  std::string tensor;
  /// In pipeline order.
  std::vector<int32_t> replicas;
  /// Time from when all its ranks have reached it to its end.
  int64_t ns = 0;
  /// For a shared tensor of sharded stages: the range of elements that it adds,
  /// which are those in the shards of its replicas. numElements == 0: all
  /// elements.
  int64_t firstElement = 0, numElements = 0;
  /// For a norm with overlapping iterations: the step that awaits it is `delay`
  /// iterations later. If positive, a rank issues the norm after its steps,
  /// which compute the rank's summand.
  int64_t delay = 0;

  /// The iteration whose collective is awaited by a step of iteration t.
  /// Negative: none, at the beginning of a run.
  int64_t awaitedBy(int64_t t) const { return t - delay; }
};

struct Program {
  /// Actions of each rank. The `subject` of Send and Recv is an edge, that of
  /// AllReduce and Await a collective.
  Schedule order;
  std::vector<Collective> collectives;
  std::vector<Pool> pools;
  /// Indexed by buffer number (BufferNumbers.h): first replica * numBufferKinds
  /// + kind, then the extra buffers of replicas that have several stage edges
  /// of one kind.
  std::vector<Place> places;
  /// [rank]: a pool of one slot where the rank's collectives, one after
  /// another, receive operands; -1: none. Empty: no rank has one.
  std::vector<int32_t> staging;
  /// [rank]: bytes of the arena, which contains all its pools.
  std::vector<int64_t> arenaBytes;
  /// Maximum number of sends, receives and collectives of a rank in flight, by
  /// its target (kinds/Residency.h); 0: unlimited.
  int32_t resident = 0;

  const Place &place(int32_t replica, BufferKind kind) const {
    return places[replica * numBufferKinds + static_cast<int>(kind)];
  }
  Place &place(int32_t replica, BufferKind kind) {
    return places[replica * numBufferKinds + static_cast<int>(kind)];
  }
};

/// Result of simulateProgram().
struct ProgramSimulation {
  bool complete = false;
  /// Ranks of a wait cycle. Each is at an action (`at`) and needs an action of
  /// another rank (`needs`).
  std::vector<Wait> cycle;
  int64_t makespanNs = 0;
  /// Indexed by position in the order's array. Task: its start and end.
  /// Receive: from posting to arrival. Send: from when its data are ready until
  /// its buffer may be overwritten. Collective: from issue to end. Await: from
  /// when the rank reaches it to when the rank continues.
  std::vector<int64_t> startNs, endNs;
};

/// Simulates a program under the problem's channel model:
///  - A rank's host issues actions in order. Tasks run one at a time.
///  - Recv posts a buffer and does not block. A channel allows at most
///    `receiveSlots` receives that are posted and not yet consumed. A further
///    Recv blocks the rank forever, since only its own later tasks can free a
///    slot.
///  - Send does not block the rank. The n-th send of a channel (a directed pair
///    of ranks) matches its n-th receive. Under rendezvous the transfer begins
///    when both have been issued, under eager when the send has been issued and
///    a receive slot is free. It occupies the link, then arrives.
///  - With one queue per rank, a transfer begins when both ends are at the
///    heads of their ranks' queues, and leaves the queues when it arrives. A
///    send is then ready at the end of the task before it. If the program has
///    no places, a receive waits for no task, since the host runs ahead of the
///    device.
///  - A task waits for its messages to arrive.
///  - An action that takes a slot last used by a send waits for the end of that
///    send. Only checked if the program has places.
///  - AllReduce does not block the rank. A rank runs its collectives in the
///    order of issue, one at a time, on their own lane. A collective begins
///    when all its ranks have issued it and ended those before it. It does not
///    need to be awaited for that: all transports of the runtime start a
///    collective when it is issued (runtime/transport/transport.h).
///  - Await waits for the end of a collective.
///  - On ranks with more queues than `resident` (schedule/order/Residency.h), a
///    send, receive or collective begins only after the launch `resident`
///    places before it on its rank has ended. A send then matches a receive
///    that has begun, whatever the protocol.
///  - NICs (Nics.h) are occupied by a message for its occupancy. A collective
///    occupies both sides of every NIC that messages between its ranks would
///    cross. The first that is ready for its NICs is served first; ties go to
///    messages before collectives, by sender, then receiver.
/// Precondition: rule L1. O(actions), with NICs O(actions * log ranks).
ProgramSimulation simulateProgram(const Problem &, const Program &);
/// As above, with `resident` instead of the program's limit of launches in
/// flight.
ProgramSimulation simulateProgram(const Problem &, const Program &,
                                  int32_t resident);

} // namespace rondo

#endif // RONDO_SCHEDULE_PROGRAM_PROGRAM_H
