//===- LegalityTest.cpp - Each rule of a schedule, broken alone -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"
#include "schedule/bounds/Shortfall.h"
#include "schedule/rules/Rules.h"

#include <set>

using namespace rondo;
using namespace rondo::test;

namespace {

/// The fault that checkSchedule() finds; checks that all other rules which
/// can be tested alone find nothing.
Fault onlyBroken(const Problem &problem, const Schedule &schedule, Rule rule) {
  auto fault = checkSchedule(problem, schedule);
  if (!fault) {
    ADD_FAILURE() << "the schedule is legal";
    return {};
  }
  EXPECT_EQ(fault->rule, rule) << describe(*fault, problem);
  // Nothing is known about rules that need it, and about S4, which often is
  // broken by the same change as S3.
  for (const ScheduleRule &row : scheduleRules())
    if ((row.needs & setOf(rule)) == 0 && row.rule != Rule::Deadlock &&
        !row.isOptional)
      if (auto other = row.check(problem, schedule)) {
        EXPECT_EQ(other->rule, rule) << describe(*other, problem);
      }
  if (rule == Rule::Memory) {
    EXPECT_TRUE(simulate(problem, schedule).complete);
  }
  return *fault;
}

// The numbers that documents and messages cite, and the names in verdicts.
TEST(Legality, NamesOfRules) {
  struct Named {
    Rule rule;
    std::string id, name;
  };
  const std::vector<Named> all = {{Rule::Completeness, "S1", "completeness"},
                                  {Rule::Placement, "S2", "completeness"},
                                  {Rule::Dependence, "S3", "dependence"},
                                  {Rule::Deadlock, "S4", "deadlock"},
                                  {Rule::Memory, "S5", "memory"},
                                  {Rule::LinkOrder, "S6", "link-order"},
                                  {Rule::Accumulation, "S7", "accumulation"},
                                  {Rule::Versions, "S8", "versions"},
                                  {Rule::Gathers, "S9", "gathers"},
                                  {Rule::Copies, "S10", "completeness"},
                                  {Rule::HostMemory, "S11", "host-memory"},
                                  {Rule::CopyOrder, "S12", "copy-order"},
                                  {Rule::Channels, "L1", "channels"},
                                  {Rule::WaitCycle, "L2", "wait-cycle"},
                                  {Rule::Buffers, "L3", "buffers"},
                                  {Rule::Arena, "L4", "arena"},
                                  {Rule::Tasks, "L5", "tasks"},
                                  {Rule::Residency, "L6", "residency"}};
  EXPECT_EQ(all.size() + 1, size_t(numRules));
  for (const Named &named : all) {
    EXPECT_EQ(ruleId(named.rule), named.id);
    EXPECT_EQ(ruleName(named.rule), named.name);
  }
  EXPECT_STREQ(ruleId(Rule::None), "");
}

TEST(Legality, EachRuleIsInATable) {
  std::set<std::string> ids;
  for (const ScheduleRule &row : scheduleRules())
    EXPECT_TRUE(ids.insert(ruleId(row.rule)).second);
  for (const ProgramRule &row : programRules())
    ids.insert(ruleId(row.rule));
  EXPECT_EQ(ids, (std::set<std::string>{"L1", "L2", "L3", "L4", "L5", "L6",
                                        "S1", "S10", "S11", "S12", "S2", "S3",
                                        "S4", "S5", "S6", "S7", "S8", "S9"}));
}

TEST(Legality, FillsTheSimulation) {
  Problem problem = linearProblem(2, 4);
  Simulation simulation;
  EXPECT_EQ(checkAndSimulate(problem, generateFamily("1f1b", problem),
                             simulation,
                             /*keepTimes=*/true),
            std::nullopt);
  EXPECT_EQ(simulation.makespanNs, 15);
  EXPECT_EQ(simulation.endNs.size(), 16u);
}

TEST(Legality, RankCount) {
  Problem problem = linearProblem(2, 1);
  Schedule schedule = scheduleOf({"0F0 0B0 1F0 1B0"});
  Fault f = onlyBroken(problem, schedule, Rule::Completeness);
  EXPECT_EQ(f.kind, FaultKind::RankCount);
  EXPECT_EQ(describe(f, problem),
            "the schedule orders 1 rank, the problem has 2 [S1]");
}

TEST(Legality, UnknownTask) {
  Problem problem = linearProblem(2, 1);
  for (const char *task : {"2F0", "1F1"}) {
    Fault f = onlyBroken(
        problem, scheduleOf({"0F0 0B0", "1F0 1B0 " + std::string(task)}),
        Rule::Completeness);
    EXPECT_EQ(f.kind, FaultKind::UnknownTask);
    EXPECT_EQ(
        describe(f, problem),
        std::string(task) +
            " at position 2 of rank 1 is not a task: the problem has stages "
            "0 to 1 and micro-batches 0 to 0 [S1]");
  }
}

// Costs do not cover this field yet.
TEST(Legality, NoTaskServesSeveralIndices) {
  Problem problem = linearProblem(1, 1);
  Action action = actionOf("0F0");
  action.count = 2;
  Schedule schedule;
  schedule.append(action);
  schedule.append(actionOf("0B0"));
  schedule.endRank();
  EXPECT_EQ(onlyBroken(problem, schedule, Rule::Completeness).kind,
            FaultKind::UnknownTask);
}

TEST(Legality, UnsupportedKind) {
  Problem problem = linearProblem(1, 1);
  Schedule schedule;
  schedule.append({ActionKind::Forward, 0, 0});
  schedule.append({ActionKind::Await, 0, 0});
  schedule.append({ActionKind::Backward, 0, 0});
  schedule.endRank();
  Fault f = onlyBroken(problem, schedule, Rule::Completeness);
  EXPECT_EQ(f.kind, FaultKind::UnsupportedKind);
  EXPECT_EQ(describe(f, problem),
            "await at position 1 of rank 0 is not a "
            "task: a schedule orders F, I, W, B, R, STEP, SAVE and LOAD, and "
            "UNSHARD, RESHARD and REDUCE_GRAD of sharded stages [S1]");
}

TEST(Legality, Twice) {
  Problem problem = linearProblem(2, 1);
  Fault f = onlyBroken(problem, scheduleOf({"0F0 0B0", "1F0 1B0 1F0"}),
                       Rule::Completeness);
  EXPECT_EQ(f.kind, FaultKind::Twice);
  EXPECT_EQ(describe(f, problem), "1F0 appears twice: at position 0 of rank 1 "
                                  "and at position 2 of rank 1 [S1]");
}

TEST(Legality, Missing) {
  Problem problem = linearProblem(1, 1);
  auto missing = [&](const char *order) {
    Fault f = onlyBroken(problem, scheduleOf({order}), Rule::Completeness);
    EXPECT_EQ(f.kind, std::string(order).rfind("0F0 0B0 0F1", 0) == 0 ||
                              std::string(order) == "0F0"
                          ? FaultKind::MissingBackward
                          : FaultKind::MissingTask);
    return describe(f, problem);
  };
  EXPECT_EQ(missing("0B0"), "0F0 is missing on rank 0 [S1]");
  EXPECT_EQ(missing("0F0 0I0"), "0W0 is missing on rank 0 [S1]");
  EXPECT_EQ(missing("0F0 0W0"), "0I0 is missing on rank 0 [S1]");
  EXPECT_EQ(missing("0F0"), "0B0, or 0I0 and 0W0, is missing on rank 0 [S1]");
  EXPECT_EQ(missing("0I0"),
            "0F0 is missing on rank 0, and so is 1 other task [S1]");
  // A missing B is one task; a schedule that ends early is reported as such.
  problem = linearProblem(1, 4);
  EXPECT_EQ(missing("0F0 0B0 0F1"),
            "0B1, or 0I1 and 0W1, is missing on rank 0, and so are 4 other "
            "tasks; there are 4 micro-batches, and the schedule orders 2 [S1]");
  EXPECT_EQ(missing("0F0 0B0 0F3 0I3"),
            "0F1 is missing on rank 0, and so are 4 other tasks [S1]");
}

TEST(Legality, Mixture) {
  Problem problem = linearProblem(1, 1);
  for (const char *order : {"0F0 0I0 0B0", "0F0 0B0 0W0", "0F0 0I0 0W0 0B0"}) {
    Fault f = onlyBroken(problem, scheduleOf({order}), Rule::Completeness);
    EXPECT_EQ(f.kind, FaultKind::Mixture);
  }
  EXPECT_EQ(verdict(problem, scheduleOf({"0F0 0I0 0B0"})),
            "0I0 at position 1 of rank 0 and 0B0 at position 2 of rank 0 both "
            "appear; a micro-batch has either B, or I and W [S1]");
}

TEST(Legality, WrongRank) {
  Problem problem = linearProblem(2, 1);
  Fault f =
      onlyBroken(problem, scheduleOf({"0F0 1F0 1B0 0B0", ""}), Rule::Placement);
  EXPECT_EQ(describe(f, problem),
            "1F0 is on rank 0, but stage 1 is on rank 1 [S2]");
  EXPECT_EQ(f.position, 1);
  EXPECT_EQ(f.otherRank, 1);
}

TEST(Legality, Order) {
  Problem problem = linearProblem(1, 2);
  auto broken = [&](const char *order) {
    return describe(onlyBroken(problem, scheduleOf({order}), Rule::Dependence),
                    problem);
  };
  EXPECT_EQ(broken("0F0 0B1 0B0 0F1"),
            "0B1 at position 1 of rank 0 comes before 0F1 at position 3, "
            "which it needs [S3]");
  EXPECT_EQ(broken("0F0 0W0 0I0 0F1 0B1"),
            "0W0 at position 1 of rank 0 comes before 0I0 at position 2, "
            "which it needs [S3]");
}

TEST(Legality, OrderOfChunks) {
  Problem problem = problemOn({0, 0}, 1, 1);
  EXPECT_EQ(describe(onlyBroken(problem, scheduleOf({"1F0 0F0 1B0 0B0"}),
                                Rule::Dependence),
                     problem),
            "1F0 at position 0 of rank 0 comes before 0F0 at position 1, "
            "which it needs [S3]");
  EXPECT_EQ(describe(onlyBroken(problem, scheduleOf({"0F0 1F0 0I0 0W0 1B0"}),
                                Rule::Dependence),
                     problem),
            "0I0 at position 2 of rank 0 comes before 1B0 at position 4, "
            "which it needs [S3]");
}

TEST(Legality, Deadlock) {
  Problem problem = linearProblem(2, 2);
  Fault f =
      onlyBroken(problem, scheduleOf({"0F0 0B0 0F1 0B1", "1F0 1F1 1B0 1B1"}),
                 Rule::Deadlock);
  EXPECT_EQ(f.cycle.size(), 2u);
  EXPECT_EQ(describe(f, problem),
            "rank 0 waits for 1B0 of rank 1 at 0B0 -> rank 1 waits for 0F1 of "
            "rank 0 at 1F1 [S4]");
}

TEST(Legality, Memory) {
  Problem problem = linearProblem(2, 3, {1, 1, 1, 5, 2});
  Schedule schedule = scheduleOf({"0F0 0F1 0I0 0W0 0F2 0I1 0W1 0I2 0W2",
                                  "1F0 1I0 1F1 1W0 1I1 1W1 1F2 1I2 1W2"});
  problem.memoryCaps = {10, 8};
  EXPECT_EQ(verdict(problem, schedule), "");
  EXPECT_EQ(simulate(problem, schedule).peakBytes,
            (std::vector<int64_t>{10, 8}));
  problem.memoryCaps[1] = 7;
  Fault f = onlyBroken(problem, schedule, Rule::Memory);
  EXPECT_EQ(f.found, 8);
  EXPECT_EQ(f.allowed, 7);
  EXPECT_EQ(f.position, 2);
  EXPECT_EQ(describe(f, problem),
            "rank 1 holds 8 bytes at 1F1, 1 more than its 7 [S5]");
  // The same cap if it is what state leaves of a device's memory.
  problem.devices = {{noMemoryCap, 0}, {27, 20}};
  EXPECT_EQ(describe(f, problem),
            "rank 1 holds 28 bytes at 1F1, 1 more than its 27: 20 of weights, "
            "gradients, optimizer state, data, workspace and staging, 8 of "
            "activations "
            "[S5]");
}

TEST(Legality, Shortfall) {
  Problem problem = linearProblem(3, 3, {1, 1, 1, 5, 2});
  EXPECT_EQ(leastActivationBytes(problem), (std::vector<int64_t>{5, 5, 5}));
  problem.memoryCaps = {5, 2, 4};
  auto shortfall = findShortfall(problem);
  ASSERT_TRUE(shortfall);
  EXPECT_EQ(shortfall->rank, 1);
  EXPECT_EQ(
      describe(*shortfall),
      "no schedule fits: rank 1 may hold 2 bytes, but one micro-batch of "
      "its stages takes 5 bytes, 3 more; what helps is a memory of at least 5 "
      "bytes, messages not counted, or micro-batches of at most 1/3 of the "
      "size, or fewer layers on this rank; 1 "
      "more rank falls short as well");
  // The rank that lacks the most is named; a third of two samples is no size.
  problem.memoryCaps = {4, 2, 1};
  problem.samples = 2;
  problem.statesSamples = true;
  shortfall = findShortfall(problem);
  ASSERT_TRUE(shortfall);
  EXPECT_EQ(
      describe(*shortfall),
      "no schedule fits: rank 2 may hold 1 byte, but one micro-batch of its "
      "stages takes 5 bytes, 4 more; what helps is a memory of at least 5 "
      "bytes, messages not counted, or fewer layers on this rank; 2 more ranks "
      "fall short as well");
  // If state is larger than a device's memory the cap is 0, which a stage
  // without activations keeps.
  problem = linearProblem(1, 3, {1, 1, 1, 0, 0});
  problem.memoryCaps = {0};
  problem.devices = {{10, 13}};
  shortfall = findShortfall(problem);
  ASSERT_TRUE(shortfall);
  EXPECT_EQ(describe(*shortfall),
            "no schedule fits: rank 0 needs at least 13 bytes, 3 more than its "
            "device's 10: 13 for weights, gradients, optimizer state, data, "
            "workspace and staging, and 0 for the activations of one "
            "micro-batch; what "
            "helps is a memory of at least 13 bytes, messages not counted, or "
            "fewer layers on this rank");
}

TEST(Legality, Accumulation) {
  Problem problem = linearProblem(1, 2);
  EXPECT_EQ(checkAccumulation(problem, scheduleOf({"0F0 0F1 0I1 0B0 0W1"})),
            std::nullopt);
  Schedule schedule = scheduleOf({"0F0 0F1 0I0 0B1 0W0"});
  EXPECT_EQ(verdict(problem, schedule), ""); // tested apart from the others
  auto fault = checkAccumulation(problem, schedule);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, problem),
            "0W0 at position 4 of rank 0 comes after 0B1 at position 3; "
            "gradients are added in micro-batch order unless the schedule says "
            "accumulate(schedule_order) [S7]");
}

TEST(Legality, LinkOrders) {
  Problem problem = linearProblem(2, 2);
  auto broken = [&](std::pair<int32_t, int32_t> link, const char *messages) {
    Schedule schedule = generateFamily("gpipe", problem);
    schedule.linkOrders[link] = actionsOf(messages);
    return describe(onlyBroken(problem, schedule, Rule::LinkOrder), problem);
  };
  EXPECT_EQ(broken({0, 2}, ""),
            "the link order 0>2 names no link between two of 2 ranks [S6]");
  EXPECT_EQ(broken({1, 1}, ""),
            "the link order 1>1 names no link between two of 2 ranks [S6]");
  EXPECT_EQ(broken({0, 1}, "0F0 0F0"),
            "0F0 at position 1 of the link order 0>1 is not a message of that "
            "link, or appears twice [S6]");
  EXPECT_EQ(broken({0, 1}, "0F0 1B0"),
            "1B0 at position 1 of the link order 0>1 is not a message of that "
            "link, or appears twice [S6]");
  EXPECT_EQ(broken({0, 1}, "0F1"),
            "0F0 is missing from the link order 0>1 [S6]");
  // A fused backward makes its message as B.
  EXPECT_EQ(broken({1, 0}, "1I0 1I1"),
            "1I0 at position 0 of the link order 1>0 is not a message of that "
            "link, or appears twice [S6]");
  EXPECT_EQ(broken({0, 1}, "9F0"),
            "9F0 at position 0 of the link order 0>1 is not a message of that "
            "link, or appears twice [S6]");
  Schedule schedule = generateFamily("gpipe", problem);
  schedule.linkOrders[{1, 0}] = actionsOf("1B1 1B0");
  schedule.linkOrders[{0, 1}] = actionsOf("0F0 0F1");
  EXPECT_EQ(verdict(problem, schedule), "");
}

} // namespace
