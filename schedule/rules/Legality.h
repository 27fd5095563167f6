//===- Legality.h - The rules of a schedule ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rule is one function that returns the first fault it finds.
// The verify pass, the search, the tools and the tests call the same functions.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_RULES_LEGALITY_H
#define RONDO_SCHEDULE_RULES_LEGALITY_H

#include "schedule/model/Fault.h"
#include "schedule/simulate/Simulator.h"

#include <optional>

namespace rondo {

/// S1. All other rules need a schedule that keeps it.
std::optional<Fault> checkCompleteness(const Problem &, const Schedule &);
/// S2: every task is on its stage's rank.
std::optional<Fault> checkPlacement(const Problem &, const Schedule &);
/// S3: no action comes before one of the same rank that it needs directly; a
/// step needs all weight gradients of its stage.
std::optional<Fault> checkDependence(const Problem &, const Schedule &);
/// S6: a link order names each message of its link once. Needs S2.
std::optional<Fault> checkLinkOrder(const Problem &, const Schedule &);
/// S4, from a finished simulation of a schedule that keeps S1 to S3 and S6.
std::optional<Fault> checkDeadlock(const Simulation &);
/// S5 at every instant. Memory depends on each rank's own order alone, so this
/// needs no simulation; the first action of the lowest rank that breaks the cap
/// is reported, with `found` bytes held and `allowed` the cap.
std::optional<Fault> checkMemory(const Problem &, const Schedule &);

/// S7, apart from the others because only programs that promise the sequential
/// run's bits need it: W and B of each stage are in micro-batch order, so
/// that gradients are added in that order.
std::optional<Fault> checkAccumulation(const Problem &, const Schedule &);

/// S1, S2, S6, S3, S9 and S4 in this order, which a simulation needs.
std::optional<Fault> checkRuns(const Problem &, const Schedule &,
                               Simulation &simulation, bool keepTimes);
/// The rules but S7 in the order S1, S2, S6, S3, S9, S4, S5, S8; stops at the
/// first fault. S8 (VersionAnalysis.h) is for windows of several iterations, S9
/// (Shards.h) for stages whose state is sharded. Fills
/// `simulation` where the rules up to S4 hold.
std::optional<Fault> checkSchedule(const Problem &, const Schedule &,
                                   Simulation *simulation = nullptr,
                                   bool keepTimes = false);

} // namespace rondo

#endif // RONDO_SCHEDULE_RULES_LEGALITY_H
