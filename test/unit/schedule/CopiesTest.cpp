//===- CopiesTest.cpp - Copies to hosts: waits, rules, times --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/schedule/Examples.h"
#include "test/unit/schedule/ShardedChain.h"

#include "schedule/bounds/Shortfall.h"
#include "schedule/order/CopyWaits.h"
#include "schedule/search/Search.h"
#include "schedule/timeline/TimeUse.h"

#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

/// Two ranks, a stage each, two micro-batches, F = I = W = 3, 4 bytes until W.
/// Stage 0 may copy `bytes` in 2 ns each way. Rank 1 has room for one.
Problem twoRanks(int64_t cap, int64_t bytes = 4,
                 LoadBefore before = LoadBefore::InputGrad,
                 int64_t inputGradFrees = 0) {
  Problem problem = linearProblem(2, 2, {3, 3, 3, 4, inputGradFrees});
  problem.memoryCaps = {cap, 4};
  problem.setCopies(0, {bytes, before, 2, 2});
  problem.hostMemory.loads.resize(2);
  EXPECT_EQ(problem.check(), std::nullopt);
  return problem;
}

Schedule withRank1(const std::string &rank0) {
  return scheduleOf({rank0, "1F0 1I0 1W0 1F1 1I1 1W1"});
}

const char *const bothCopied =
    "0F0 0SAVE0 0F1 0SAVE1 0LOAD0 0I0 0W0 0LOAD1 0I1 0W1";

/// The actions of rank 0 that await something, each with what.
std::string waitsOf(const Problem &problem, const Schedule &schedule) {
  const CopyWaits waits = deriveCopyWaits(problem, schedule);
  std::string text;
  for (int64_t i = 0; i < schedule.rank(0).size(); ++i) {
    if (waits.begin[i] == waits.begin[i + 1])
      continue;
    text += (text.empty() ? "" : "; ") + actionName(schedule.all()[i]);
    for (int64_t k = waits.begin[i]; k < waits.begin[i + 1]; ++k)
      text += " " + actionName(schedule.all()[waits.awaited[k]]);
  }
  return text;
}

TEST(Copies, WaitsFollowFromTheList) {
  // F1 needs the bytes of SAVE0; LOAD0 those of SAVE1; LOAD1 those of W0.
  EXPECT_EQ(waitsOf(twoRanks(4), withRank1(bothCopied)),
            "0SAVE0 0F0; 0F1 0SAVE0; 0SAVE1 0F1; 0LOAD0 0SAVE0 0SAVE1; "
            "0I0 0LOAD0; 0LOAD1 0W0; 0I1 0LOAD1");
  // With room for both, only what each action needs itself.
  EXPECT_EQ(waitsOf(twoRanks(8), withRank1(bothCopied)),
            "0SAVE0 0F0; 0SAVE1 0F1; 0LOAD0 0SAVE0; 0I0 0LOAD0; "
            "0LOAD1 0SAVE1; 0I1 0LOAD1");
  // Without a cap nothing is awaited.
  EXPECT_EQ(waitsOf(twoRanks(noMemoryCap), withRank1(bothCopied)),
            waitsOf(twoRanks(8), withRank1(bothCopied)));
}

TEST(Copies, HalfDuplexIsOneLane) {
  Problem problem = twoRanks(8);
  problem.hostMemory.links = {HostLink{0, 0, true}, std::nullopt};
  EXPECT_EQ(waitsOf(problem, withRank1(bothCopied)),
            "0SAVE0 0F0; 0SAVE1 0F1; 0I0 0LOAD0; 0I1 0LOAD1");
}

TEST(Copies, HostCapAwaitsTheOldestLoad) {
  Problem problem = twoRanks(noMemoryCap);
  problem.hostMemory.caps = {4, noMemoryCap};
  const Schedule schedule =
      withRank1("0F0 0SAVE0 0F1 0LOAD0 0SAVE1 0I0 0W0 0LOAD1 0I1 0W1");
  EXPECT_EQ(waitsOf(problem, schedule),
            "0SAVE0 0F0; 0LOAD0 0SAVE0; 0SAVE1 0F1 0LOAD0; 0I0 0LOAD0; "
            "0LOAD1 0SAVE1; 0I1 0LOAD1");
  EXPECT_EQ(simulate(problem, schedule).peakHostBytes,
            (std::vector<int64_t>{4, 0}));
}

TEST(Copies, LateLoads) {
  // The bytes that only W reads leave; I does not need them.
  const Problem problem = twoRanks(6, 2, LoadBefore::WeightGrad, 2);
  const Schedule schedule =
      withRank1("0F0 0SAVE0 0F1 0SAVE1 0I0 0LOAD0 0W0 0I1 0LOAD1 0W1");
  EXPECT_EQ(waitsOf(problem, schedule),
            "0SAVE0 0F0; 0F1 0SAVE0; 0SAVE1 0F1; 0LOAD0 0SAVE0 0SAVE1; "
            "0W0 0LOAD0; 0LOAD1 0I0; 0W1 0LOAD1");
}

/// The starts of rank 0's actions.
std::vector<int64_t> startsOf(const Problem &problem, const Schedule &schedule,
                              Simulation &run) {
  EXPECT_EQ(verdict(problem, schedule), "");
  run = simulate(problem, schedule, /*keepTimes=*/true);
  return {run.startNs.begin(), run.startNs.begin() + schedule.rank(0).size()};
}

TEST(Copies, TimesWorkedByHand) {
  Simulation run;
  EXPECT_EQ(startsOf(twoRanks(4), withRank1(bothCopied), run),
            (std::vector<int64_t>{0, 3, 5, 8, 10, 12, 15, 18, 20, 23}));
  EXPECT_EQ(run.makespanNs, 26);
  EXPECT_EQ(run.peakBytes, (std::vector<int64_t>{4, 4}));
  EXPECT_EQ(run.peakHostBytes, (std::vector<int64_t>{8, 0}));
  // Copies are no work of the rank.
  EXPECT_EQ(run.rankWorkNs, (std::vector<int64_t>{18, 18}));

  const Schedule one = withRank1("0F0 0SAVE0 0F1 0LOAD0 0I0 0W0 0I1 0W1");
  EXPECT_EQ(startsOf(twoRanks(8), one, run),
            (std::vector<int64_t>{0, 3, 3, 5, 9, 12, 18, 21}));
  EXPECT_EQ(run.makespanNs, 24);
  EXPECT_EQ(run.peakBytes, (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(run.peakHostBytes, (std::vector<int64_t>{4, 0}));

  EXPECT_EQ(startsOf(twoRanks(6, 2), withRank1(bothCopied), run),
            (std::vector<int64_t>{0, 3, 5, 8, 10, 12, 15, 18, 20, 23}));
  EXPECT_EQ(run.peakBytes, (std::vector<int64_t>{6, 4}));

  // Without a cap, the peak is that of the run: F1 and SAVE0 overlap.
  startsOf(twoRanks(noMemoryCap), withRank1(bothCopied), run);
  EXPECT_EQ(run.peakBytes, (std::vector<int64_t>{8, 4}));
}

TEST(Copies, TimelinesSayWhatActionsWaitFor) {
  Problem problem = twoRanks(4);
  Schedule schedule = withRank1(bothCopied);
  Timeline timeline =
      layOut(problem, schedule, simulate(problem, schedule, true));
  const auto waitOf = [&](int64_t i) {
    const TimelineTask &task = timeline.tasks[i];
    return task.waitedFor == WaitedFor::Copy ||
                   task.waitedFor == WaitedFor::HostLink
               ? actionName(timeline.tasks[task.waited].action)
               : "";
  };
  EXPECT_EQ(waitOf(1), "0F0");    // SAVE0
  EXPECT_EQ(waitOf(2), "0SAVE0"); // F1
  EXPECT_EQ(waitOf(4), "0SAVE1"); // LOAD0
  EXPECT_EQ(waitOf(5), "0LOAD0"); // I0
  EXPECT_EQ(waitOf(6), "");       // W0
  EXPECT_EQ(waitOf(7), "0W0");    // LOAD1
  EXPECT_EQ(timeUse(problem, timeline)[0].copiesNs, 8);
  // The bytes held follow the clock: 4 at each start of F and LOAD.
  for (int64_t i : {0, 2, 4, 7})
    EXPECT_EQ(timeline.tasks[i].heldBytes, 4) << i;
  EXPECT_EQ(timeline.tasks[3].leftBytes, 0);

  problem = linearProblem(2, 1, {3, 3, 3, 4});
  problem.hostMemory.shared = {{0, false}};
  problem.hostMemory.sharedOf = {0, 0};
  for (int32_t s : {0, 1})
    problem.setCopies(s, {4, LoadBefore::InputGrad, 5, 5});
  schedule =
      scheduleOf({"0F0 0SAVE0 0LOAD0 0I0 0W0", "1F0 1SAVE0 1LOAD0 1I0 1W0"});
  timeline = layOut(problem, schedule, simulate(problem, schedule, true));
  EXPECT_EQ(timeline.tasks[6].waitedFor, WaitedFor::HostLink);
  EXPECT_EQ(waitOf(6), "0SAVE0");
}

/// Two ranks without dependences between them, whose hosts share a link.
Problem sharedLink(bool isHalf = false) {
  Problem problem = linearProblem(2, 1, {3, 3, 3, 4});
  problem.hostMemory.links.assign(2, HostLink{1, 1000, false});
  problem.hostMemory.shared = {{0, isHalf}};
  problem.hostMemory.sharedOf = {0, 0};
  for (int32_t s : {0, 1})
    problem.setCopies(s, {4, LoadBefore::InputGrad, {}, {}});
  EXPECT_EQ(problem.check(), std::nullopt);
  return problem;
}

TEST(Copies, SharedLinksCarryTheFirstThatIsReady) {
  Problem problem = sharedLink();
  EXPECT_EQ(problem.copyNs(0, 4), 5);
  Schedule schedule =
      scheduleOf({"0F0 0SAVE0 0LOAD0 0I0 0W0", "1F0 1SAVE0 1LOAD0 1I0 1W0"});
  EXPECT_EQ(verdict(problem, schedule), "");
  Simulation run = simulate(problem, schedule, /*keepTimes=*/true);
  EXPECT_EQ(run.startNs,
            (std::vector<int64_t>{0, 3, 8, 21, 24, 3, 8, 13, 18, 21}));
  // Half duplex: LOAD0 of rank 0 is ready when SAVE0 of rank 1 has waited.
  problem = sharedLink(/*isHalf=*/true);
  run = simulate(problem, schedule, /*keepTimes=*/true);
  EXPECT_EQ(run.startNs,
            (std::vector<int64_t>{0, 3, 13, 26, 29, 3, 8, 18, 23, 26}));
  // An order of its own.
  schedule.copyOrders[0] = actionsOf("1SAVE0 0SAVE0 1LOAD0 0LOAD0");
  EXPECT_EQ(verdict(problem, schedule), "");
  run = simulate(problem, schedule, /*keepTimes=*/true);
  EXPECT_EQ(run.startNs,
            (std::vector<int64_t>{0, 11, 21, 26, 29, 3, 6, 16, 21, 24}));
}

TEST(Copies, CopyOrderAgainstALane) {
  const Problem problem = sharedLink(/*isHalf=*/true);
  Schedule schedule =
      scheduleOf({"0F0 0SAVE0 0LOAD0 0I0 0W0", "1F0 1SAVE0 1LOAD0 1I0 1W0"});
  schedule.copyOrders[0] = actionsOf("0LOAD0 0SAVE0 1SAVE0 1LOAD0");
  const auto fault = checkSchedule(problem, schedule);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, problem),
            "rank 0 waits for 0SAVE0 of rank 0 at 0LOAD0 -> rank 0 waits for "
            "0LOAD0 of rank 0 at 0SAVE0, since the copy order of their host "
            "link puts it first [S4]");
}

TEST(Copies, RulesFindOneChange) {
  Problem problem = twoRanks(4);
  problem.hostMemory.caps = {8, noMemoryCap};
  struct Change {
    const char *rank0, *message;
  };
  for (const Change &change :
       {Change{"0F0 0SAVE0 0F1 0SAVE1 0LOAD0 0I0 0W0 0I1 0W1",
               "0SAVE1 at position 3 of rank 0 has no 0LOAD1; a micro-batch "
               "has both SAVE and LOAD or neither [S10]"},
        Change{"0F0 0SAVE0 0F1 0LOAD1 0LOAD0 0I0 0W0 0I1 0W1",
               "0LOAD1 at position 3 of rank 0 has no 0SAVE1; a micro-batch "
               "has both SAVE and LOAD or neither [S10]"},
        Change{"0F0 0SAVE0 0SAVE0 0F1 0LOAD0 0I0 0W0 0I1 0W1",
               "0SAVE0 appears twice: at position 1 of rank 0 and at position "
               "2 of rank 0 [S10]"},
        Change{"0SAVE0 0F0 0F1 0LOAD0 0I0 0W0 0I1 0W1",
               "0SAVE0 at position 0 of rank 0 comes before 0F0 at position 1, "
               "which it needs [S3]"},
        Change{"0F0 0LOAD0 0SAVE0 0F1 0I0 0W0 0I1 0W1",
               "0LOAD0 at position 1 of rank 0 comes before 0SAVE0 at position "
               "2, which it needs [S3]"},
        Change{"0F0 0SAVE0 0F1 0I0 0LOAD0 0W0 0I1 0W1",
               "0I0 at position 3 of rank 0 comes before 0LOAD0 at position 4, "
               "which it needs [S3]"},
        Change{"0F0 0F1 0SAVE0 0SAVE1 0LOAD0 0I0 0W0 0LOAD1 0I1 0W1",
               "rank 0 holds 8 bytes at 0F1, 4 more than its 4 [S5]"},
        Change{bothCopied, ""}})
    EXPECT_EQ(verdict(problem, withRank1(change.rank0)), change.message);

  EXPECT_EQ(verdict(problem, scheduleOf({"0F0 0I0 0W0 0F1 0I1 0W1",
                                         "1F0 1SAVE0 1LOAD0 1I0 1W0 1F1 1I1 "
                                         "1W1"})),
            "1SAVE0 at position 1 of rank 1 has nothing to copy: the costs of "
            "stage 1 have no SAVE and LOAD [S10]");
  EXPECT_EQ(verdict(problem, scheduleOf({"0F0 0LOAD0 0I0 0W0 0F1 0I1 0W1",
                                         "1F0 0SAVE0 1I0 1W0 1F1 1I1 1W1"})),
            "0SAVE0 is on rank 1, but stage 0 is on rank 0 [S2]");
  problem.hostMemory.caps = {7, noMemoryCap};
  EXPECT_EQ(verdict(problem, withRank1(bothCopied)),
            "rank 0 holds 8 bytes on its host at 0SAVE1, 1 more than its host "
            "memory of 7 [S11]");
}

TEST(Copies, CopyOrdersNameEachCopyOnce) {
  const Problem problem = sharedLink();
  Schedule schedule =
      scheduleOf({"0F0 0SAVE0 0LOAD0 0I0 0W0", "1F0 1SAVE0 1LOAD0 1I0 1W0"});
  struct Case {
    int32_t link;
    const char *order, *message;
  };
  for (const Case &c :
       {Case{1, "",
             "the copy order 1 names no host link; there is 1 host "
             "link, numbered from 0 [S12]"},
        Case{0, "0SAVE0 0LOAD0 1SAVE0",
             "1LOAD0 is missing from the copy order 0 [S12]"},
        Case{0, "0SAVE0 0SAVE0 0LOAD0 1SAVE0 1LOAD0",
             "0SAVE0 at position 1 of the copy order 0 is not a copy of the "
             "schedule over that host link, or appears twice [S12]"},
        Case{0, "0SAVE0 0F0 0LOAD0 1SAVE0 1LOAD0",
             "0F0 at position 1 of the copy order 0 is not a copy of the "
             "schedule over that host link, or appears twice [S12]"},
        Case{0, "0SAVE0 1SAVE0 1LOAD0 0LOAD0", ""}}) {
    schedule.copyOrders = {{c.link, actionsOf(c.order)}};
    EXPECT_EQ(verdict(problem, schedule), c.message);
  }
}

TEST(Copies, ProblemsWithImpossibleCopies) {
  const auto faultOf = [](const Problem &problem) {
    const auto fault = problem.check();
    return fault ? describe(*fault, problem) : "";
  };
  Problem problem = twoRanks(4);
  problem.cost(0, ActionKind::Load).acquireBytes = 3;
  EXPECT_EQ(faultOf(problem), "SAVE of stage 0 frees 4 bytes of a micro-batch, "
                              "but LOAD takes 3 bytes; they copy the same "
                              "bytes: give both the same number");
  problem = twoRanks(4);
  std::vector<Cost> costs;
  for (const Cost &cost : problem.costs)
    costs.insert(costs.end(), problem.microbatches, cost);
  costs[costColumn(ActionKind::Load) * problem.microbatches + 1].acquireBytes =
      3;
  problem.setUneven(std::move(costs), {});
  EXPECT_EQ(faultOf(problem), "SAVE of stage 0 frees 4 bytes of micro-batch 1, "
                              "but LOAD takes 3 bytes; they copy the same "
                              "bytes: give both the same number");
  problem = twoRanks(4);
  problem.setCopies(0, {5, LoadBefore::InputGrad, 1, 1});
  EXPECT_EQ(faultOf(problem), "SAVE of stage 0 frees 5 bytes of a micro-batch, "
                              "but only 4 bytes may leave");
  problem = twoRanks(4, 2, LoadBefore::WeightGrad, 2);
  problem.setCopies(0, {3, LoadBefore::WeightGrad, 1, 1});
  EXPECT_EQ(faultOf(problem), "SAVE of stage 0 frees 3 bytes of a micro-batch, "
                              "but only 2 bytes may leave");
  problem = twoRanks(4);
  problem.setCopies(0, {4, LoadBefore::Recompute, 1, 1});
  EXPECT_EQ(faultOf(problem), "stage 0 loads before R, but does not recompute");
  problem = twoRanks(4);
  problem.hostMemory.loads.clear();
  EXPECT_EQ(faultOf(problem), "stage 0 does not copy to the host, but has a "
                              "cost for SAVE or LOAD");
  problem = twoRanks(4);
  problem.hostMemory.sharedOf = {0, -1};
  EXPECT_EQ(faultOf(problem), "rank 0 is on host link 0; there are 0 host "
                              "links, numbered from 0, and -1 is none");
  problem = twoRanks(4);
  problem.hostMemory.caps = {-1, 0};
  EXPECT_EQ(faultOf(problem),
            "the host memory of rank 0 is -1 bytes; it must be 0 or more");
}

TEST(Copies, GathersAwaitTheirBytes) {
  Problem problem = shardedChain(1, 2, 2, 2);
  problem.setShards(0, ShardedState::Weights, 500, 10);
  problem.setShards(1, ShardedState::Weights, 1000, 10);
  problem.memoryCaps = {1080, 1080};
  problem.setCopies(0, {96, LoadBefore::InputGrad, 2000, 100});
  ASSERT_EQ(problem.check(), std::nullopt);
  using K = ActionKind;
  constexpr int64_t save = 2, gather = 6;
  Schedule order;
  for (int32_t r = 0; r < 2; ++r) {
    auto add = [&](K kind, int32_t stage, int64_t index) {
      order.append(Action(kind, 2 * stage + r, index));
    };
    add(K::Unshard, 0, 0);
    for (int64_t i = 0; i < 2; ++i) {
      add(K::Forward, 0, i);
      add(K::Save, 0, i);
    }
    add(K::Reshard, 0, 0);
    add(K::Unshard, 1, 0);
    for (int64_t i = 0; i < 2; ++i)
      for (K kind : {K::Forward, K::InputGrad, K::WeightGrad})
        add(kind, 1, i);
    add(K::Reshard, 1, 0);
    add(K::ReduceGrad, 1, 0);
    add(K::Unshard, 0, 1);
    for (int64_t i = 0; i < 2; ++i)
      for (K kind : {K::Load, K::InputGrad, K::WeightGrad})
        add(kind, 0, i);
    add(K::Reshard, 0, 1);
    add(K::ReduceGrad, 0, 0);
    order.endRank();
  }
  ASSERT_EQ(judge(problem, order), "");
  // The weights of stage 1 need the bytes of the first SAVE.
  const CopyWaits waits = deriveCopyWaits(problem, order);
  ASSERT_EQ(waits.begin[gather + 1], waits.begin[gather] + 1);
  EXPECT_EQ(waits.awaited[waits.begin[gather]], save);
  const Simulation run = simulate(problem, order, /*keepTimes=*/true);
  EXPECT_EQ(run.startNs[gather], run.endNs[save]);
  // Gradients that are not reduced count.
  problem.setShards(1, ShardedState::Weights, 1000, 100);
  EXPECT_EQ(judge(problem, order),
            "rank 0 holds 1132 bytes at 1W0, 52 more than its 1080 [S5]");
}

TEST(Copies, SharesOfReplicas) {
  Problem problem;
  problem.name = "test";
  problem.microbatches = 1;
  problem.samples = 5;
  problem.memoryCaps.assign(2, noMemoryCap);
  problem.replicas.addStage({{0, 2}, {1, 3}});
  problem.setStageCost(0, 5, 5, 5, 10, 0);
  problem.hostMemory.links = {HostLink{1, 1000}, HostLink{2, 2000}};
  problem.setCopies(0, {10, LoadBefore::InputGrad, {}, 20});
  EXPECT_EQ(problem.check(), std::nullopt);
  EXPECT_EQ(problem.cost(0, ActionKind::Save).releaseBytes, 4);
  EXPECT_EQ(problem.cost(0, ActionKind::Save).ns, 5);
  EXPECT_EQ(problem.cost(0, ActionKind::Load).ns, 8);
  EXPECT_EQ(problem.cost(1, ActionKind::Load).acquireBytes, 6);
  EXPECT_EQ(problem.cost(1, ActionKind::Save).ns, 5);
  EXPECT_EQ(problem.cost(1, ActionKind::Load).ns, 12);
}

TEST(Copies, MicrobatchesThatDiffer) {
  // F of micro-batch 1 takes 6 bytes, of which 4 may leave.
  Problem problem = twoRanks(6);
  std::vector<Cost> costs;
  for (const Cost &cost : problem.costs)
    costs.insert(costs.end(), 2, cost);
  const auto of = [&](ActionKind kind) -> Cost & {
    return costs[costColumn(kind) * 2 + 1];
  };
  of(ActionKind::Forward).acquireBytes = 6;
  of(ActionKind::WeightGrad).releaseBytes = 6;
  of(ActionKind::Backward).releaseBytes = 6;
  problem.setUneven(costs, {});
  EXPECT_FALSE(problem.check());
  EXPECT_EQ(problem.copyableBytes(0, LoadBefore::InputGrad, 0), 4);
  EXPECT_EQ(problem.copyableBytes(0, LoadBefore::InputGrad, 1), 6);
  // F1 needs all 6 bytes: it awaits SAVE0. LOAD0 needs those of SAVE1.
  EXPECT_EQ(waitsOf(problem, withRank1(bothCopied)),
            "0SAVE0 0F0; 0F1 0SAVE0; 0SAVE1 0F1; 0LOAD0 0SAVE0 0SAVE1; "
            "0I0 0LOAD0; 0LOAD1 0W0; 0I1 0LOAD1");
  EXPECT_EQ(verdict(problem, withRank1(bothCopied)), "");
  EXPECT_EQ(verdict(problem, withRank1("0F0 0F1 0SAVE0 0LOAD0 0I0 0W0 0I1 "
                                       "0W1")),
            "rank 0 holds 10 bytes at 0F1, 4 more than its 6 [S5]");
}

/// A random legal list of one rank: `m` micro-batches, some copied.
std::vector<Action> randomList(std::mt19937 &random, int32_t m) {
  std::vector<std::vector<Action>> chains;
  for (int32_t i = 0; i < m; ++i) {
    const std::string n = std::to_string(i);
    chains.push_back(actionsOf(random() % 3
                                   ? "0F" + n + " 0SAVE" + n + " 0LOAD" + n +
                                         " 0I" + n + " 0W" + n
                                   : "0F" + n + " 0I" + n + " 0W" + n));
    std::reverse(chains.back().begin(), chains.back().end());
  }
  std::vector<Action> list;
  while (true) {
    std::vector<size_t> open;
    for (size_t i = 0; i < chains.size(); ++i)
      if (!chains[i].empty())
        open.push_back(i);
    if (open.empty())
      return list;
    auto &chain = chains[open[random() % std::min<size_t>(open.size(), 3)]];
    list.push_back(chain.back());
    chain.pop_back();
  }
}

TEST(Copies, MemoryHoldsWhateverTheTimesAre) {
  std::mt19937 random(1);
  int legal = 0;
  for (int n = 0; n < 2000; ++n) {
    Problem problem = linearProblem(1, 6, {1, 1, 1, 4, int64_t(random() % 3)});
    problem.memoryCaps = {int64_t(4 + random() % 12)};
    problem.hostMemory.caps = {int64_t(3 + random() % 9)};
    if (random() % 3 == 0)
      problem.hostMemory.links = {HostLink{0, 0, true}};
    problem.setCopies(0, {int64_t(1 + random() % 4), LoadBefore::InputGrad,
                          int64_t(random() % 9), int64_t(random() % 9)});
    Schedule schedule;
    for (Action action : randomList(random, 6))
      schedule.append(action);
    schedule.endRank();
    if (!schedule.hasCopies() || checkSchedule(problem, schedule))
      continue;
    ++legal;
    for (ActionKind kind :
         {ActionKind::Forward, ActionKind::InputGrad, ActionKind::WeightGrad,
          ActionKind::Save, ActionKind::Load})
      problem.cost(0, kind).ns = random() % 9;
    const Simulation run = simulate(problem, schedule, /*keepTimes=*/true);
    ASSERT_TRUE(run.complete);
    // Held bytes at each start.
    for (int64_t i = 0; i < schedule.numActions(); ++i) {
      int64_t held = 0, hosted = 0;
      const int64_t now = run.startNs[i];
      for (int64_t k = 0; k < schedule.numActions(); ++k) {
        const Action action = schedule.all()[k];
        const Cost &cost = problem.cost(0, action.kind());
        const bool hasBegun = run.startNs[k] <= now,
                   hasEnded = run.endNs[k] <= now;
        held += hasBegun * cost.acquireBytes - hasEnded * cost.releaseBytes;
        if (action.kind() == ActionKind::Save)
          hosted += hasBegun * cost.releaseBytes;
        if (action.kind() == ActionKind::Load)
          hosted -= hasEnded * cost.acquireBytes;
      }
      ASSERT_LE(held, run.peakBytes[0]);
      ASSERT_LE(hosted, run.peakHostBytes[0]);
    }
    ASSERT_LE(run.peakBytes[0], problem.memoryCaps[0]);
    ASSERT_LE(run.peakHostBytes[0], problem.hostMemory.caps[0]);
  }
  EXPECT_GT(legal, 200);
}

TEST(Copies, SearchCopiesWhatACapNeeds) {
  Problem problem = twoRanks(8);
  SearchOptions options;
  options.effort = 100;
  options.timeLimitMs = 0;
  SearchResult found = search(problem, options);
  ASSERT_TRUE(found.schedule);
  EXPECT_FALSE(found.schedule->hasCopies());
  // 30 without copies.
  problem.memoryCaps = {4, 4};
  found = search(problem, options);
  ASSERT_TRUE(found.schedule);
  EXPECT_TRUE(found.schedule->hasCopies());
  EXPECT_EQ(found.simulation.makespanNs, 26);
  EXPECT_LE(found.bound.ns, 26);
}

TEST(Copies, MemoryThatEveryScheduleNeeds) {
  // Both stages of the rank take 4 bytes; 3 of either may be on the host.
  Problem problem = problemOn({0, 0}, 1, 1, {1, 1, 1, 4});
  EXPECT_EQ(neededActivationBytes(problem), (std::vector<int64_t>{8}));
  for (int32_t s : {0, 1})
    problem.setCopies(s, {3, LoadBefore::InputGrad, 1, 1});
  EXPECT_EQ(neededActivationBytes(problem), (std::vector<int64_t>{5}));
  problem.memoryCaps = {5};
  EXPECT_EQ(verdict(problem, scheduleOf({"0F0 0SAVE0 1F0 1I0 1W0 0LOAD0 0I0 "
                                         "0W0"})),
            "");
  problem.memoryCaps = {4};
  EXPECT_TRUE(findShortfall(problem));
}

} // namespace
