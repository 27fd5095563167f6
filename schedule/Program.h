//===- Program.h - A schedule with messages and memory ----------*- C++ -*-===//
//
// What lowering works on: every rank's tasks, sends, receives, collectives and
// optimizer steps in order, and a compile-time slot for every buffer.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PROGRAM_H
#define RONDO_SCHEDULE_PROGRAM_H

#include "schedule/Legality.h"
#include "schedule/Problem.h"
#include "schedule/Schedule.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// Why memory is held. The first group lives as long as the program, one copy a
/// stage; the second lives from one action to another, one slot a micro-batch.
enum class BufferKind : uint8_t {
  Weights,   // parameters
  Gradients, // accumulated by W or B
  Moments,   // the optimizer's state
  Control,   // losses, partial norms, learning rate, step number
  Data,      // token and target staging, one slot a micro-batch
  Workspace, // scratch of one task, shared by all stages of a rank

  Input,              // from the receive to the end of F
  Output,             // from the start of F to the end of its send
  OutputGrad,         // from the receive to the end of I or B
  InputGrad,          // from the start of I or B to the end of its send
  SavedForInputGrad,  // from the start of F to the end of I or B
  SavedForWeightGrad, // from the start of F to the end of W or B
};
inline constexpr int numBufferKinds = 12;
inline constexpr BufferKind firstTransientBuffer = BufferKind::Input;

/// `saved_for_weight_grad`: the keyword of the dialect.
const char *bufferName(BufferKind kind);

/// Bytes of each buffer of one stage; 0 where it has none. Saved, message and
/// data buffers are for one micro-batch.
using StageBuffers = std::array<int64_t, numBufferKinds>;

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

/// Where a buffer of a home lies: slot slotOf[microbatch % slotOf.size()] of a
/// pool, so that slots which repeat are written once. pool < 0: the stage has
/// no such buffer. A consumer on the same rank as its producer shares the
/// producer's pool and slots: Input with Output, OutputGrad with InputGrad.
struct Placement {
  int32_t pool = -1;
  std::vector<int32_t> slotOf;

  int32_t slot(int64_t microbatch) const {
    return slotOf[microbatch % static_cast<int64_t>(slotOf.size())];
  }
};

/// What several ranks do together, once an iteration after their last W.
struct Collective {
  enum class Kind : uint8_t {
    /// Adds the partial gradients of a weight that two stages share; both get
    /// the sum. Stages in pipeline order.
    TiedGradients,
    /// The global norm of all gradients and from it the clip factor.
    GradientNorm,
  };
  Kind kind = Kind::GradientNorm;
  /// The shared tensor's global name; empty for the norm.
  std::string tensor;
  std::vector<int32_t> stages;
};

struct Program {
  /// Actions of each rank. Send and Recv name their edge in `stage`, AllReduce
  /// its collective.
  Schedule order;
  std::vector<Collective> collectives;
  std::vector<Pool> pools;
  /// [home * numBufferKinds + kind], homes as Problem::homes numbers them.
  std::vector<Placement> placements;
  /// Bytes of each rank's arena: all its pools.
  std::vector<int64_t> arenaBytes;

  const Placement &placement(int32_t home, BufferKind kind) const {
    return placements[home * numBufferKinds + static_cast<int>(kind)];
  }
  Placement &placement(int32_t home, BufferKind kind) {
    return placements[home * numBufferKinds + static_cast<int>(kind)];
  }
};

/// How a program runs: see simulateProgram().
struct ProgramSimulation {
  bool complete = false;
  /// Ranks in a circle; each stands at an action (`at`) and needs one of
  /// another rank (`needs`).
  std::vector<Wait> cycle;
  int64_t makespanNs = 0;
  /// By position in the order's array. A task from its start to its end; a
  /// receive from its posting to the arrival; a send from the time that its
  /// data are ready until the buffer may be written again.
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
///    has no placements, since the host runs ahead of the device.
///  - A task waits for its messages to arrive.
///  - An action that takes a slot whose last user was a send waits for that
///    send's end. Only checked where the program has placements.
///  - AllReduce waits for all ranks of its collective.
/// The program must keep rule L1. O(actions).
ProgramSimulation simulateProgram(const Problem &, const Program &);

enum class ProgramRule : uint8_t {
  Channels,  // L1: n-th send and n-th receive of each channel name one message;
             //     what a task needs from another rank is sent once
  WaitCycle, // L2: the program runs to its end under the channel model
  Buffers,   // L3: written before read, freed once, never two owners at once
  Arena,     // L4: pools do not overlap, are aligned, lie inside the arena,
             //     which fits the cap
  Tasks,     // L5: the tasks are exactly those of the schedule, in its order,
             //     then each collective once, then one step a stage; without
             //     collectives steps may be absent altogether
};
const char *ruleId(ProgramRule rule); // "L1" ...

struct ProgramViolation {
  ProgramRule rule = ProgramRule::Channels;
  /// L4: an arena is larger than its device's memory.
  bool isOverCap = false;
  int32_t rank = -1;
  int64_t position = -1;
  int32_t otherRank = -1;
  int64_t otherPosition = -1;
  /// One sentence with numbers, lower case, no final period, the rule's id in
  /// brackets at its end.
  std::string message;
};

// Each rule is safe on any program: it first asks whether all that the program
// names is there.
std::optional<ProgramViolation> checkChannels(const Problem &, const Program &);
/// Needs L1.
std::optional<ProgramViolation> checkWaitCycle(const Problem &,
                                               const Program &);
std::optional<ProgramViolation> checkBuffers(const Problem &, const Program &);
/// Needs no problem: it looks at pools alone. L3 looks at what lies in them.
/// `caps` are the devices' memory in bytes by rank (noMemoryCap: none).
std::optional<ProgramViolation> checkArena(const Program &,
                                           const std::vector<int64_t> &caps);
std::optional<ProgramViolation> checkTasks(const Problem &, const Schedule &,
                                           const Program &);

/// `send 0F3 to rank 1`, `recv 1I0 from rank 1`, `step of stage 2`, `0F3`.
std::string programActionName(Action action, const Problem &);

} // namespace rondo

#endif // RONDO_SCHEDULE_PROGRAM_H
