//===- ProgramRules.h - The rules of a program ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rule is one function that returns the first fault it finds.
// schedule/model/Rules.def is their table.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_RULES_PROGRAMRULES_H
#define RONDO_SCHEDULE_RULES_PROGRAMRULES_H

#include "schedule/model/Fault.h"
#include "schedule/program/Program.h"

#include <optional>
#include <vector>

namespace rondo {

struct DelayTable;

/// Checks that every action has a kind that programs support and refers to an
/// existing replica, edge or collective of its rank. A fault has rule `rule`.
std::optional<Fault> checkNames(const Problem &, const Program &, Rule rule);

// Each rule is safe on any program: it checks names first, and derives
// everything that it needs from the program itself.

/// L1.
std::optional<Fault> checkChannels(const Problem &, const Program &);
/// L2, with any number of launches in flight: runs the program. Needs L1.
std::optional<Fault> checkWaitCycle(const Problem &, const Program &);
/// The same for a runtime whose sends end when they are received, with these
/// queues and any number of posted receives. Ignores the channels of the
/// problem.
std::optional<Fault> checkWaitCycle(const Problem &, const Program &,
                                    Queues queues);
/// L6: the program also runs to its end with at most `resident` launches of
/// each rank in flight. Needs L1 and L2. A fault has the least larger number
/// with which it runs as `found`.
std::optional<Fault> checkResidency(const Problem &, const Program &);
/// L3: replays every rank's order on the slots. Needs L4.
std::optional<Fault> checkBuffers(const Problem &, const Program &);
/// [pool]: the most slots that buffers other than state own at once. The
/// program must keep L3 and L4.
std::vector<int64_t> mostOwnedSlots(const Problem &, const Program &);
/// L4. Needs no problem: it checks pools and arenas, and L3 checks their
/// contents. `caps` are the devices' memory in bytes, indexed by rank
/// (noMemoryCap: none), `hostCaps` the limits of host arenas. An arena that is
/// larger is a FaultKind::ArenaOverCap or HostArenaOverCap.
std::optional<Fault> checkArena(const Program &,
                                const std::vector<int64_t> &caps,
                                const std::vector<int64_t> &hostCaps = {});
/// Rule L4 for staging pools. `needed[rank]` is in bytes.
std::optional<Fault> checkStaging(const Program &,
                                  const std::vector<int64_t> &needed);
/// L5: the program holds the tasks of the schedule in their order.
std::optional<Fault> checkTasks(const Problem &, const Schedule &,
                                const Program &);

/// Rule S8 of a program with weight slots: the version that a task reads by
/// `delays` is in its slot, and no step has overwritten it.
std::optional<Fault> checkWeightSlots(const Problem &, const Program &,
                                      const DelayTable &delays);

/// Requirements of training on a program.
struct TrainingNeeds {
  std::vector<Collective> collectives;
  /// Whether stages step.
  bool hasSteps = false;
};
/// Rule L5: the program contains everything that training requires.
std::optional<Fault> checkTraining(const Problem &, const TrainingNeeds &,
                                   const Program &);

/// Rule S3 for the steps of a schedule whose programs have these collectives:
/// no step precedes a gradient of its rank that it waits for through a
/// collective of its stage. Preconditions: S1 to S3.
std::optional<Fault> checkSteps(const Problem &, const Schedule &,
                                const std::vector<Collective> &collectives);

} // namespace rondo

#endif // RONDO_SCHEDULE_RULES_PROGRAMRULES_H
