//===- ProgramRulesTest.cpp - Each rule of a program, broken alone --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/ProgramRules.h"
#include "LoweredExample.h"

using namespace rondo;
using namespace rondo::test;

namespace {

TEST(ProgramRules, LegalProgram) { EXPECT_TRUE(Lowered().broken().empty()); }

TEST(ProgramRules, NamesOfActionsAndBuffers) {
  Lowered p;
  std::string names;
  for (Action action : p.program.order.rank(0))
    names += programActionName(action, p.problem) + ", ";
  EXPECT_EQ(names, "0F0, send 0F0 to rank 1, 0F1, send 0F1 to rank 1, "
                   "recv 1I0 from rank 1, 0I0, 0W0, recv 1I1 from rank 1, 0B1, "
                   "all_reduce 0, await 0, step of stage 0, ");
  EXPECT_EQ(programActionName(Action(ActionKind::Unshard, 3, 0), p.problem),
            "unshard 0 of stage 3");
  EXPECT_STREQ(traitsOf(BufferKind::Weights).keyword, "weights");
  EXPECT_STREQ(traitsOf(BufferKind::SavedForWeightGrad).keyword,
               "saved_for_weight_grad");
}

//===----------------------------------------------------------------------===//
// L1 channels
//===----------------------------------------------------------------------===//

TEST(ProgramRules, ChannelEndsDisagree) {
  Lowered p(
      {legalOrder[0], "<0F1 <0F0 1F0 1I0 >1I0 1W0 1F1 1B1 >1I1 A0 E0 S1"});
  EXPECT_EQ(p.only(Rule::Channels),
            "message 0 of channel 0>1 is send 0F0 to rank 1 at position 1 of "
            "rank 0, but recv 0F1 from rank 0 at position 0 of rank 1 [L1]");
}

TEST(ProgramRules, SendWithoutReceive) {
  Lowered p;
  p.program.places.clear();
  auto message = [&](const std::vector<std::string> &order) {
    Lowered changed(order);
    auto fault = checkChannels(changed.problem, changed.program);
    return fault ? describe(*fault, changed.problem) : "";
  };
  EXPECT_EQ(
      message({legalOrder[0], "<0F0 1F0 1I0 >1I0 1W0 1F1 1B1 >1I1 A0 E0 S1"}),
      "send 0F1 to rank 1 at position 3 of rank 0 has no other end: "
      "channel 0>1 has 2 sends and 1 receive [L1]");
  EXPECT_EQ(message({"0F0 >0F0 0F1 <1I0 0I0 0W0 <1I1 0B1 A0 E0 S0",
                     "<0F0 1F0 1I0 >1I0 1W0 1F1 1B1 >1I1 A0 E0 S1"}),
            "1F1 at position 5 of rank 1 needs 0F1, which rank 0 does not send "
            "[L1]");
  EXPECT_EQ(message({"0F0 >0F0 0F1 >0F1 >0F1 <1I0 0I0 0W0 <1I1 0B1 A0 E0 S0",
                     "<0F0 1F0 <0F1 <0F1 1I0 >1I0 1W0 1F1 1B1 >1I1 A0 E0 S1"}),
            "send 0F1 to rank 1 at position 4 of rank 0 appears twice [L1]");
  EXPECT_EQ(message({legalOrder[0] + " <0F0", legalOrder[1]}),
            "recv 0F0 from rank 0 at position 12 of rank 0 belongs on rank 1, "
            "where stage 1 is [L1]");
}

TEST(ProgramRules, NamesWhatIsAbsent) {
  struct Case {
    Action action;
    const char *message;
  };
  for (const Case &c :
       {Case{Action(ActionKind::Send, 7, 0),
             "send of edge 7 at position 12 of rank 0 names no edge; there are "
             "2 [L1]"},
        Case{Action(ActionKind::Send, 0, 9),
             "send 0F9 to rank 1 at position 12 of rank 0 names no "
             "micro-batch; there are 2 [L1]"},
        Case{Action(ActionKind::Forward, 5, 0),
             "5F0 at position 12 of rank 0 names no replica; there are 2 [L1]"},
        Case{Action(ActionKind::AllReduce, 3, 0),
             "all_reduce 3 at position 12 of rank 0 names no collective; there "
             "are 1 [L1]"},
        Case{Action(ActionKind::Save, 0, 0),
             "0SAVE0 at position 12 of rank 0 has nothing to copy: the costs "
             "of stage "
             "0 have no SAVE and LOAD [L1]"},
        Case{Action(ActionKind::Unshard, 0, 0),
             "unshard 0 of stage 0 at position 12 of rank 0 has nothing to do: "
             "stage 0 keeps its state whole on each of its ranks [L1]"},
        Case{Action(ActionKind::Step, 1, 0),
             "step of stage 1 at position 12 of rank 0 belongs on rank 1, "
             "where stage 1 is [L1]"}}) {
    Lowered p;
    Schedule order;
    for (int32_t r = 0; r < 2; ++r) {
      for (Action action : p.program.order.rank(r))
        order.append(action);
      if (r == 0)
        order.append(c.action);
      order.endRank();
    }
    p.program.order = order;
    auto fault = checkChannels(p.problem, p.program);
    ASSERT_TRUE(fault);
    EXPECT_EQ(describe(*fault, p.problem), c.message);
    // No other rule reads past an array.
    EXPECT_TRUE(checkWaitCycle(p.problem, p.program));
    EXPECT_TRUE(checkBuffers(p.problem, p.program));
    EXPECT_TRUE(checkTasks(p.problem, p.schedule, p.program));
  }
}

//===----------------------------------------------------------------------===//
// L2 wait cycles
//===----------------------------------------------------------------------===//

TEST(ProgramRules, MoreReceivesThanSlots) {
  Lowered p(
      {legalOrder[0], "<0F0 <0F1 1F0 1I0 >1I0 1W0 1F1 1B1 >1I1 A0 E0 S1"});
  EXPECT_TRUE(p.broken().empty());
  p.problem.channels.receiveSlots = 1;
  EXPECT_EQ(p.only(Rule::WaitCycle),
            "rank 1 waits for itself to run 1F0, at recv 0F1 from rank 0, "
            "which comes before it; a channel has 1 receive slot: raise "
            "receive_slots in the cluster's channels<...>, with 2 the program "
            "runs to its end [L2]");
  p.problem.channels.receiveSlots = 2;
  EXPECT_TRUE(p.broken().empty());
}

// 0F1 waits for the send of 0F0, whose slot it takes; rank 1 receives that only
// after the collective, which rank 0 issues after 0F1.
TEST(ProgramRules, SlotsMakeACycle) {
  std::vector<std::string> order = {
      "0F0 >0F0 0F1 >0F1 A0 E0 <1I0 0I0 0W0 <1I1 0B1 S0",
      "A0 E0 <0F0 1F0 <0F1 1I0 >1I0 1W0 1F1 1B1 >1I1 S1"};
  Lowered p(order);
  EXPECT_EQ(checkWaitCycle(p.problem, p.program), std::nullopt);
  p.program.place(0, BufferKind::Output).slotOf = {0};
  auto fault = checkWaitCycle(p.problem, p.program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, p.problem),
            "rank 0 waits for rank 1 to post the recv of 0F0, at 0F1 -> rank 1 "
            "waits for rank 0 to issue all_reduce 0, at await 0 [L2]");
  EXPECT_EQ(fault->position, 2);
  EXPECT_EQ(fault->otherRank, 1);
  EXPECT_EQ(fault->otherPosition, 2);
  // An eager channel with room takes the message before it is posted.
  p.problem.channels.protocol = Protocol::Eager;
  EXPECT_EQ(checkWaitCycle(p.problem, p.program), std::nullopt);
}

// 0F2 takes the slot from which 0F1 is sent; that send waits for the only
// receive slot, which 1F0 would free.
TEST(ProgramRules, EagerCycleNamesWhoHoldsTheSlot) {
  Problem problem = linearProblem(2, 3);
  problem.channels = {Protocol::Eager, 1};
  Program program = programOf(
      {"0F0 >0F0 0F1 >0F1 0F2 >0F2 A0 E0", "<0F0 A0 E0 1F0 <0F1 1F1 <0F2 1F2"},
      problem);
  placeApart(program, problem);
  EXPECT_EQ(checkWaitCycle(problem, program), std::nullopt);
  program.place(0, BufferKind::Output).slotOf = {0, 1, 1};
  auto fault = checkWaitCycle(problem, program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, problem),
            "rank 0 waits for rank 1 to run 1F0, at 0F2 -> rank 1 waits for "
            "rank 0 to issue all_reduce 0, at await 0; a channel has 1 receive "
            "slot: raise receive_slots in the cluster's channels<...>, with 2 "
            "the program runs to its end [L2]");
}

TEST(ProgramRules, CycleOfTasks) {
  Lowered p({"0F0 >0F0 <1I0 0I0 0W0 0F1 >0F1 <1I1 0B1 A0 E0 S0",
             "<0F0 1F0 <0F1 1F1 1I0 >1I0 1W0 1B1 >1I1 A0 E0 S1"});
  auto fault = checkWaitCycle(p.problem, p.program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, p.problem),
            "rank 0 waits for rank 1 to send 1I0, at 0I0 -> rank 1 waits for "
            "rank 0 to send 0F1, at 1F1 [L2]");
}

TEST(ProgramRules, RankWaitsForItsOwnActions) {
  auto message = [](const std::vector<std::string> &order) {
    Lowered p(order);
    auto fault = checkWaitCycle(p.problem, p.program);
    return fault ? describe(*fault, p.problem) : "";
  };
  EXPECT_EQ(message({">0F0 0F0 0F1 >0F1 <1I0 0I0 0W0 <1I1 0B1 A0 E0 S0",
                     legalOrder[1]}),
            "rank 0 waits for itself to run 0F0, at send 0F0 to rank 1, which "
            "comes before it [L2]");
  EXPECT_EQ(message({legalOrder[0],
                     "1F0 <0F0 <0F1 1I0 >1I0 1W0 1F1 1B1 >1I1 A0 E0 S1"}),
            "rank 1 waits for itself to post the recv of 0F0, at 1F0, which "
            "comes before it [L2]");
  EXPECT_EQ(message({"0F0 >0F0 0F1 >0F1 <1I0 0W0 0I0 <1I1 0B1 A0 E0 S0",
                     legalOrder[1]}),
            "rank 0 waits for itself to run 0I0, at 0W0, which comes before "
            "it [L2]");
}

//===----------------------------------------------------------------------===//
// L5 tasks
//===----------------------------------------------------------------------===//

TEST(ProgramRules, AnotherOrderThanTheSchedule) {
  Lowered p;
  p.schedule = scheduleOf({"0F0 0F1 0I0 0W0 0B1", "1F0 1I0 1F1 1W0 1B1"});
  EXPECT_EQ(p.only(Rule::Tasks), "1W0 at position 5 of rank 1 comes "
                                 "where the schedule has 1F1 [L5]");
  p.schedule = scheduleOf({"0F0 0F1 0I0 0W0 0B1", "1F0 1I0 1W0 1F1"});
  EXPECT_EQ(p.only(Rule::Tasks),
            "1B1 at position 7 of rank 1 comes where the schedule has no more "
            "tasks [L5]");
  p.schedule = scheduleOf({"0F0 0F1 0I0 0W0 0B1 0F0", "1F0 1I0 1W0 1F1 1B1"});
  EXPECT_EQ(p.only(Rule::Tasks), "0F0 is missing at the end of rank 0 [L5]");
}

TEST(ProgramRules, CollectiveOfOneRankAlone) {
  const std::string order = "0F0 >0F0 0F1 >0F1 <1I0 0I0 0W0 <1I1 0B1 ";
  Lowered p({order + "A1 E1 A0 E0 S0", legalOrder[1]});
  p.program.collectives.push_back({CollectiveKind::TiedGradients, "wte", {0}});
  EXPECT_TRUE(p.broken().empty());
  Lowered q({order + "A0 E0 S0", legalOrder[1]});
  q.program.collectives = p.program.collectives;
  EXPECT_EQ(q.only(Rule::Tasks), "all_reduce 1 is missing on rank 0 [L5]");
}

TEST(ProgramRules, CollectivesAndSteps) {
  const std::string tasks = "0F0 >0F0 0F1 >0F1 <1I0 0I0 0W0 <1I1 ";
  auto message = [&](const std::string &ending) {
    Lowered p({tasks + ending, legalOrder[1]});
    auto fault = checkTasks(p.problem, p.schedule, p.program);
    return fault ? describe(*fault, p.problem) : "";
  };
  EXPECT_EQ(message("0B1 A0 E0 S0"), "");
  EXPECT_EQ(message("0B1 A0 E0"), "step of stage 0 is missing on rank 0 [L5]");
  EXPECT_EQ(message("0B1 S0"), "all_reduce 0 is missing on rank 0 [L5]");
  EXPECT_EQ(message("0B1 A0 S0"), "await 0 is missing on rank 0 [L5]");
  EXPECT_EQ(message("0B1 A0 E0 S0 S0"),
            "step of stage 0 at position 12 of rank 0 appears twice [L5]");
  EXPECT_EQ(message("0B1 A0 S0 E0"),
            "step of stage 0 at position 10 of rank 0 comes before await 0 at "
            "position 11 of rank 0, whose result it reads [L5]");
  EXPECT_EQ(message("0B1 E0 A0 S0"),
            "await 0 at position 9 of rank 0 comes before all_reduce 0 at "
            "position 10 of rank 0, which it waits for [L5]");
  EXPECT_EQ(message("A0 E0 0B1 S0"),
            "all_reduce 0 at position 8 of rank 0 comes before 0B1 at "
            "position 10 of rank 0, whose gradient it reads [L5]");
}

// Three stages on two ranks, the first and the last on rank 0.
struct Looped {
  Problem problem = problemOn({0, 1, 0}, 2, 1);
  Schedule schedule = scheduleOf({"0F0 2F0 2B0 0B0", "1F0 1B0"});

  std::string message(const std::vector<std::string> &order,
                      std::vector<Collective> collectives) {
    Program program = programOf(order, problem);
    program.collectives = std::move(collectives);
    for (auto fault :
         {checkTasks(problem, schedule, program),
          checkChannels(problem, program), checkWaitCycle(problem, program)})
      if (fault)
        return describe(*fault, problem);
    return "";
  }
};

const std::string loopedRank1 = "<0F0 1F0 >1F0 <2I0 1B0 >1I0 S1";

TEST(ProgramRules, AStepStandsAnywhereBehindItsGradients) {
  Looped looped;
  EXPECT_EQ(looped.message(
                {"0F0 >0F0 <1F0 2F0 2B0 S2 >2I0 <1I0 0B0 S0", loopedRank1}, {}),
            "");
  EXPECT_EQ(looped.message(
                {"0F0 >0F0 <1F0 2F0 S2 2B0 >2I0 <1I0 0B0 S0", loopedRank1}, {}),
            "step of stage 2 at position 4 of rank 0 comes before 2B0 at "
            "position 5 of rank 0, whose gradient it reads [L5]");
}

TEST(ProgramRules, ACollectiveStandsAnywhereBehindItsGradients) {
  Looped looped;
  const Collective last{CollectiveKind::TiedGradients, "w", {2}};
  EXPECT_EQ(looped.message({"0F0 >0F0 <1F0 2F0 2B0 A0 >2I0 <1I0 0B0 S0 E0 S2",
                            loopedRank1},
                           {last}),
            "");
  EXPECT_EQ(looped.message({"0F0 >0F0 <1F0 2F0 A0 2B0 >2I0 <1I0 0B0 S0 E0 S2",
                            loopedRank1},
                           {last}),
            "all_reduce 0 at position 4 of rank 0 comes before 2B0 at "
            "position 5 of rank 0, whose gradient it reads [L5]");
  EXPECT_EQ(looped.message({"0F0 >0F0 <1F0 2F0 2B0 A0 >2I0 S2 <1I0 0B0 S0 E0",
                            loopedRank1},
                           {last}),
            "step of stage 2 at position 7 of rank 0 comes before await 0 at "
            "position 11 of rank 0, whose result it reads [L5]");
}

TEST(ProgramRules, ANormReadsTheSumsOfTiedGradients) {
  Looped looped;
  const std::vector<Collective> both = {
      {CollectiveKind::TiedGradients, "w", {0, 2}},
      {CollectiveKind::GradientNorm, "", {0, 1, 2}}};
  const std::string begin = "0F0 >0F0 <1F0 2F0 2B0 >2I0 <1I0 0B0 ";
  const std::string rank1 = "<0F0 1F0 >1F0 <2I0 1B0 >1I0 A1 E1 S1";
  EXPECT_EQ(looped.message({begin + "A0 E0 A1 E1 S0 S2", rank1}, both), "");
  EXPECT_EQ(looped.message({begin + "A0 A1 E0 E1 S0 S2", rank1}, both),
            "all_reduce 1 at position 9 of rank 0 comes before await 0 at "
            "position 10 of rank 0, whose result it reads [L5]");
}

} // namespace
