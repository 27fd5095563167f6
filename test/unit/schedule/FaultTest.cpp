//===- FaultTest.cpp - Every fault has its sentence -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"
#include "LoweredExample.h"
#include "schedule/bounds/Shortfall.h"
#include "schedule/rules/ProgramRules.h"

#include <set>

using namespace rondo;
using namespace rondo::test;

namespace {

bool holds(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// A fault with a value in each field of a sentence.
Fault filled(FaultKind kind) {
  Fault fault;
  fault.kind = kind;
  fault.rank = 0;
  fault.otherRank = 1;
  fault.position = 2;
  fault.otherPosition = 3;
  fault.action = actionOf("0F1");
  fault.other = actionOf("1I0");
  fault.found = 5;
  fault.allowed = 4;
  fault.cycle.push_back({0, fault.action, fault.other, 1, false, Action()});
  for (size_t i = 0; i < numParts(kind); ++i)
    fault.parts.push_back(static_cast<int64_t>(9000 + i));
  return fault;
}

TEST(Fault, EverySentenceTellsItsParts) {
  const Problem problem = linearProblem(2, 2);
  for (int k = 0; k < numFaultKinds; ++k) {
    const Fault fault = filled(static_cast<FaultKind>(k));
    for (const std::string &said :
         {describe(fault), describe(fault, problem)}) {
      SCOPED_TRACE(faultSentences[k]);
      for (size_t i = 0; i < fault.parts.size(); ++i)
        EXPECT_TRUE(holds(said, std::to_string(9000 + i)))
            << said << "\nlacks part " << i;
      // Words that are not fields stay in braces.
      EXPECT_EQ(said.find_first_of("{}[]"), std::string::npos) << said;
      EXPECT_FALSE(said.empty());
      EXPECT_NE(said.back(), '.');
      EXPECT_FALSE(said[0] >= 'A' && said[0] <= 'Z' && said[1] >= 'a') << said;
    }
  }
}

TEST(Fault, EveryRuleIsNamedAtTheEnd) {
  std::set<std::string> ids;
  for (int r = 1; r < numRules; ++r) {
    const Rule rule = static_cast<Rule>(r);
    const std::string id = ruleId(rule);
    const Fault fault = makeRuleFault<FaultKind::NeverFinishes>(rule);
    const std::string said =
        "a send or receive has no other end, so that it never finishes [" + id +
        "]";
    EXPECT_EQ(describe(fault), said);
    EXPECT_EQ(describe(fault, linearProblem(1, 1)), said);
    EXPECT_EQ(describeBriefly(fault), said);
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 18u);
  EXPECT_FALSE(holds(describe(makeFault<FaultKind::NeverFinishes>()), "["));
}

TEST(Fault, PartsOfAllTypes) {
  EXPECT_EQ(describe(makeFault<FaultKind::AlsoFeeds>("gpipe", 1, size_t(3))),
            "gpipe needs a chain of stages; stage 1 also feeds stage 3");
  EXPECT_EQ(
      describe(makeFault<FaultKind::OddStages>(std::string("wave"), 1, 2)),
      "wave needs an even number of stages on every rank; there is 1 "
      "stage and 2 ranks");
  EXPECT_EQ(describe(makeFault<FaultKind::MissingBackward>(
                0, 0, 0, actionOf("0I0"), actionOf("0W0"))),
            "0F0, or 0I0 and 0W0, is missing on rank -1");
}

// Checks may be told without the problem; then names are numbers.
TEST(Fault, WithoutItsProblem) {
  Lowered p(
      {"0F0 >0F0 0F1 >0F1 >0F1 <1I0 0I0 0W0 <1I1 0B1 A0 E0 S0", legalOrder[1]});
  const auto fault = checkChannels(p.problem, p.program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, p.problem),
            "send 0F1 to rank 1 at position 4 of rank 0 has no other end: "
            "channel 0>1 has 3 sends and 2 receives [L1]");
  EXPECT_EQ(describe(*fault),
            "send 0 at position 4 of rank 0 has no other end: channel 0>1 has "
            "3 sends and 2 receives [L1]");
  const Fault held = makeRuleFault<FaultKind::NeverReleased>(
      Rule::Buffers, BufferName{static_cast<int32_t>(BufferKind::Output), 1});
  EXPECT_EQ(describe(held), "buffer 8, micro-batch 1, taken by 0F0 at position "
                            "-1 of rank -1, is never released [L3]");
  EXPECT_EQ(describe(held, p.problem),
            "output of stage 0, micro-batch 1, taken by 0F0 at position -1 of "
            "rank -1, is never released [L3]");
}

TEST(Fault, BrieflyWithoutAdvice) {
  Problem problem = linearProblem(3, 3, {1, 1, 1, 5, 2});
  problem.memoryCaps = {5, 2, 4};
  const auto shortfall = findShortfall(problem);
  ASSERT_TRUE(shortfall);
  EXPECT_TRUE(isShortfall(*shortfall));
  EXPECT_EQ(describeBriefly(*shortfall),
            "no schedule fits: rank 1 may hold 2 bytes, but one micro-batch of "
            "its stages takes 5 bytes, 3 more");
}

} // namespace
