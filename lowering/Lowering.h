//===- Lowering.h - The programs of a schedule, as values -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The programs that compiling makes of a plan and a schedule, as values. Tools
// use them to find out whether a schedule fits without compiling it; the
// lowering passes call the same functions.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LOWERING_LOWERING_H
#define RONDO_LOWERING_LOWERING_H

#include "lowering/ForEach.h"
#include "schedule/program/ProgramSimulator.h"
#include "schedule/rules/ProgramRules.h"
#include "schedule/simulate/DelayTable.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// Purpose of a program.
enum class ProgramKind : uint8_t {
  /// One rank runs all replicas, micro-batch after micro-batch.
  Sequential,
  /// Runs the schedule.
  Pipeline,
  /// Forward only.
  Evaluation,
};
/// `the pipeline`, `the sequential reference`, `the evaluation`.
const char *wordsFor(ProgramKind kind);

/// One of the programs that an executable holds for a schedule.
struct LoweredProgram {
  ProgramKind kind = ProgramKind::Pipeline;
  /// The problem whose ranks run it.
  Problem executing;
  /// The tasks that the program must contain.
  Schedule tasks;
  Program program;
  /// Simulation of the program's order without places and with any number of
  /// launches in flight; not complete if it is unknown.
  ProgramSimulation withoutPlaces;
};

/// Memory for several versions of the weights, by replica.
struct VersionMemory {
  /// [replica]: versions held at once; empty: one for every replica.
  std::vector<int32_t> weightSlots;
  /// [replica]: bytes for a copy of a layer's weights that is moved back along
  /// the running mean of their changes; 0: none; empty: none for all replicas.
  /// Such a replica also keeps that mean.
  std::vector<int64_t> scratchBytes;

  int32_t slotsOf(int32_t replica) const {
    return weightSlots.empty() ? 1 : weightSlots[replica];
  }
};

/// The figures of a plan that lowering needs in addition to its problem.
struct PlanFigures {
  /// Indexed by replica. If micro-batches differ, the most of any.
  std::vector<ReplicaBuffers> buffers;
  /// [micro-batch][replica], if micro-batches differ; otherwise empty.
  std::vector<std::vector<ReplicaBuffers>> buffersByMicrobatch;
  std::vector<Collective> collectives;
  /// [rank]: memory in bytes; noMemoryCap if there is no limit.
  std::vector<int64_t> devices;
  /// Whether any replica has weights. The layers of a timed model may have
  /// none; then only the activations of its programs are known.
  bool declaresWeights = false;
  /// Whether the schedule's program computes the norm of the gradients. The
  /// reference always does.
  bool hasNorm = true;
  /// [rank]: bytes of staging that the collectives of the schedule's program
  /// need; empty: none.
  std::vector<int64_t> stagingBytes;
  /// Maximum number of sends, receives and collectives of a rank in flight at
  /// once; 0: no limit.
  int32_t resident = 0;
  /// [rank]: bytes that arenas have at least for the buffers of micro-batches,
  /// for programs that are made while it runs; empty: what programs need.
  std::vector<int64_t> roomBytes;
  /// The delays of its tasks, for a schedule whose iterations overlap.
  DelayTable delays;
  VersionMemory versions;

  TrainingNeeds needsOf(ProgramKind kind) const;
  /// Staging bytes of a program of a kind. The reference runs on one rank and
  /// the evaluation has no collectives, so both have none.
  std::vector<int64_t> stagingOf(ProgramKind kind) const {
    return kind == ProgramKind::Pipeline ? stagingBytes
                                         : std::vector<int64_t>();
  }
};

/// The problem whose ranks run a program; `problem` is the plan's. An
/// evaluation has at most two receive slots per channel, because no backward
/// limits how far a rank runs ahead.
Problem executingProblem(ProgramKind kind, const Problem &problem);
/// The tasks of a program of the schedule; `problem` is the plan's. The
/// evaluation ignores `schedule`, and so does the reference of stages that are
/// not sharded.
Schedule tasksOf(ProgramKind kind, const Problem &executing,
                 const Problem &problem, const Schedule &schedule);

/// The sequential reference, the evaluation and the pipeline, with messages and
/// without memory. `problem` is the plan's. `simulation` is that of the
/// schedule, with times, or null. O(actions).
Result<std::vector<LoweredProgram>>
lowerSchedule(const PlanFigures &plan, const Problem &problem,
              const Schedule &schedule, const ForEach &forEach = inTurn,
              const Simulation *simulation = nullptr);

/// A fault of memory planning in one of several programs.
struct MemoryFault {
  /// Indices of the schedule in the executable and of the program in the
  /// schedule.
  size_t schedule = 0, program = 0;
  /// describe() needs the program's executing problem.
  Fault fault;
};

/// A schedule of an executable, with its programs. `problem` is the plan's.
struct LoweredSchedule {
  PlanFigures plan;
  Problem problem;
  std::vector<LoweredProgram> programs;
};

/// Plans the memory of all programs of an executable, except those that already
/// have `arenaBytes`. The programs must keep rule L1. All run over the same
/// arenas, so each gets the `arenaBytes` of the largest. State must have the
/// same place in all programs, and staging in all programs that have any. Plans
/// may differ only in the number and size of micro-batches. Fills
/// `withoutPlaces` of the planned programs that send messages.
std::optional<MemoryFault> planMemory(std::vector<LoweredSchedule> &schedules,
                                      const ForEach &forEach = inTurn);

/// Finds state or staging of `program` at another place than in `first`, with
/// which it shares arenas; data may differ. Both must have the same replicas.
std::optional<Fault> findMoved(const Program &program,
                               const LoweredProgram &first);

/// Element-wise maximum of both.
VersionMemory sharedVersions(const VersionMemory &a, const VersionMemory &b);
/// `buffers` plus the memory that `versions` needs.
std::vector<ReplicaBuffers>
withVersionMemory(const std::vector<ReplicaBuffers> &buffers,
                  const VersionMemory &versions);

/// `buffers` with the larger control memory of `buffers` and `others`, by
/// replica. The plan with the most micro-batches needs most.
std::vector<ReplicaBuffers>
withSharedControl(const std::vector<ReplicaBuffers> &buffers,
                  const std::vector<ReplicaBuffers> &others);

/// A program, what it must keep to, and its fault. See LoweredProgram.
struct CheckedProgram {
  ProgramKind kind = ProgramKind::Pipeline;
  const Problem *executing = nullptr;
  const Schedule *tasks = nullptr;
  const Program *program = nullptr;
  const PlanFigures *plan = nullptr;
  std::optional<Fault> fault;
};
/// Gives each program the first fault that checkProgram() finds. Its rules
/// share the threads.
void checkLowered(std::vector<CheckedProgram> &programs,
                  const ForEach &forEach = inTurn);
/// Checks one program.
std::optional<Fault> checkLowered(const LoweredProgram &lowered,
                                  const PlanFigures &plan,
                                  const ForEach &forEach = inTurn);

/// Purposes and bytes of a rank's arena in the program that fills it most, such
/// as `1024 bytes of weights, 192 of control and data, 512 of activations`.
/// `programs` are those of one schedule.
std::string describeArena(const std::vector<LoweredProgram> &programs,
                          int32_t rank);

/// Lowers a schedule and plans its memory. Returns bytes by rank, or nothing if
/// either fails.
std::optional<std::vector<int64_t>> arenaOf(const PlanFigures &plan,
                                            const Problem &problem,
                                            const Schedule &schedule);

/// Whether programs of a legal schedule may deadlock: only if channels limit
/// the messages under way, or if a rank has more queues than `plan.resident`.
/// O(edges * log edges).
bool mayBlock(const PlanFigures &plan, const Problem &problem);
/// The fault of the first of a schedule's programs that does not run to its end
/// (L2, L6).
std::optional<Fault> findBlocked(const PlanFigures &plan,
                                 const Problem &problem,
                                 const Schedule &schedule);

/// Result of lowering, planning memory and checking all rules for a schedule
/// that keeps S1 to S6.
struct ProvedPrograms {
  /// Bytes by rank; empty if memory could not be planned.
  std::vector<int64_t> arenaBytes;
  /// Time of an iteration of the pipeline, with messages and collectives; 0 if
  /// a rule is broken.
  int64_t iterationNs = 0;
  /// The schedule's own program; empty if a rule is broken.
  Program pipeline;
  /// Indexed by rank, if micro-batches differ: the bytes of the pipeline's
  /// pools for buffers of many sizes, and the most that these hold at once.
  std::vector<int64_t> placedBytes, heldBytes;
  /// Empty if all rules hold.
  std::optional<Fault> fault;
  /// Kind of the faulty program.
  ProgramKind faulty = ProgramKind::Pipeline;
  /// describeArena() of the fault's rank if its arena exceeds the cap.
  std::string use;

  /// Whether the fault is an arena that is larger than its device.
  bool isOverCap() const {
    return fault && fault->kind == FaultKind::ArenaOverCap;
  }
};
ProvedPrograms provePrograms(const PlanFigures &plan, const Problem &problem,
                             const Schedule &schedule);
/// Sentence of the fault; `problem` is the plan's.
std::string describeFault(const ProvedPrograms &proved, const Problem &problem);

} // namespace rondo

#endif // RONDO_LOWERING_LOWERING_H
