//===- OverlapTest.cpp - Programs of iterations that overlap --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Fixture.h"

#include "lowering/Lowering.h"
#include "schedule/families/Family.h"
#include "schedule/order/Repeating.h"
#include "schedule/rules/Legality.h"
#include "schedule/simulate/NormDelay.h"
#include "schedule/simulate/VersionAnalysis.h"
#include "schedule/transforms/Iterations.h"

#include "schedule/rules/ProgramRules.h"
#include "gtest/gtest.h"

using namespace rondo;
using namespace rondo::test;

namespace {

struct Case {
  Problem window;
  Schedule schedule;
  PlanFigures plan;
};

/// A family on a window that proves it, with what lowering needs.
Case caseOf(const std::string &family, int32_t ranks, int32_t each,
            int32_t receiveSlots = 0) {
  Case result;
  Problem problem = linearProblem(ranks, each, 50, 1000, 1000);
  problem.channels.receiveSlots = receiveSlots;
  const auto choice = *parseFamily(family);
  const int32_t iterations = 8 * ranks + 16;
  result.window = withPolicyOf(choice, *overIterations(problem, iterations));
  result.schedule = *generate(choice, result.window);
  result.plan.buffers = replicaBuffers(result.window);
  result.plan.devices.assign(ranks, noMemoryCap);
  result.plan.declaresWeights = true;
  result.plan.hasNorm = false;
  Simulation simulation;
  EXPECT_FALSE(
      checkAndSimulate(result.window, result.schedule, simulation, true));
  const auto versions =
      *analyzeVersions(result.window, result.schedule, simulation);
  const auto order = *findRepetition(result.schedule, iterations, each);
  result.plan.delays =
      settledDelays(result.window, versions, iterationsUnderWay(order, each),
                    order.iterations);
  for (const ReplicaVersions &replica : versions.replicas)
    result.plan.versions.weightSlots.push_back(replica.slots);
  return result;
}

TEST(Overlap, ProgramsOfFamiliesKeepAllRules) {
  for (const char *family : {"pipedream", "pipemare", "timeprest"})
    for (int32_t ranks : {1, 2, 4})
      for (int32_t each : {1, 3})
        for (int32_t slots : {0, 2}) {
          const Case of = caseOf(family, ranks, each, slots);
          const ProvedPrograms proved =
              provePrograms(of.plan, of.window, of.schedule);
          EXPECT_FALSE(proved.fault)
              << family << " " << ranks << " " << each << " " << slots << ": "
              << describeFault(proved, of.window);
        }
}

// The program goes on: orders and slots of a longer window are the same.
TEST(Overlap, ProgramsRepeat) {
  const Case of = caseOf("pipedream", 4, 2);
  const ProvedPrograms proved = provePrograms(of.plan, of.window, of.schedule);
  ASSERT_FALSE(proved.fault);
  const auto order =
      *findRepetition(proved.pipeline.order, of.window.iterations, 2);
  EXPECT_EQ(order.iterations, 1);
  for (const Place &place : proved.pipeline.places)
    EXPECT_LE(place.slotOf.size(), 6u);
  EXPECT_EQ(proved.pipeline.place(0, BufferKind::Weights).slotOf.size(), 3u);
  EXPECT_EQ(proved.pipeline.place(3, BufferKind::Weights).slotOf.size(), 1u);
  // Data lie where those of the iteration before did.
  EXPECT_EQ(proved.pipeline.place(0, BufferKind::Data).slotOf,
            (std::vector<int32_t>{0, 1}));
}

TEST(Overlap, WeightsNeedASlotForEachVersionThatIsRead) {
  const Case of = caseOf("pipedream", 3, 1);
  const ProvedPrograms proved = provePrograms(of.plan, of.window, of.schedule);
  ASSERT_FALSE(proved.fault);
  Program program = proved.pipeline;
  EXPECT_FALSE(checkWeightSlots(of.window, program, of.plan.delays));
  program.place(0, BufferKind::Weights).slotOf.pop_back();
  const auto fault = checkWeightSlots(of.window, program, of.plan.delays);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::VersionOverwritten);
  EXPECT_EQ(describe(*fault, of.window).rfind("0B2 at position", 0), 0u)
      << describe(*fault, of.window);
}

// A program that reads one version earlier than its tables say is refused.
TEST(Overlap, DelaysMustFitTheOrder) {
  Case of = caseOf("pipemare", 3, 2);
  const ProvedPrograms proved = provePrograms(of.plan, of.window, of.schedule);
  ASSERT_FALSE(proved.fault);
  --of.plan.delays.forward[0].back();
  const auto fault =
      checkWeightSlots(of.window, proved.pipeline, of.plan.delays);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::VersionNotMade);
}

TEST(Overlap, ChangesOfWeightsTakeMemoryWhereTheyAreKept) {
  Case of = caseOf("pipemare", 2, 2);
  const std::vector<int64_t> without =
      *arenaOf(of.plan, of.window, of.schedule);
  of.plan.versions.scratchBytes = {256, 0};
  const std::vector<int64_t> with = *arenaOf(of.plan, of.window, of.schedule);
  EXPECT_GE(with[0], without[0] + 256);
  EXPECT_EQ(with[1], without[1]);
}

TEST(Overlap, SumsRunInEveryIteration) {
  Case of = caseOf("pipedream", 3, 2);
  Collective tied;
  tied.kind = CollectiveKind::TiedGradients;
  tied.tensor = "wte";
  tied.replicas = {0, 2};
  of.plan.collectives = {tied};
  const ProvedPrograms proved = provePrograms(of.plan, of.window, of.schedule);
  ASSERT_FALSE(proved.fault) << describeFault(proved, of.window);
  int64_t sums = 0;
  for (int64_t i = 0; i < proved.pipeline.order.numActions(); ++i)
    sums += proved.pipeline.order.rank(0).begin()[i].kind() ==
            ActionKind::AllReduce;
  EXPECT_EQ(sums, 2 * of.window.iterations);
  // The first stage ends an iteration last, so the last one waits for it.
  const Case free = caseOf("pipedream", 3, 2);
  EXPECT_GT(proved.iterationNs,
            provePrograms(free.plan, free.window, free.schedule).iterationNs);
}

/// With a norm over all stages that is `delay` iterations late.
Case withNorm(Case of, int64_t delay) {
  Collective norm;
  for (int32_t replica = 0; replica < of.window.numReplicas(); ++replica)
    norm.replicas.push_back(replica);
  norm.delay = delay;
  norm.ns = normNs(of.window);
  of.plan.collectives = {norm};
  of.plan.hasNorm = true;
  return of;
}

int64_t delayOf(const Case &of) {
  // As the program runs it.
  const Schedule single = withSingleBackwards(of.schedule);
  return normDelay(of.window, single, simulate(of.window, single, true))
      .value_or(-1);
}

/// Time that ranks wait for norms in the first half of the window.
int64_t waitedNs(const Problem &window, const Program &program) {
  const ProgramSimulation times = simulateProgram(window, program);
  int64_t ns = 0;
  for (int32_t rank = 0; rank < program.order.numRanks(); ++rank)
    for (int64_t i = 0; i < program.order.rank(rank).size(); ++i) {
      const Action action = program.order.rank(rank)[i];
      const int64_t at = program.order.rankBegin(rank) + i;
      if (action.kind() == ActionKind::Await &&
          int64_t(action.index) < window.iterations / 2)
        ns += times.endNs[at] - times.startNs[at];
    }
  return ns;
}

// Late by the least number of iterations for which no step waits.
TEST(Overlap, LateNormsStallNothing) {
  for (const char *family : {"pipedream", "pipemare", "timeprest"})
    for (int32_t ranks : {1, 2, 4})
      for (int32_t each : {1, 2, 5}) {
        const Case of = caseOf(family, ranks, each);
        const int64_t delay = delayOf(of);
        const std::string name =
            std::string(family) + " " + std::to_string(ranks) + " " +
            std::to_string(each) + ": " + std::to_string(delay);
        ASSERT_GE(delay, ranks > 1 ? 1 : 0) << name;
        EXPECT_EQ(delay == 0, ranks == 1) << name;
        const int64_t freeNs =
            provePrograms(of.plan, of.window, of.schedule).iterationNs;
        const Case late = withNorm(of, delay);
        const ProvedPrograms proved =
            provePrograms(late.plan, late.window, late.schedule);
        ASSERT_FALSE(proved.fault)
            << name << ": " << describeFault(proved, late.window);
        // The last norm is awaited at the end.
        EXPECT_LE(proved.iterationNs, freeNs + normNs(late.window)) << name;
        EXPECT_EQ(waitedNs(late.window, proved.pipeline), 0) << name;
        if (delay < 2)
          continue;
        const Case early = withNorm(of, delay - 1);
        EXPECT_GT(waitedNs(early.window, provePrograms(early.plan, early.window,
                                                       early.schedule)
                                             .pipeline),
                  0)
            << name;
      }
}

TEST(Overlap, LateNormsAreIssuedBehindStepsAndAwaitedBeforeLaterOnes) {
  const Case of = withNorm(caseOf("pipedream", 3, 1), 2);
  const ProvedPrograms proved = provePrograms(of.plan, of.window, of.schedule);
  ASSERT_FALSE(proved.fault) << describeFault(proved, of.window);
  for (int32_t rank = 0; rank < 3; ++rank) {
    std::vector<Action> steps;
    for (Action action : proved.pipeline.order.rank(rank))
      if (action.traits().index == IndexMeaning::Step)
        steps.push_back(action);
    // No iteration of the run is that much earlier than the first two.
    const std::vector<Action> begin = {
        {ActionKind::Step, rank, 0},   {ActionKind::AllReduce, 0, 0},
        {ActionKind::Step, rank, 1},   {ActionKind::AllReduce, 0, 1},
        {ActionKind::Await, 0, 0},     {ActionKind::Step, rank, 2},
        {ActionKind::AllReduce, 0, 2}, {ActionKind::Await, 0, 1}};
    ASSERT_GT(steps.size(), begin.size());
    EXPECT_TRUE(std::equal(begin.begin(), begin.end(), steps.begin())) << rank;
    // All of them are awaited.
    EXPECT_EQ(steps.back(),
              Action(ActionKind::Await, 0, of.window.iterations - 1));
  }
}

/// With a gather of the weights that the steps of two stages make.
Case withUpdates(Case of) {
  Collective update;
  update.kind = CollectiveKind::GatherUpdates;
  update.replicas = {0, 2};
  update.ns = 40;
  of.plan.collectives = {update};
  return of;
}

TEST(Overlap, UpdatesAreIssuedBehindStepsAndAwaitedBeforeTheNextTask) {
  for (const char *family : {"pipedream", "pipemare", "timeprest"}) {
    const Case of = withUpdates(caseOf(family, 3, 2));
    const ProvedPrograms proved =
        provePrograms(of.plan, of.window, of.schedule);
    ASSERT_FALSE(proved.fault)
        << family << ": " << describeFault(proved, of.window);
    int64_t issued = 0;
    for (int32_t rank : {0, 2}) {
      const ActionRange order = proved.pipeline.order.rank(rank);
      bool isOpen = false;
      for (int64_t i = 0; i < order.size(); ++i) {
        if (order[i].traits().subject == Subject::Replica) {
          EXPECT_FALSE(isOpen) << family << " " << rank << " " << i;
        }
        if (order[i].kind() == ActionKind::Step) {
          ASSERT_LT(i + 1, order.size());
          EXPECT_EQ(order[i + 1],
                    Action(ActionKind::AllReduce, 0, int64_t(order[i].index)));
        }
        if (order[i].kind() == ActionKind::AllReduce) {
          isOpen = true;
          ++issued;
        }
        if (order[i].kind() == ActionKind::Await)
          isOpen = false;
      }
      EXPECT_FALSE(isOpen);
    }
    EXPECT_EQ(issued, 2 * of.window.iterations);
    const Case free = caseOf(family, 3, 2);
    EXPECT_GT(proved.iterationNs,
              provePrograms(free.plan, free.window, free.schedule).iterationNs)
        << family;
  }
}

TEST(Overlap, UpdatesKeepTheirPlaces) {
  const Case of = withUpdates(caseOf("pipedream", 3, 2));
  const ProvedPrograms proved = provePrograms(of.plan, of.window, of.schedule);
  ASSERT_FALSE(proved.fault) << describeFault(proved, of.window);
  // The fault if two neighbours on rank 0 change places.
  auto faultOf = [&](auto isFirst) {
    Program program = proved.pipeline;
    program.order = {};
    for (int32_t rank = 0; rank < 3; ++rank) {
      const ActionRange order = proved.pipeline.order.rank(rank);
      std::vector<Action> actions(order.begin(), order.end());
      for (size_t i = 0; rank == 0 && i + 1 < actions.size(); ++i)
        if (isFirst(actions[i], actions[i + 1])) {
          std::swap(actions[i], actions[i + 1]);
          break;
        }
      for (Action action : actions)
        program.order.append(action);
      program.order.endRank();
    }
    const auto fault = checkTasks(of.window, of.schedule, program);
    return fault ? fault->kind : FaultKind::Cycle;
  };
  EXPECT_EQ(faultOf([](Action one, Action next) {
              return one.kind() == ActionKind::Step &&
                     next.kind() == ActionKind::AllReduce;
            }),
            FaultKind::BeforeResult);
  EXPECT_EQ(faultOf([](Action one, Action next) {
              return one.kind() == ActionKind::Await && next.isTask();
            }),
            FaultKind::BeforeResult);
}

TEST(Overlap, LateNormsKeepTheirPlaces) {
  const Case of = withNorm(caseOf("pipedream", 2, 1), 1);
  const ProvedPrograms proved = provePrograms(of.plan, of.window, of.schedule);
  ASSERT_FALSE(proved.fault) << describeFault(proved, of.window);
  auto faultOf = [&](ActionKind first, ActionKind second) {
    Schedule order;
    for (int32_t rank = 0; rank < 2; ++rank) {
      std::vector<Action> actions(proved.pipeline.order.rank(rank).begin(),
                                  proved.pipeline.order.rank(rank).end());
      for (size_t i = 0; rank == 0 && i + 1 < actions.size(); ++i)
        if (actions[i].kind() == first && actions[i + 1].kind() == second) {
          std::swap(actions[i], actions[i + 1]);
          break;
        }
      for (Action action : actions)
        order.append(action);
      order.endRank();
    }
    Program program = proved.pipeline;
    program.order = order;
    const auto fault = checkTasks(of.window, of.schedule, program);
    return fault ? fault->kind : FaultKind::Cycle;
  };
  EXPECT_EQ(faultOf(ActionKind::Step, ActionKind::AllReduce),
            FaultKind::BeforePart);
  EXPECT_EQ(faultOf(ActionKind::Await, ActionKind::Step),
            FaultKind::BeforeResult);
  // A norm of another delay is not the one that training needs.
  Program other = proved.pipeline;
  other.collectives.front().delay = 0;
  EXPECT_TRUE(
      checkTraining(of.window, of.plan.needsOf(ProgramKind::Pipeline), other));
}

} // namespace
