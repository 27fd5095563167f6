//===- ResidencyTest.cpp - L6: few launches in flight ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LoweredExample.h"

#include "schedule/order/Residency.h"
#include "schedule/program/ProgramSimulator.h"
#include "schedule/rules/ProgramRules.h"

using namespace rondo;
using namespace rondo::test;

namespace {

std::string faultOf(const Lowered &p) {
  auto fault = checkResidency(p.problem, p.program);
  return fault ? describe(*fault, p.problem) : "";
}

// Rank 0 sends, receives and has collectives: three queues.
TEST(Residency, OnlyRanksWithMoreQueuesAreLimited) {
  const Lowered p;
  const auto &order = p.program.order;
  EXPECT_EQ(countQueues(order.rank(0), p.problem.edges, {0, 1}), 3);
  EXPECT_EQ(limitResidency(p.problem, order, 2), (std::vector<int32_t>{2, 2}));
  EXPECT_EQ(limitResidency(p.problem, order, 3), std::vector<int32_t>());
  EXPECT_EQ(limitResidency(p.problem, order, 0), std::vector<int32_t>());
}

TEST(Residency, AnOrderThatRunsWithOne) {
  Lowered p;
  p.program.resident = 1;
  EXPECT_EQ(faultOf(p), "");
  EXPECT_TRUE(simulateProgram(p.problem, p.program).complete);
}

// F takes 3, a message 10 to arrive: the second leaves when it is made, or once
// the first has arrived.
TEST(Residency, LaunchesWaitForTheEndOfEarlierOnes) {
  Problem problem = linearProblem(2, 2, {3, 4, 2});
  problem.link.latencyNs = 10;
  Program program = programOf(
      {"0F0 >0F0 0F1 >0F1 A0 E0", "<0F0 <0F1 1F0 1F1 A0 E0"}, problem);
  auto arrivals = [&](int32_t resident) {
    program.resident = resident;
    ProgramSimulation run = simulateProgram(problem, program);
    EXPECT_TRUE(run.complete);
    return std::pair(run.endNs[6], run.endNs[7]);
  };
  EXPECT_EQ(arrivals(0), std::pair(int64_t(13), int64_t(16)));
  // Two queues: a send, or a receive, and collectives.
  EXPECT_EQ(arrivals(2), std::pair(int64_t(13), int64_t(16)));
  EXPECT_EQ(arrivals(1), std::pair(int64_t(13), int64_t(23)));
}

// The message of 1F2 waits for a launch that ends early, but it stays after
// that of 1F1 on their link, whose NICs both of them ask for.
TEST(Residency, MessagesThatCrossNicsKeepTheirOrder) {
  Problem problem = linearProblem(3, 3, {1, 1, 1});
  problem.replicas = {};
  for (const int32_t rank : {0, 0, 1, 2})
    problem.replicas.addStage(rank);
  problem.costs.assign(size_t(4) * numCostColumns, {/*ns=*/1});
  problem.makeGraph({{}, {}, {0}, {1}}, {10, 10, 0, 0});
  problem.link = {/*latencyNs=*/3, /*bytesPerUs=*/1000};
  problem.links[{0, 1}] = {/*latencyNs=*/100, /*bytesPerUs=*/1000};
  problem.nics = {{1000}, {0, 0, -1}};
  Program program = programOf({"0F0 >0F0 1F0 >1F0 1F1 >1F1 1F2 >1F2 A0 E0",
                               "<0F0 A0 E0", "<1F0 <1F1 <1F2 A0 E0"},
                              problem);
  program.resident = 2;
  const ProgramSimulation run = simulateProgram(problem, program);
  ASSERT_TRUE(run.complete);
  EXPECT_EQ(run.endNs[1], 1 + 10 + 100);
  EXPECT_EQ(run.endNs[3], 2 + 10 + 3);
  // After the end of 0F0's message; the link is then free at 121.
  EXPECT_EQ(run.endNs[5], 111 + 10 + 3);
  EXPECT_EQ(run.endNs[7], 121 + 10 + 3);
}

// With K = 2 a collective is the third launch of rank 0, after the first.
TEST(Residency, CollectivesAreLaunchesAsWell) {
  Problem problem = linearProblem(2, 1, {3, 4, 2});
  problem.link.latencyNs = 10;
  Program program = programOf(
      {"0F0 >0F0 <1I0 A0 0B0 E0", "<0F0 A0 1F0 1B0 >1I0 E0"}, problem);
  program.collectives[0].ns = 5;
  auto endOfSum = [&](int32_t resident) {
    program.resident = resident;
    ProgramSimulation run = simulateProgram(problem, program);
    EXPECT_TRUE(run.complete);
    return run.endNs[3];
  };
  // Both ranks issue it at 3 at the latest.
  EXPECT_EQ(endOfSum(0), 8);
  // After the send of 0F0, which arrives at 13.
  EXPECT_EQ(endOfSum(2), 18);
}

// A receive that is posted before what its message waits for.
TEST(Residency, ReceivesThatArePostedTooEarly) {
  Lowered p(
      {"<1I0 0F0 >0F0 0F1 >0F1 0I0 0W0 <1I1 0B1 A0 E0 S0", legalOrder[1]});
  EXPECT_TRUE(p.broken().empty());
  p.program.resident = 1;
  EXPECT_EQ(
      faultOf(p),
      "send 0F0 to rank 1 at position 2 of rank 0 waits for the end of recv "
      "1I0 from rank 1 at position 0 of rank 0, since 1 launch of a rank may "
      "be in flight at once, and so they wait for each other: on rank 0, recv "
      "1I0 from rank 1 waits for send 1I0 to rank 0 on rank 1 -> on rank 1, "
      "1F0 waits for recv 0F0 from rank 0 on rank 1 -> on rank 1, recv 0F0 "
      "from rank 0 waits for send 0F0 to rank 1 on rank 0 -> on rank 0, send "
      "0F0 to rank 1 waits for recv 1I0 from rank 1 on rank 0; issue recv 1I0 "
      "from rank 1 later, or state resident = 2 in the plan's target, with "
      "which the program runs to its end [L6]");
  p.program.resident = 2;
  EXPECT_EQ(faultOf(p), "");
  p.program.resident = 0;
  EXPECT_EQ(faultOf(p), "");
}

// Rank 1's receives follow a collective that rank 0 issues after the messages
// that it needs of rank 1.
TEST(Residency, CollectivesHoldMessagesBack) {
  const std::vector<std::string> order = {
      "0F0 >0F0 0F1 >0F1 <1I0 0I0 0W0 <1I1 0B1 A0 E0 S0",
      "A0 <0F0 1F0 <0F1 1I0 >1I0 1W0 1F1 1B1 >1I1 E0 S1"};
  Lowered p(order);
  p.program.resident = 1;
  auto fault = checkResidency(p.problem, p.program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::ResidencyCycle);
  // The second send of rank 0 waits for the first, which waits for rank 1.
  EXPECT_EQ(fault->rank, 0);
  EXPECT_EQ(fault->position, 3);
  EXPECT_EQ(fault->otherPosition, 1);
  EXPECT_EQ(fault->allowed, 1);
  EXPECT_EQ(fault->found, 3);
}

} // namespace
