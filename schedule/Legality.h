//===- Legality.h - The rules of a schedule ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rule is one function that returns the first violation it finds, as data.
// The verify pass, the search, the tools and the tests call the same functions.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_LEGALITY_H
#define RONDO_SCHEDULE_LEGALITY_H

#include "schedule/Simulator.h"

#include <optional>
#include <string>

namespace rondo {

enum class Rule : uint8_t {
  Completeness, // S1
  Placement,    // S2
  Dependence,   // S3
  Deadlock,     // S4
  Memory,       // S5
  LinkOrder,    // S6
  Accumulation, // S7
};

/// "S1" ... "S7": what messages and docs/schedule-rules.md cite.
const char *ruleId(Rule rule);
/// The rule's name in verdicts of `rondo verify --json`: "completeness" (also
/// for S2), "dependence", "deadlock", "memory", "link-order"; S7 is in none.
const char *ruleName(Rule rule);

/// A broken rule and what breaks it. Which fields matter depends on the rule
/// and is said at each check function.
struct Violation {
  Rule rule = Rule::Completeness;
  int32_t rank = -1;
  /// Position in the rank's order, -1 where nothing stands there.
  int64_t position = -1;
  Action action;
  /// The other party: the earlier twin, the needed task, ...
  int32_t otherRank = -1;
  int64_t otherPosition = -1;
  Action other;
  /// Memory: bytes of activations held and the cap. RankCount: see there.
  int64_t found = 0, allowed = 0;
  enum class What : uint8_t {
    RankCount,       // S1: `found` rank lists for `allowed` ranks
    UnknownTask,     // S1: action is no task of the problem
    UnsupportedKind, // S1: a kind that no schedule may hold yet
    Twice,           // S1: other is the first occurrence
    Missing,         // S1: action is in no list; B where I and W are not either
    Mixture,         // S1: action is I or W, other is B of the same micro-batch
    WrongRank,       // S2: action stands on rank, belongs on otherRank
    Order,           // S3: action stands before other, which it needs
    Cycle,           // S4
    OverCap,         // S5
    NoSuchLink,      // S6: rank > otherRank is no link
    NotOnLink,       // S6: action is no message of the link, or is named twice
    NotListed,       // S6: action is missing from the link's order
    OutOfOrder,      // S7: action stands behind other, of a later micro-batch
  } what = What::Missing;
  std::vector<Wait> cycle;
};

/// S1. All other rules need a schedule that keeps it.
std::optional<Violation> checkCompleteness(const Problem &, const Schedule &);
/// S2: every task is on its stage's rank.
std::optional<Violation> checkPlacement(const Problem &, const Schedule &);
/// S3: no action stands before one of the same rank that it needs directly.
std::optional<Violation> checkDependence(const Problem &, const Schedule &);
/// S6: a link order names each message of its link once. Needs S2.
std::optional<Violation> checkLinkOrder(const Problem &, const Schedule &);
/// S4, from a finished simulation of a schedule that keeps S1 to S3 and S6.
std::optional<Violation> checkDeadlock(const Simulation &);
/// S5 at every instant. Memory depends on each rank's own order alone, so this
/// needs no simulation; the first action of the lowest rank that breaks the cap
/// is reported, with `found` bytes held and `allowed` the cap.
std::optional<Violation> checkMemory(const Problem &, const Schedule &);

/// S7, apart from the others because only programs that promise the sequential
/// run's bits need it: W and B of each stage stand in micro-batch order, so
/// that gradients are added in that order.
std::optional<Violation> checkAccumulation(const Problem &, const Schedule &);

/// The rules but S7 in the order S1, S2, S6, S3, S4, S5; stops at the first
/// violation. Fills `simulation` where the rules up to S4 hold.
std::optional<Violation> checkSchedule(const Problem &, const Schedule &,
                                       Simulation *simulation = nullptr,
                                       bool keepTimes = false);

/// `0F3`: stage, letter, micro-batch.
std::string actionName(Action action);
/// One sentence with numbers, lower case, no final period, the rule's id in
/// brackets at its end.
std::string describe(const Violation &violation, const Problem &problem);
/// `rank 0 waits for 1I0 of rank 1 at 0I0 -> rank 1 waits for ...`.
std::string describeCycle(const std::vector<Wait> &cycle);

} // namespace rondo

#endif // RONDO_SCHEDULE_LEGALITY_H
