//===- ProgramSimulator.h - Simulation of programs --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_PROGRAM_PROGRAMSIMULATOR_H
#define RONDO_SCHEDULE_PROGRAM_PROGRAMSIMULATOR_H

#include "schedule/model/Waits.h"
#include "schedule/program/Program.h"

namespace rondo {

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
///  - Copies run on lanes of their own, each in the order of the list. Tasks
///  and
///    copies wait for actions on other lanes (ProgramLaneWaits.h). A shared
///    host link carries copies as in simulate().
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
/// flight. Without `keepTimes`, `startNs` and `endNs` may be empty: a program
/// of many actions then runs in much less memory.
ProgramSimulation simulateProgram(const Problem &, const Program &,
                                  int32_t resident, bool keepTimes = true);

} // namespace rondo

#endif // RONDO_SCHEDULE_PROGRAM_PROGRAMSIMULATOR_H
