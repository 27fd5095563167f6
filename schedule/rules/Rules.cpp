//===- Rules.cpp - The table of rules -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/Rules.h"
#include "schedule/rules/Legality.h"

using namespace rondo;

namespace {

constexpr RuleSet nothing = 0;
#define SCHEDULE_RULE(id, rule, name, check, needs, when)                      \
  constexpr RuleSet id = setOf(Rule::rule);
#define PROGRAM_RULE(id, rule, name, check, needs)                             \
  constexpr RuleSet id = setOf(Rule::rule);
#include "schedule/model/Rules.def"

enum class When : uint8_t { Always, Promised };

bool isPlanned(const Program &program) {
  return !program.arenaBytes.empty() || !program.pools.empty();
}

// The rules of programs, with the signature of the table.

std::optional<Fault> checkProgramTasks(const Problem &problem,
                                       const Program &program,
                                       const ProgramDemands &demands) {
  if (auto fault = checkTasks(problem, *demands.tasks, program))
    return fault;
  return checkTraining(problem, demands.training, program);
}

std::optional<Fault> checkProgramChannels(const Problem &problem,
                                          const Program &program,
                                          const ProgramDemands &) {
  return checkChannels(problem, program);
}

/// L2 and L6 simulate the use of slots. If pools are invalid, L4 reports it.
std::optional<Fault> checkProgramWaits(const Problem &problem,
                                       const Program &program,
                                       const ProgramDemands &) {
  return checkArena(program, /*caps=*/{}) ? std::nullopt
                                          : checkWaitCycle(problem, program);
}

std::optional<Fault> checkProgramResidency(const Problem &problem,
                                           const Program &program,
                                           const ProgramDemands &) {
  return checkArena(program, /*caps=*/{}) ? std::nullopt
                                          : checkResidency(problem, program);
}

std::optional<Fault> checkProgramArena(const Problem &problem,
                                       const Program &program,
                                       const ProgramDemands &demands) {
  if (!isPlanned(program))
    return std::nullopt;
  if (auto fault =
          checkArena(program, demands.devices, problem.hostMemory.caps))
    return fault;
  return checkStaging(program, demands.staging);
}

std::optional<Fault> checkProgramBuffers(const Problem &problem,
                                         const Program &program,
                                         const ProgramDemands &) {
  return isPlanned(program) ? checkBuffers(problem, program) : std::nullopt;
}

std::optional<Fault> checkProgramVersions(const Problem &problem,
                                          const Program &program,
                                          const ProgramDemands &demands) {
  return problem.iterations > 1 && demands.delays && isPlanned(program)
             ? checkWeightSlots(problem, program, *demands.delays)
             : std::nullopt;
}

constexpr ScheduleRule scheduleTable[] = {
#define SCHEDULE_RULE(id, rule, name, check, needs, when)                      \
  {Rule::rule, check, needs, When::when == When::Promised},
#include "schedule/model/Rules.def"
};

constexpr ProgramRule programTable[] = {
#define PROGRAM_RULE(id, rule, name, check, needs) {Rule::rule, check, needs},
#define PROGRAM_PART(rule, check, needs) {Rule::rule, check, needs},
#include "schedule/model/Rules.def"
#include "schedule/rules/ProgramRules.h"
};

/// Whether each row comes after the rows that it needs.
template <typename Row, size_t size>
constexpr bool areInOrder(const Row (&table)[size]) {
  RuleSet before = 0;
  for (const Row &row : table) {
    if ((row.needs & ~before) != 0)
      return false;
    before |= setOf(row.rule);
  }
  return true;
}
static_assert(areInOrder(scheduleTable) && areInOrder(programTable),
              "a rule comes after the rules that it needs");
static_assert(numRules <= 32, "a bit for each rule");

std::vector<RuleChain> chainsOf(const std::vector<ProgramRule> &rules) {
  std::vector<RuleChain> chains;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (i == 0 || (rules[i].needs & setOf(rules[i - 1].rule)) == 0)
      chains.push_back({i, i});
    ++chains.back().end;
  }
  return chains;
}

} // namespace

const std::vector<ScheduleRule> &rondo::scheduleRules() {
  static const std::vector<ScheduleRule> rules(std::begin(scheduleTable),
                                               std::end(scheduleTable));
  return rules;
}

const std::vector<ProgramRule> &rondo::programRules() {
  static const std::vector<ProgramRule> rules(std::begin(programTable),
                                              std::end(programTable));
  return rules;
}

const std::vector<RuleChain> &rondo::programRuleChains() {
  static const std::vector<RuleChain> chains = chainsOf(programRules());
  return chains;
}

std::optional<Fault> rondo::checkChain(const RuleChain &chain,
                                       const Problem &problem,
                                       const Program &program,
                                       const ProgramDemands &demands) {
  for (size_t i = chain.begin; i < chain.end; ++i)
    if (auto fault = programRules()[i].check(problem, program, demands))
      return fault;
  return std::nullopt;
}

std::optional<Fault> rondo::checkProgram(const Problem &problem,
                                         const Program &program,
                                         const ProgramDemands &demands) {
  return checkChain({0, programRules().size()}, problem, program, demands);
}
