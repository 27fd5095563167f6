//===- ProblemTest.cpp - What check() refuses -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"

#include "schedule/model/Task.h"

using namespace rondo;
using namespace rondo::test;

namespace {

std::string fault(const Problem &problem) {
  auto found = problem.check();
  return found ? describe(*found) : "";
}

Replicas replicasOn(const std::vector<std::vector<int32_t>> &ranksOfStage) {
  Replicas replicas;
  for (const std::vector<int32_t> &ranks : ranksOfStage) {
    std::vector<Share> shares;
    for (int32_t rank : ranks)
      shares.push_back({rank, 1});
    replicas.addStage(shares);
  }
  return replicas;
}

void expectFault(const Problem &problem, const std::string &part) {
  EXPECT_NE(fault(problem).find(part), std::string::npos)
      << "'" << fault(problem) << "' lacks '" << part << "'";
}

TEST(Problem, AcceptsTheUsual) {
  EXPECT_EQ(fault(linearProblem(4, 8)), "");
  EXPECT_EQ(fault(problemOn({0, 1, 1, 0}, 3, 1)), "");
}

TEST(Problem, Sizes) {
  expectFault(Problem(), "0 ranks");
  Problem problem = linearProblem(2, 0);
  expectFault(problem, "the problem has 0 micro-batches; there must be 1 to");
  problem.microbatches = std::numeric_limits<int32_t>::max();
  expectFault(problem, "2147483647 micro-batches");
  problem.microbatches = 1 << 24;
  EXPECT_EQ(fault(problem), "");
  problem = linearProblem(32, 1);
  problem.microbatches = 1 << 24;
  expectFault(problem, "32 stages times 16777216 micro-batches are more than");
  problem = linearProblem(2, 1);
  problem.replicas =
      replicasOn(std::vector<std::vector<int32_t>>(1 << 16, {0}));
  expectFault(problem, "65536 stages");
  problem = linearProblem(2, 1);
  problem.costs.pop_back();
  expectFault(problem, "the cost table has 21 entries; 2 stages need 22");
}

TEST(Problem, Places) {
  Problem problem = linearProblem(2, 1);
  problem.replicas = replicasOn({{0}, {2}});
  expectFault(problem, "stage 1 is on rank 2; the ranks are 0 to 1");
  problem.replicas = replicasOn({{0}, {}});
  expectFault(problem, "stage 1 is on no rank");
  problem = linearProblem(2, 1);
  problem.memoryCaps[1] = -3;
  expectFault(problem, "the memory of rank 1 is -3 bytes");
}

TEST(Problem, Costs) {
  Problem problem = linearProblem(2, 1);
  problem.cost(1, ActionKind::WeightGrad).ns = -1;
  expectFault(problem, "W of stage 1 takes -1 ns; it must be 0 or more");
  problem = linearProblem(2, 1);
  problem.setStageCost(0, 1, 1, 1, 2, 3);
  expectFault(problem, "I of stage 0 releases 3 bytes, but only 2 bytes");
  problem.setStageCost(0, 1, 1, 1, -2, -2);
  expectFault(problem, "F of stage 0 takes -2 bytes");
  problem = linearProblem(2, 1);
  problem.cost(1, ActionKind::Backward).releaseBytes = 2;
  expectFault(problem, "B of stage 1 releases 2 bytes, but only 1 byte");
  problem = linearProblem(2, 1);
  problem.cost(1, ActionKind::Backward).lane = Lane::CopyOut;
  expectFault(problem, "B of stage 1 is not on the lane of its kind");
}

TEST(Problem, Links) {
  Problem problem = linearProblem(2, 1);
  problem.links[{0, 2}] = {};
  expectFault(problem, "link 0>2 does not join two of 2 ranks");
  problem.links = {{{1, 1}, {}}};
  expectFault(problem, "link 1>1 does not join two of 2 ranks");
  problem.links = {{{0, 1}, {-1, 0}}};
  expectFault(problem, "link 0>1 has a latency of -1 ns");
  problem.links.clear();
  problem.link.bytesPerUs = -1;
  expectFault(problem, "the default link carries -1 bytes a microsecond");
}

TEST(Problem, Nics) {
  Problem problem = linearProblem(2, 1);
  problem.nics = {{5, 6}, {0, -1}};
  EXPECT_FALSE(problem.check());
  problem.nics.ofRank.pop_back();
  expectFault(problem, "NICs are stated for 1 rank; there are 2");
  problem.nics.ofRank = {1, 2};
  expectFault(problem, "rank 1 is on NIC 2; the NICs are 0 to 1");
  problem.nics = {{5, 6}, {0, 1}, {0}};
  expectFault(problem, "servers are stated for 1 NIC; there are 2");
  problem.nics = {{5, 0}, {0, 0}};
  expectFault(problem,
              "NIC 1 carries 0 bytes a microsecond; it must be 1 or more");
}

TEST(Problem, Channels) {
  Problem problem = linearProblem(2, 1);
  problem.channels.receiveSlots = -1;
  expectFault(problem, "channels have -1 receive slots; it must be 0");
}

TEST(Problem, Edges) {
  Problem problem = linearProblem(2, 1);
  problem.edges[0].to = 2;
  expectFault(problem, "edge 0 goes from stage 0 to stage 2");
  problem.edges[0] = {0, 1, ActionKind::WeightGrad, 0};
  expectFault(problem, "edge 0 is made by neither F nor I");
  problem.edges[0] = {0, 1, ActionKind::Forward, -4};
  expectFault(problem, "edge 0 from stage 0 to stage 1 carries -4 bytes");
  problem.edges[0] = {1, 0, ActionKind::Forward, 0};
  expectFault(problem, "edge 0 goes from stage 1 to stage 0; what F makes goes "
                       "to a later stage");
  problem.edges[0] = {0, 1, ActionKind::InputGrad, 0};
  expectFault(problem, "edge 0 goes from stage 0 to stage 1; what I makes goes "
                       "to an earlier stage");
  problem.edges.assign(maxEdges, {0, 1, ActionKind::Forward, 0});
  EXPECT_EQ(fault(problem), "");
  problem.microbatches = 257;
  expectFault(problem, "1048576 edges times 257 micro-batches are more than "
                       "268435456 messages");
  problem.edges.push_back(problem.edges.back());
  expectFault(problem, "the problem has 1048577 edges; there may be 1048576");
}

TEST(Action, EveryFieldHoldsItsLargestNumber) {
  Action action(static_cast<ActionKind>((1 << action_layout::kindBits) - 1),
                (1 << action_layout::subjectBits) - 1, maxMicrobatches - 1);
  action.count = maxCount;
  EXPECT_EQ(action.kindBits, 63u);
  EXPECT_EQ(action.subject, 67108863u);
  EXPECT_EQ(action.index, 16777215u);
  EXPECT_EQ(action.count, 255u);
}

TEST(Problem, SumsThatWouldOverflow) {
  constexpr int64_t huge = std::numeric_limits<int64_t>::max();
  Problem problem = linearProblem(2, 1);
  problem.setStageCost(0, huge, huge, huge, 1, 1);
  expectFault(problem, "sum to 2^60 ns");
  problem = linearProblem(2, 1 << 20, {int64_t(1) << 42, 1, 1, 1, 0});
  expectFault(problem, "sum to 2^60 ns");
  problem = linearProblem(2, 1 << 20, {1, 1, 1, int64_t(1) << 41, 0});
  expectFault(problem, "sums to 2^62 bytes");
  problem = linearProblem(2, 1);
  problem.link.latencyNs = huge;
  expectFault(problem, "sum to 2^60 ns");
  problem = linearProblem(2, 1 << 20, {}, int64_t(1) << 50);
  problem.link.bytesPerUs = 1;
  expectFault(problem, "sum to 2^60 ns");
  problem = linearProblem(2, 1, {}, huge);
  expectFault(problem, "carries 9223372036854775807 bytes");
}

TEST(Problem, FiguresBelowZeroAreRefusedAsTheyAre) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min();
  Problem problem = linearProblem(2, 1);
  problem.setStageCost(0, 1, least, least, 1, 1);
  expectFault(problem, "I of stage 0 takes -9223372036854775808 ns");
  problem.setStageCost(0, 1, 1, 1, least, 1);
  expectFault(problem, "F of stage 0 takes -9223372036854775808 bytes");
  problem.setStageCost(0, 1, 1, 1, 1, least);
  expectFault(problem, "I of stage 0 releases -9223372036854775808 bytes");
}

TEST(Problem, OccupancyIsRoundedUp) {
  EXPECT_EQ((Link{0, 0}).occupancyNs(1000), 0);
  EXPECT_EQ((Link{0, 1000}).occupancyNs(7), 7);
  EXPECT_EQ((Link{0, 3000}).occupancyNs(7), 3);
  EXPECT_EQ((Link{0, std::numeric_limits<int64_t>::max()}).occupancyNs(1), 1);
  EXPECT_EQ((Link{0, 1}).occupancyNs(maxMessageBytes), 1000 * maxMessageBytes);
}

TEST(Task, CodesAndKindsOfActionsConvertBothWays) {
  std::vector<bool> isSeen(numCodes(5));
  for (int32_t stage = 0; stage < 5; ++stage)
    for (Task task : allTasks) {
      const Code code = codeOf(task, stage);
      ASSERT_LT(code, isSeen.size());
      EXPECT_FALSE(isSeen[code]);
      isSeen[code] = true;
      EXPECT_EQ(taskOf(code), task);
      EXPECT_EQ(stageOf(code), stage);
    }
  std::string letters;
  for (Task task : allTasks) {
    EXPECT_EQ(taskOf(kindOf(task)), task);
    EXPECT_EQ(mirrored(mirrored(task)), task);
    letters += traitsOf(kindOf(task)).letter;
  }
  EXPECT_EQ(letters, "FIW");
  EXPECT_EQ(taskBefore(Task::W), Task::I);
  EXPECT_EQ(taskAfter(Task::F), Task::I);
  EXPECT_EQ(taskOf(ActionKind::Backward), Task::I);
  EXPECT_EQ(taskOf(ActionKind::Recompute), Task::I);
  EXPECT_EQ(mirrored(Task::F), Task::I);
  EXPECT_EQ(mirrored(Task::W), Task::W);
}

} // namespace
