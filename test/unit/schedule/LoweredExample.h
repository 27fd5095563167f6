//===- LoweredExample.h - A program to break single rules of ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_SCHEDULE_LOWEREDEXAMPLE_H
#define RONDO_TEST_UNIT_SCHEDULE_LOWEREDEXAMPLE_H

#include "ProgramExamples.h"
#include "schedule/rules/Rules.h"

namespace rondo::test {

inline const std::vector<std::string> legalOrder = {
    "0F0 >0F0 0F1 >0F1 <1I0 0I0 0W0 <1I1 0B1 A0 E0 S0",
    "<0F0 1F0 <0F1 1I0 >1I0 1W0 1F1 1B1 >1I1 A0 E0 S1"};

/// A lowered program of two stages on two ranks that keeps all rules.
struct Lowered {
  Problem problem = linearProblem(2, 2);
  Schedule schedule =
      scheduleOf({"0F0 0F1 0I0 0W0 0B1", "1F0 1I0 1W0 1F1 1B1"});
  Program program;

  explicit Lowered(const std::vector<std::string> &order = legalOrder) {
    program = programOf(order, problem);
    placeApart(program, problem);
  }

  /// All broken rules of those whose needs hold.
  std::vector<Fault> broken() const {
    const ProgramDemands demands{
        &schedule, {}, problem.memoryCaps, {}, nullptr};
    std::vector<Fault> faults;
    RuleSet rules = 0;
    for (const ProgramRule &row : programRules())
      if ((row.needs & rules) == 0)
        if (auto fault = row.check(problem, program, demands)) {
          rules |= setOf(row.rule);
          faults.push_back(*fault);
        }
    return faults;
  }

  /// The message of the only broken rule.
  std::string only(Rule rule) const {
    std::vector<Fault> faults = broken();
    if (faults.size() != 1 || faults[0].rule != rule) {
      std::string all;
      for (const Fault &fault : faults)
        all += describe(fault, problem) + "\n";
      ADD_FAILURE() << faults.size() << " rules are broken:\n" << all;
      return "";
    }
    return describe(faults[0], problem);
  }
};

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_SCHEDULE_LOWEREDEXAMPLE_H
