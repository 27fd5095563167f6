//===- Rules.h - The table of rules -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One row for each rule, from schedule/model/Rules.def. A rule is a function of
// the problem and the schedule or program that it checks. It takes no result of
// another rule, a planner or a simulation, so errors of these cannot hide; S4,
// S8, L2 and L6 simulate by themselves.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_RULES_RULES_H
#define RONDO_SCHEDULE_RULES_RULES_H

#include "schedule/program/Program.h"
#include "schedule/rules/ProgramRules.h"
#include "schedule/simulate/DelayTable.h"

#include <optional>
#include <vector>

namespace rondo {

/// One bit for each rule.
using RuleSet = uint32_t;
constexpr RuleSet setOf(Rule rule) { return 1u << static_cast<int>(rule); }

struct ScheduleRule {
  Rule rule = Rule::None;
  std::optional<Fault> (*check)(const Problem &, const Schedule &) = nullptr;
  /// Rules that must hold before; rows of the table before this one.
  RuleSet needs = 0;
  /// Whether only schedules that promise to keep the rule are checked.
  bool isOptional = false;
};

/// All rules of schedules, in the order in which checkSchedule() checks them.
const std::vector<ScheduleRule> &scheduleRules();

/// The requirements of a plan and its schedule on a program.
struct ProgramDemands {
  /// The tasks in their order.
  const Schedule *tasks = nullptr;
  TrainingNeeds training;
  /// [rank], in bytes: the memory of devices (noMemoryCap: no limit), and the
  /// staging of collectives. Empty: no limit, no staging.
  std::vector<int64_t> devices, staging;
  /// The versions that tasks read if iterations overlap; may be null.
  const DelayTable *delays = nullptr;
};

struct ProgramRule {
  Rule rule = Rule::None;
  std::optional<Fault> (*check)(const Problem &, const Program &,
                                const ProgramDemands &) = nullptr;
  /// Rules that must hold before; rows of the table before this one.
  RuleSet needs = 0;
};

/// All rules of programs, in the order in which checkProgram() checks them.
const std::vector<ProgramRule> &programRules();

/// Consecutive rows of programRules(), each of which needs the one before it.
/// Chains do not depend on each other, so they can be checked in parallel.
struct RuleChain {
  size_t begin = 0, end = 0;
};
const std::vector<RuleChain> &programRuleChains();

/// The first fault of a chain.
std::optional<Fault> checkChain(const RuleChain &chain, const Problem &,
                                const Program &, const ProgramDemands &);
/// The first fault of all rules of programs. Skips the rules of memory if the
/// program has no pools and no arenas. `problem` is the one whose ranks run the
/// program.
std::optional<Fault> checkProgram(const Problem &problem, const Program &,
                                  const ProgramDemands &);

} // namespace rondo

#endif // RONDO_SCHEDULE_RULES_RULES_H
