//===- Lowering.h - The programs of a schedule, as values -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compiling makes of a plan and an order, so that tools can ask whether a
// schedule fits before anything is compiled. The passes of lowering call it
// too.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LOWERING_LOWERING_H
#define RONDO_LOWERING_LOWERING_H

#include "lowering/ForEach.h"
#include "schedule/DelayTable.h"
#include "schedule/Program.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// What a program is for.
enum class ProgramKind : uint8_t {
  /// One rank runs all homes, micro-batch after micro-batch.
  Sequential,
  /// The schedule.
  Pipeline,
  /// Forward only.
  Evaluation,
};
/// `the pipeline`, `the sequential reference`.
const char *wordsFor(ProgramKind kind);

/// One of the programs that an executable holds for a schedule.
struct LoweredProgram {
  ProgramKind kind = ProgramKind::Pipeline;
  /// The problem whose ranks run it.
  Problem executing;
  /// The tasks that it must hold.
  Schedule tasks;
  Program program;
  /// How the program's order runs without places and with any number of
  /// launches in flight; not complete where that is not known.
  ProgramSimulation withoutPlaces;
};

/// Memory by home for what several versions of the weights take.
struct VersionMemory {
  /// Versions that lie beside each other; empty: one of every home.
  std::vector<int32_t> weightSlots;
  /// Where a layer's weights are moved back, in bytes, 0 where they are not;
  /// empty: nowhere. Such a home also keeps the changes of its weights.
  std::vector<int64_t> scratchBytes;

  int32_t slotsOf(int32_t home) const {
    return weightSlots.empty() ? 1 : weightSlots[home];
  }
};

/// What lowering needs to know of a plan beside its problem.
struct PlanFigures {
  /// By home.
  std::vector<HomeBuffers> buffers;
  std::vector<Collective> collectives;
  /// Memory by rank, in bytes; noMemoryCap where there is no limit.
  std::vector<int64_t> devices;
  /// Whether a home has weights. The layers of a timed model may have none,
  /// and then say nothing of what a program holds beside activations.
  bool declaresWeights = false;
  /// Whether the schedule's program computes the norm of the gradients. The
  /// reference always does.
  bool hasNorm = true;
  /// What collectives of the schedule's program stage, in bytes by rank; empty:
  /// nothing.
  std::vector<int64_t> stagingBytes;
  /// Sends, receives and collectives of a rank that may be in flight at once;
  /// 0: any number.
  int32_t resident = 0;
  /// Of a schedule whose iterations overlap: what its tasks read.
  DelayTable delays;
  VersionMemory versions;

  TrainingNeeds needsOf(ProgramKind kind) const;
  /// The same for a program of a kind. The reference runs on one rank, and the
  /// evaluation has no collectives.
  std::vector<int64_t> stagingOf(ProgramKind kind) const {
    return kind == ProgramKind::Pipeline ? stagingBytes
                                         : std::vector<int64_t>();
  }
};

/// The problem whose ranks run a program; `problem` is the plan's. An
/// evaluation posts few receives at a time, since no backward limits what is
/// under way.
Problem executingProblem(ProgramKind kind, const Problem &problem);
/// The tasks that such a program of the schedule holds. `problem` is the
/// plan's; an evaluation reads no schedule, nor does a reference of stages that
/// are not sharded.
Schedule tasksOf(ProgramKind kind, const Problem &executing,
                 const Problem &problem, const Schedule &schedule);

/// The sequential reference, the evaluation and the pipeline, with messages and
/// without memory. `problem` is the plan's. `simulation` is the schedule's,
/// with its times, where it is known. O(actions).
Result<std::vector<LoweredProgram>>
lowerSchedule(const PlanFigures &plan, const Problem &problem,
              const Schedule &schedule, const ForEach &forEach = inTurn,
              const Simulation *simulation = nullptr);

/// What planning memory finds wrong with one of several programs.
struct MemoryFault {
  /// Of an executable, and a program of it.
  size_t schedule = 0, program = 0;
  /// Of the program's executing problem.
  Fault fault;
};

/// A schedule of an executable, with its programs. `problem` is the plan's.
struct LoweredSchedule {
  PlanFigures plan;
  Problem problem;
  std::vector<LoweredProgram> programs;
};

/// Gives the buffers of all programs of an executable their places, except for
/// those that have `arenaBytes` already. The programs must keep rule L1. They
/// run over the same arenas, so `arenaBytes` of each becomes what the largest
/// needs, and the same state, which must lie at the same place in all, and so
/// must staging in those that have any. Plans differ in the number and size of
/// micro-batches at most. Fills `withoutPlaces` of those that it gives places
/// and that send messages.
std::optional<MemoryFault> planMemory(std::vector<LoweredSchedule> &schedules,
                                      const ForEach &forEach = inTurn);

/// State or staging of `program` that lies elsewhere than in `first`, over
/// whose arenas it runs; data may. Their homes are the same.
std::optional<Fault> findMoved(const Program &program,
                               const LoweredProgram &first);

/// What suffices for both.
VersionMemory sharedVersions(const VersionMemory &a, const VersionMemory &b);
/// Buffers by home with what versions of the weights take.
std::vector<HomeBuffers>
withVersionMemory(const std::vector<HomeBuffers> &buffers,
                  const VersionMemory &versions);

/// Bytes of control memory by home: what the plan of most micro-batches needs.
std::vector<HomeBuffers>
withSharedControl(const std::vector<HomeBuffers> &buffers,
                  const std::vector<HomeBuffers> &others);

/// A program, the figures of its plan, and what is wrong with it.
struct CheckedProgram {
  const LoweredProgram *lowered = nullptr;
  const PlanFigures *plan = nullptr;
  std::optional<Fault> fault;
};
/// Gives each program the first fault that checkProgram() finds. Its rules
/// share the threads.
void checkLowered(std::vector<CheckedProgram> &programs,
                  const ForEach &forEach = inTurn);
/// The same of one program.
std::optional<Fault> checkLowered(const LoweredProgram &lowered,
                                  const PlanFigures &plan,
                                  const ForEach &forEach = inTurn);

/// What fills a rank's arena where it is fullest, in words with bytes, such as
/// `1024 bytes of weights, 192 of control and data, 512 of activations`. The
/// programs are those of one schedule.
std::string describeArena(const std::vector<LoweredProgram> &programs,
                          int32_t rank);

/// Lowers a schedule and plans its memory; nothing where that cannot be done.
/// Bytes by rank.
std::optional<std::vector<int64_t>> arenaOf(const PlanFigures &plan,
                                            const Problem &problem,
                                            const Schedule &schedule);

/// Whether programs of a legal schedule may wait for each other forever: only
/// under channels that limit what may be under way, or where a rank has more
/// queues than the plan lets launches be in flight. O(edges * log edges).
bool mayBlock(const PlanFigures &plan, const Problem &problem);
/// The first of a schedule's programs that does not run to its end (L2, L6).
std::optional<Fault> findBlocked(const PlanFigures &plan,
                                 const Problem &problem,
                                 const Schedule &schedule);

/// All of the above, with its rules, for a schedule that keeps S1 to S6.
struct ProvedPrograms {
  /// Bytes by rank; empty where memory could not be planned.
  std::vector<int64_t> arenaBytes;
  /// An iteration of the pipeline, with messages and collectives; 0 where a
  /// rule is broken.
  int64_t iterationNs = 0;
  /// The schedule's own program; empty where a rule is broken.
  Program pipeline;
  /// Nothing where all rules hold.
  std::optional<Fault> fault;
  /// What the faulty program is for.
  ProgramKind faulty = ProgramKind::Pipeline;
  /// What fills the arena of the fault's rank, where that is over the cap.
  std::string use;

  /// An arena is larger than its device.
  bool isOverCap() const {
    return fault && fault->kind == FaultKind::ArenaOverCap;
  }
};
ProvedPrograms provePrograms(const PlanFigures &plan, const Problem &problem,
                             const Schedule &schedule);
/// The fault in words; `problem` is the plan's.
std::string describeFault(const ProvedPrograms &proved, const Problem &problem);

} // namespace rondo

#endif // RONDO_LOWERING_LOWERING_H
