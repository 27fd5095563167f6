//===- ProgramMemoryTest.cpp - Memory rules of programs, broken alone -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LoweredExample.h"
#include "schedule/rules/ProgramRules.h"

using namespace rondo;
using namespace rondo::test;

namespace {

//===----------------------------------------------------------------------===//
// L3 buffers
//===----------------------------------------------------------------------===//

TEST(ProgramMemory, TwoOwnersOfASlot) {
  Lowered p;
  p.program.place(0, BufferKind::SavedForWeightGrad).slotOf = {0};
  EXPECT_EQ(p.only(Rule::Buffers),
            "0F1 at position 2 of rank 0 takes slot 0 of pool 2 for "
            "saved_for_weight_grad of stage 0, micro-batch 1, where "
            "saved_for_weight_grad of stage 0, micro-batch 0 still lies, taken "
            "at position 0 [L3]");
}

TEST(ProgramMemory, WhatATaskReadsIsNotWhatItTakes) {
  Lowered p;
  p.program.place(1, BufferKind::InputGrad) =
      p.program.place(1, BufferKind::SavedForInputGrad);
  EXPECT_NE(p.only(Rule::Buffers)
                .find("1I0 at position 3 of rank 1 takes slot 0 of pool 6 for "
                      "input_grad of stage 1, micro-batch 0, where "
                      "saved_for_input_grad of stage 1, micro-batch 0 still"),
            std::string::npos);
}

TEST(ProgramMemory, SlotOfTheWeights) {
  Lowered p;
  p.program.place(0, BufferKind::Output) =
      p.program.place(0, BufferKind::Weights);
  EXPECT_EQ(p.only(Rule::Buffers),
            "0F0 at position 0 of rank 0 takes slot 0 of pool 0 for output of "
            "stage 0, micro-batch 0, where weights of stage 0 still lies [L3]");
  Lowered q;
  q.program.place(0, BufferKind::Gradients) =
      q.program.place(0, BufferKind::Weights);
  EXPECT_EQ(q.only(Rule::Buffers),
            "gradients of stage 0 lies in slot 0 of pool 0, where weights of "
            "stage 0 lies [L3]");
}

/// 0W0 still needs what 0I0 has left where 0I1 writes. B alone leaves nothing.
TEST(ProgramMemory, WhatIKeepsStaysUntilW) {
  const Problem problem = problemOn({0}, 1, 2);
  auto faultOf = [&](const char *order, std::vector<int32_t> slots) {
    Program program = programOf({order}, problem);
    placeApart(program, problem);
    program.place(0, BufferKind::KeptForWeightGrad) = {
        static_cast<int32_t>(program.pools.size()), std::move(slots)};
    program.pools.push_back({0, program.arenaBytes[0], 64, 2});
    const std::optional<Fault> fault = checkBuffers(problem, program);
    return fault ? describe(*fault, problem) : "";
  };
  const char *split = "0F0 0F1 0I0 0I1 0W0 0W1 A0 E0 S0";
  EXPECT_EQ(faultOf(split, {0, 1}), "");
  EXPECT_NE(faultOf(split, {0})
                .find("0I1 at position 3 of rank 0 takes slot 0 of pool"),
            std::string::npos)
      << faultOf(split, {0});
  EXPECT_EQ(faultOf("0F0 0F1 0I0 0W0 0I1 0W1 A0 E0 S0", {0}), "");
  EXPECT_EQ(faultOf("0F0 0F1 0B0 0B1 A0 E0 S0", {0}), "");
  // A micro-batch of each kind.
  EXPECT_EQ(faultOf("0F0 0F1 0I0 0B1 0W0 A0 E0 S0", {0, 1}), "");
  EXPECT_NE(faultOf("0F0 0F1 0I0 0B1 0W0 A0 E0 S0", {0})
                .find("0B1 at position 3 of rank 0 takes slot 0 of pool"),
            std::string::npos);
}

TEST(ProgramMemory, WorkspaceIsShared) {
  Problem problem = problemOn({0, 0}, 1, 1);
  Program program = programOf({"0F0 1F0 1B0 0B0 A0 E0 S0 S1"}, problem);
  placeApart(program, problem);
  program.place(0, BufferKind::Workspace) =
      program.place(1, BufferKind::Workspace) = {
          static_cast<int32_t>(program.pools.size()), {0}};
  program.pools.push_back({0, program.arenaBytes[0], 64, 1});
  EXPECT_EQ(checkBuffers(problem, program), std::nullopt);
  // But not with buffers that stay.
  program.place(1, BufferKind::Workspace) =
      program.place(1, BufferKind::Weights);
  auto fault = checkBuffers(problem, program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, problem),
            "workspace of stage 1 lies in slot 0 of pool 4, where weights of "
            "stage 1 lies [L3]");
}

TEST(ProgramMemory, ReadBeforeWrite) {
  Lowered p(
      {legalOrder[0], "1F0 <0F0 <0F1 1I0 >1I0 1W0 1F1 1B1 >1I1 A0 E0 S1"});
  auto fault = checkBuffers(p.problem, p.program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, p.problem),
            "1F0 at position 0 of rank 1 reads input of stage 1, micro-batch 0 "
            "in slot 0 of pool 9, which holds nothing [L3]");
}

TEST(ProgramMemory, NeverReleased) {
  Lowered p(
      {"0F0 >0F0 0F1 >0F1 <1I0 0I0 0W0 <1I1 0I1 A0 E0 S0", legalOrder[1]});
  p.schedule = scheduleOf({"0F0 0F1 0I0 0W0 0I1", "1F0 1I0 1W0 1F1 1B1"});
  EXPECT_EQ(p.only(Rule::Buffers),
            "saved_for_weight_grad of stage 0, micro-batch 1, taken by 0F1 at "
            "position 2 of rank 0, is never released [L3]");
}

TEST(ProgramMemory, SlotThatIsNotThere) {
  for (int32_t slot : {-1, 2}) {
    Lowered p;
    p.program.place(1, BufferKind::Input).slotOf[1] = slot;
    EXPECT_EQ(p.only(Rule::Buffers),
              "recv 0F1 from rank 0 at position 2 of rank 1 takes input of "
              "stage 1, micro-batch 1, which lies in no slot of a pool [L3]");
  }
  Lowered p;
  p.program.place(0, BufferKind::Weights).pool = 99;
  EXPECT_EQ(p.only(Rule::Buffers),
            "weights of stage 0 lies in no slot of a pool [L3]");
}

TEST(ProgramMemory, PoolOfAnotherRank) {
  Lowered p;
  p.program.place(1, BufferKind::Input) =
      p.program.place(0, BufferKind::Output);
  auto fault = checkBuffers(p.problem, p.program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, p.problem),
            "recv 0F0 from rank 0 at position 0 of rank 1 takes slot 0 of pool "
            "3, a pool of rank 0 [L3]");
}

TEST(ProgramMemory, NeighboursOnOneRankShareTheirBuffer) {
  Problem problem = problemOn({0, 0}, 1, 2);
  Program program =
      programOf({"0F0 1F0 1B0 0B0 0F1 1F1 1B1 0B1 A0 E0 S0 S1"}, problem);
  placeApart(program, problem);
  EXPECT_EQ(checkBuffers(problem, program), std::nullopt);
  program.place(1, BufferKind::Input) =
      program.place(1, BufferKind::SavedForInputGrad);
  auto fault = checkBuffers(problem, program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, problem),
            "1F0 at position 1 of rank 0 reads input of stage 1, micro-batch 0 "
            "in another slot than output of stage 0, micro-batch 0, which the "
            "same rank makes [L3]");
}

TEST(ProgramMemory, EvaluationReleasesAtTheEndOfF) {
  Problem problem = linearProblem(2, 3);
  Program program = programOf(
      {"0F0 >0F0 0F1 >0F1 0F2 >0F2", "<0F0 1F0 <0F1 1F1 <0F2 1F2"}, problem);
  program.collectives.clear();
  placeApart(program, problem);
  for (Place &place : program.places)
    if (!place.slotOf.empty())
      place.slotOf = {0};
  EXPECT_EQ(checkBuffers(problem, program), std::nullopt);
  EXPECT_EQ(
      checkTasks(problem, scheduleOf({"0F0 0F1 0F2", "1F0 1F1 1F2"}), program),
      std::nullopt);
  // But the two that F writes are not in one slot.
  program.place(1, BufferKind::SavedForWeightGrad) =
      program.place(1, BufferKind::SavedForInputGrad);
  EXPECT_TRUE(checkBuffers(problem, program));
}

//===----------------------------------------------------------------------===//
// L4 arena
//===----------------------------------------------------------------------===//

TEST(ProgramMemory, PoolsOverlap) {
  Lowered p;
  p.program.pools[1].offset -= 64;
  EXPECT_NE(checkArena(p.program, p.problem.memoryCaps)->kind,
            FaultKind::ArenaOverCap);
  EXPECT_EQ(p.only(Rule::Arena),
            "pool 1 begins at offset 0 of rank 0, inside pool 0, which ends at "
            "64 [L4]");
}

TEST(ProgramMemory, SlotsAreAligned) {
  Lowered p;
  p.program.pools[1].slotBytes = 60;
  EXPECT_EQ(p.only(Rule::Arena),
            "pool 1 of 2 slots of 60 bytes at offset 64 has a slot that does "
            "not begin at a multiple of 64 bytes [L4]");
  p.program.pools[1].slots = 1;
  p.program.place(0, BufferKind::SavedForInputGrad).slotOf = {0};
  EXPECT_EQ(checkArena(p.program, p.problem.memoryCaps), std::nullopt);
  p.program.pools[0].offset = 4;
  EXPECT_TRUE(checkArena(p.program, p.problem.memoryCaps));
}

TEST(ProgramMemory, MoreSlotsThanATableNames) {
  Lowered p;
  const int64_t before = p.program.arenaBytes[0];
  p.program.pools.push_back({0, before, 64, maxSlots});
  p.program.arenaBytes[0] += int64_t(64) * (maxSlots + 1);
  EXPECT_TRUE(p.broken().empty());
  p.program.pools.back().slots = maxSlots + 1;
  EXPECT_EQ(p.only(Rule::Arena),
            "pool 10 of 65537 slots of 64 bytes at offset " +
                std::to_string(before) +
                " has more slots than a table names, 65536 [L4]");
}

TEST(ProgramMemory, PoolBeyondTheArena) {
  Lowered p;
  p.program.arenaBytes[0] -= 1;
  EXPECT_NE(p.only(Rule::Arena).find("does not lie in the 575 bytes"),
            std::string::npos);
  Lowered q;
  q.program.pools[2].slots = std::numeric_limits<int32_t>::max();
  q.program.pools[2].slotBytes = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(checkArena(q.program, q.problem.memoryCaps));
  q.program.pools[2].slots = -1;
  EXPECT_TRUE(checkArena(q.program, q.problem.memoryCaps));
  Lowered r;
  r.program.pools[2].rank = 2;
  EXPECT_EQ(r.only(Rule::Arena),
            "pool 2 lies on rank 2; there are 2 arenas [L4]");
}

/// A pool of 128 bytes after those of rank 1.
struct Staged : Lowered {
  Staged() {
    program.pools.push_back({1, program.arenaBytes[1], 128, 1});
    program.arenaBytes[1] += 128;
    program.staging = {-1, static_cast<int32_t>(program.pools.size()) - 1};
  }
  std::string faultWith(const std::vector<int64_t> &needed) {
    auto fault = checkStaging(program, needed);
    return fault ? describe(*fault, problem) : "";
  }
};

TEST(ProgramMemory, StagingIsLargeEnough) {
  Staged p;
  EXPECT_TRUE(p.broken().empty());
  EXPECT_EQ(p.faultWith({}), "");
  EXPECT_EQ(p.faultWith({0, 128}), "");
  EXPECT_EQ(p.faultWith({0, 129}),
            "rank 1 has 128 bytes of staging; what its collectives receive and "
            "add takes 129 [L4]");
  EXPECT_EQ(p.faultWith({1, 128}),
            "rank 0 has 0 bytes of staging; what its collectives receive and "
            "add takes 1 [L4]");
  p.program.staging.clear();
  EXPECT_EQ(p.faultWith({0, 0}), "");
  EXPECT_EQ(p.faultWith({0, 1}).substr(0, 29), "rank 1 has 0 bytes of staging");
}

TEST(ProgramMemory, StagingIsAPoolOfItsRank) {
  Staged p;
  p.program.staging = {p.program.staging[1], -1};
  EXPECT_EQ(p.faultWith({}),
            "the staging of rank 0 is pool 10 of 1 slot on rank 1; it has one "
            "slot on its own rank [L4]");
  p.program.staging = {-1, 11};
  EXPECT_EQ(p.faultWith({}), "the staging of rank 1 lies in no pool 11 [L4]");
  Staged q;
  q.program.pools.back().slots = 2;
  EXPECT_EQ(q.faultWith({}),
            "the staging of rank 1 is pool 10 of 2 slots on rank 1; it has one "
            "slot on its own rank [L4]");
}

TEST(ProgramMemory, NothingLiesInStaging) {
  Staged p;
  p.program.place(1, BufferKind::SavedForInputGrad).pool = p.program.staging[1];
  EXPECT_EQ(p.only(Rule::Buffers),
            "saved_for_input_grad of stage 1, micro-batch 0 lies in pool 10, "
            "where collectives receive what they add [L3]");
}

TEST(ProgramMemory, ArenaAboveTheCap) {
  Lowered p;
  EXPECT_EQ(checkArena(p.program, {576, 1000}), std::nullopt);
  auto fault = checkArena(p.program, {575, 1000});
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, p.problem),
            "rank 0 needs an arena of 576 bytes, 1 more "
            "than its device's 575 [L4]");
  // The rank that lacks most.
  p.program.arenaBytes[1] = 1000;
  EXPECT_EQ(checkArena(p.program, {575, 998})->rank, 1);
  EXPECT_EQ(checkArena(p.program, {574, 999})->rank, 0);
  EXPECT_EQ(fault->kind, FaultKind::ArenaOverCap);
}

} // namespace
