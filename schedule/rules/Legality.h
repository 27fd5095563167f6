//===- Legality.h - The rules of a schedule ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rule is one function that returns the first fault it finds. It derives
// everything that it needs from the problem and the schedule. The verify
// pass, the search, the tools and the tests call the same functions.
// schedule/model/Rules.def is their table.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_RULES_LEGALITY_H
#define RONDO_SCHEDULE_RULES_LEGALITY_H

#include "schedule/model/Fault.h"
#include "schedule/simulate/Simulator.h"

#include <optional>

namespace rondo {

/// S1. All other rules need a schedule that keeps it. O(actions).
std::optional<Fault> checkCompleteness(const Problem &, const Schedule &);
/// S2: every task is on its stage's rank. O(actions).
std::optional<Fault> checkPlacement(const Problem &, const Schedule &);
/// S3: no action comes before one of the same rank that it needs directly; a
/// step needs all weight gradients of its stage. O(actions).
std::optional<Fault> checkDependence(const Problem &, const Schedule &);
/// S6: a link order names each message of its link once. Needs S2.
std::optional<Fault> checkLinkOrder(const Problem &, const Schedule &);
/// S10: SAVE and LOAD of a micro-batch come both or not at all, once, and only
/// of a stage that may copy. Needs S1 and S2. O(actions).
std::optional<Fault> checkCopies(const Problem &, const Schedule &);
/// S12: a copy order names each copy of its host link once. Needs S10.
std::optional<Fault> checkCopyOrder(const Problem &, const Schedule &);
/// S4, by simulating a schedule that keeps S1, S2 and S6, and with copies S3,
/// S10 and S12. As simulate().
std::optional<Fault> checkDeadlock(const Problem &, const Schedule &);
/// S5 at every instant. Memory depends on each rank's own order alone, so this
/// needs no simulation; the first action of the lowest rank that breaks the cap
/// is reported, with `found` bytes held and `allowed` the cap. O(actions).
std::optional<Fault> checkMemory(const Problem &, const Schedule &);
/// S11, by the count along the list of CopyWaits.h. O(actions).
std::optional<Fault> checkHostMemory(const Problem &, const Schedule &);
/// S7, apart from the others because only programs that promise the sequential
/// run's bits need it: W and B of each stage are in micro-batch order, so
/// that gradients are added in that order. O(actions).
std::optional<Fault> checkAccumulation(const Problem &, const Schedule &);
/// S8, for windows of several iterations; it simulates, since versions may
/// depend on times. Needs S1 to S4 and S6.
std::optional<Fault> checkVersions(const Problem &, const Schedule &);
/// S9: tasks read weights that are gathered; nothing is gathered twice or left
/// gathered; every gradient is reduced once, before its stage's step; the
/// replicas of a group reduce the gradients of the same micro-batches; and the
/// ranks of a group issue what they do together in one order. Needs S1 and S2.
/// O(actions).
std::optional<Fault> checkGathers(const Problem &, const Schedule &);

/// All rules but S7, in the order of the table; the first fault.
std::optional<Fault> checkSchedule(const Problem &, const Schedule &);
/// As checkSchedule(), and simulates the schedule once: `simulation` is set if
/// the rules up to S4 hold, even if a later one does not. It has times if
/// `keepTimes` is set or the problem has several iterations.
std::optional<Fault> checkAndSimulate(const Problem &, const Schedule &,
                                      Simulation &simulation,
                                      bool keepTimes = false);
/// The same for the rules up to S4, with times: whether the schedule runs to
/// its end, regardless of memory and versions.
std::optional<Fault> checkRunsAndSimulate(const Problem &, const Schedule &,
                                          Simulation &simulation);

} // namespace rondo

#endif // RONDO_SCHEDULE_RULES_LEGALITY_H
