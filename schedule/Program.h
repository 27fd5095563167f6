//===- Program.h - A schedule with messages and memory ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lowering works on: every rank's tasks, sends, receives, collectives and
// optimizer steps in order, and a compile-time slot for every buffer.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PROGRAM_H
#define RONDO_SCHEDULE_PROGRAM_H

#include "kinds/Collectives.h"
#include "schedule/Legality.h"
#include "schedule/Problem.h"
#include "schedule/Schedule.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

struct DelayTable;

/// Bytes of each buffer of one stage; 0 where it has none. Saved, message and
/// data buffers are for one micro-batch.
using HomeBuffers = std::array<int64_t, numBufferKinds>;

/// What the offset of every slot is a multiple of, in bytes; the runtime's
/// bufferAlignment.
inline constexpr int64_t bufferAlignment = 64;

/// Most slots of one pool: tables of emitted programs hold 16-bit numbers.
inline constexpr int32_t maxSlots = 65536;

/// Equal slots in one rank's arena.
struct Pool {
  int32_t rank = 0;
  int64_t offset = 0;
  int64_t slotBytes = 0;
  int32_t slots = 0;
};

/// Where a buffer of a home lies: number i of what the kind has slots for, a
/// micro-batch or a version of the weights, in slot slotOf[i % slotOf.size()]
/// of a pool, so that slots which repeat are written once. pool < 0: the stage
/// has no such buffer. A consumer on the same rank as its producer shares the
/// producer's pool and slots: Input with Output, OutputGrad with InputGrad.
struct Place {
  int32_t pool = -1;
  std::vector<int32_t> slotOf;

  int32_t slot(int64_t number) const {
    const auto period = static_cast<int64_t>(slotOf.size());
    return slotOf[number < period ? number : number % period];
  }
};

/// What several ranks do together, once a step.
struct Collective {
  CollectiveKind kind = CollectiveKind::GradientNorm;
  /// The shared tensor's global name; empty where the kind names none.
  std::string tensor;
  /// In pipeline order.
  std::vector<int32_t> homes;
  /// How long it takes once all its ranks are there.
  int64_t ns = 0;
  /// Of a shared tensor whose stages are sharded: the elements that it adds,
  /// which its homes have in their pieces; 0: all.
  int64_t firstElement = 0, numElements = 0;
  /// Of a norm where iterations overlap: the step that awaits it is so many
  /// iterations later. From 1 on a rank issues it behind its steps, which have
  /// made its part.
  int64_t delay = 0;

  /// The iteration whose collective a step of iteration t awaits; below 0:
  /// none, since the run has not begun.
  int64_t awaitedBy(int64_t t) const { return t - delay; }
};

struct Program {
  /// Actions of each rank. Send and Recv name their edge in `stage`, AllReduce
  /// and Await their collective.
  Schedule order;
  std::vector<Collective> collectives;
  std::vector<Pool> pools;
  /// By number of the buffer (BufferNumbers.h): first
  /// [home * numBufferKinds + kind], homes as Problem::homes numbers them, then
  /// buffers of further edges.
  std::vector<Place> places;
  /// By rank: the pool of one slot where the rank's collectives, one after
  /// another, receive what they add; -1: none. Empty: no rank has any.
  std::vector<int32_t> staging;
  /// Bytes of each rank's arena: all its pools.
  std::vector<int64_t> arenaBytes;
  /// How many sends, receives and collectives of a rank may be in flight at
  /// once, by its target (kinds/Residency.h); 0: any number.
  int32_t resident = 0;

  const Place &place(int32_t home, BufferKind kind) const {
    return places[home * numBufferKinds + static_cast<int>(kind)];
  }
  Place &place(int32_t home, BufferKind kind) {
    return places[home * numBufferKinds + static_cast<int>(kind)];
  }
};

/// How a program runs: see simulateProgram().
struct ProgramSimulation {
  bool complete = false;
  /// Ranks in a circle; each is at an action (`at`) and needs one of
  /// another rank (`needs`).
  std::vector<Wait> cycle;
  int64_t makespanNs = 0;
  /// By position in the order's array. A task from its start to its end; a
  /// receive from its posting to the arrival; a send from the time that its
  /// data are ready until the buffer may be written again; a collective from
  /// its issue to its end; an await from when the rank gets there to when it
  /// goes on.
  std::vector<int64_t> startNs, endNs;
};

/// Runs a program under the problem's channel model:
///  - A rank's host issues actions in order. Tasks run one at a time.
///  - Recv posts a buffer and does not block. A channel takes at most
///    `receiveSlots` posted and not yet consumed receives; a further one blocks
///    the rank, which can then only be a wait for itself.
///  - Send does not block the rank. The n-th send of a channel (a directed rank
///    pair) meets its n-th receive. Under rendezvous the transfer begins when
///    both have been issued; under eager when the send has been issued and one
///    of the receiver's slots is free. It occupies the link, then arrives.
///  - With one queue a rank a transfer begins when both ends head their ranks'
///    queues, which it leaves when it arrives. A send is then ready at the end
///    of the task in front of it; a receive waits for no task where the program
///    has no places, since the host runs ahead of the device.
///  - A task waits for its messages to arrive.
///  - An action that takes a slot whose last user was a send waits for that
///    send's end. Only checked where the program has places.
///  - AllReduce does not block the rank. A rank runs its collectives in the
///    order of their issue, one at a time, on their own lane; one begins when
///    all its ranks have issued it and ended those before it. No rank has to
///    await it for that: all transports of the runtime start a collective when
///    it is issued (runtime/transport/transport.h).
///  - Await waits for a collective's end.
///  - On ranks with more queues than may be in flight (Residency.h), a send, a
///    receive or a collective does not begin before the one `resident` ahead of
///    it on its rank has ended. A send then meets a receive that has begun,
///    whatever the protocol.
///  - What crosses network cards (Cards.h) holds them for as long as it takes:
///    a message for its occupancy, a collective both sides of every card that
///    messages between its ranks would cross. Of what is ready for its cards,
///    the first to be so goes first; of equals, messages before collectives, by
///    sender and then receiver.
/// The program must keep rule L1. O(actions), with cards O(actions * log
/// ranks).
ProgramSimulation simulateProgram(const Problem &, const Program &);
/// With another number in flight than the program's.
ProgramSimulation simulateProgram(const Problem &, const Program &,
                                  int32_t resident);

/// Every action is of a kind that programs have and names a home, an edge or a
/// collective that is there, on the rank where it belongs; a fault names
/// `rule`.
std::optional<Fault> checkNames(const Problem &, const Program &, Rule rule);

// Each rule is safe on any program: it looks up names first, and finds all that
// it goes by in the program itself.

/// L1.
std::optional<Fault> checkChannels(const Problem &, const Program &);
/// L2, with any number of launches in flight: runs the program. Needs L1.
std::optional<Fault> checkWaitCycle(const Problem &, const Program &);
/// The same for a runtime whose sends end when they are received, with these
/// queues and any number of receives posted, whatever channels the problem
/// states.
std::optional<Fault> checkWaitCycle(const Problem &, const Program &,
                                    Queues queues);
/// L6: it also runs to its end with `resident` of each rank in flight. Needs L1
/// and L2. A fault says the least larger number with which it does: `found`.
std::optional<Fault> checkResidency(const Problem &, const Program &);
/// L3: replays every rank's order on the slots. Needs L4.
std::optional<Fault> checkBuffers(const Problem &, const Program &);
/// L4. Needs no problem: it looks at pools alone. L3 looks at what lies in
/// them. `caps` are the devices' memory in bytes by rank (noMemoryCap: none);
/// an arena that is larger is a FaultKind::ArenaOverCap.
std::optional<Fault> checkArena(const Program &,
                                const std::vector<int64_t> &caps);
/// L4 of the pools that collectives stage in. `needed` is by rank, in bytes.
std::optional<Fault> checkStaging(const Program &,
                                  const std::vector<int64_t> &needed);
/// L5: the program holds the tasks of the schedule in their order.
std::optional<Fault> checkTasks(const Problem &, const Schedule &,
                                const Program &);

/// Rule S8 of a program with places: what a task reads by `delays` is there,
/// and no step has written over it.
std::optional<Fault> checkWeightSlots(const Problem &, const Program &,
                                      const DelayTable &delays);

/// What training a plan asks of a program.
struct TrainingNeeds {
  std::vector<Collective> collectives;
  /// Whether stages step.
  bool hasSteps = false;
};
/// L5: nothing of it is left out.
std::optional<Fault> checkTraining(const Problem &, const TrainingNeeds &,
                                   const Program &);

/// S3 of the steps of a schedule whose programs have these collectives: no step
/// comes before a gradient of its rank that it waits for, since a collective
/// of its stage reads it. Needs S1 to S3.
std::optional<Fault> checkSteps(const Problem &, const Schedule &,
                                const std::vector<Collective> &collectives);

/// `send 0F3 to rank 1`, `recv 1I0 from rank 1`, `step of stage 2`, `0F3`.
std::string programActionName(Action action, const Problem &);

} // namespace rondo

#endif // RONDO_SCHEDULE_PROGRAM_H
