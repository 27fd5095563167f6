//===- RunTest.cpp - Failing, stuck and slow runs -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Fixture.h"
#include "Standstill.h"
#include "Support.h"

#include "runtime/base/clock.h"
#include "runtime/execution/program_run.h"
#include "test/unit/ErrorThrownBy.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

/// Runs one iteration of the pipeline; returns its error, which has this code.
std::string failureOf(
    const Spec &spec, Exit code = Exit::Failure, double timeoutSeconds = 60,
    std::function<std::shared_ptr<Clock>(const ProgramRun *&)> makeClock = {}) {
  Program program(spec);
  State state(program.exe);
  state.initialise(1);
  const ProgramRun *running = nullptr;
  ProgramOptions options;
  options.transport.cores = 2;
  options.transport.timeoutSeconds = timeoutSeconds;
  if (makeClock)
    options.clock = makeClock(running);
  Connections connections(state, options);
  ProgramRun run(connections, findProgram(program.exe, ProgramKind::Pipeline));
  running = &run;
  Team team(run.program().numRanks);
  return errorThrownBy([&] { run.iterate(team); }, code);
}

/// If no rank makes progress, the error says for how long and which ranks wait.
void expectStandstill(const Spec &spec, const std::string &waits) {
  EXPECT_EQ(failureOf(spec, Exit::RunFailure, 50,
                      [&](const ProgramRun *&run) {
                        return std::make_shared<ClockOfWaits>(run, waits);
                      }),
            "no progress for 50 s: " + waits);
}

/// The first action of a kind.
std::vector<Act>::iterator find(std::vector<Act> &list, Act::Kind kind) {
  return std::find_if(list.begin(), list.end(),
                      [=](const Act &act) { return act.kind == kind; });
}

TEST(Run, ThrowingRankEndsAllRanks) {
  Spec spec = timedOnRanks(4, 0);
  spec.pipeline[2].insert(spec.pipeline[2].begin(), {Act::Throw});
  EXPECT_EQ(failureOf(spec), "a rank failed: thrown by the program");
}

TEST(Run, ExchangedReceivesAreNamed) {
  Spec spec = timedOnRanks(2, 0);
  std::vector<Act> &list = spec.pipeline[1];
  auto first = find(list, Act::Recv);
  auto second = std::find_if(first + 1, list.end(), [](const Act &act) {
    return act.kind == Act::Recv;
  });
  std::swap(first->microbatch, second->microbatch);
  std::string message = failureOf(spec);
  EXPECT_TRUE(message == "rank 1 expects 0F1 from rank 0, which sends 0F0" ||
              message == "rank 1 needs 0F0, which it has not posted a receive "
                         "for")
      << message;
}

TEST(Run, MissingSendIsFoundByTheWatchdog) {
  Spec spec = timedOnRanks(2, 0);
  std::vector<Act> &list = spec.pipeline[1];
  list.erase(find(list, Act::Send));
  list.erase(find(list, Act::Send), list.end());
  expectStandstill(spec, "rank 0 waits for 1I0 of rank 1 -> rank 1 has "
                         "ended its iteration");
}

// A job that is suspended, as by Ctrl-Z, for longer than the time-out
// continues: its clock sees an hour pass between two looks.
TEST(Run, AStoppedProcessHasNotFailed) {
  auto jumping = [looks = int64_t(0)]() mutable {
    return ++looks * 3'600'000'000'000;
  };
  // Long enough for looks between which no rank starts an action.
  EXPECT_EQ(failureOf(timedOnRanks(2, 300'000'000, 1), Exit::RunFailure, 50,
                      [&](const ProgramRun *&) {
                        return std::make_shared<AwakeClock>(jumping);
                      }),
            "");
}

TEST(Run, CircularWaitIsPrinted) {
  // Each rank runs its first task only after the other's.
  Spec spec = timedOnRanks(2, 0);
  std::vector<Act> &list = spec.pipeline[0];
  std::rotate(list.begin(), find(list, Act::Recv), find(list, Act::B) + 1);
  expectStandstill(spec, "rank 0 waits for 1I0 of rank 1 -> rank 1 waits for "
                         "0F0 of rank 0");
}

TEST(Run, CollectiveWithoutARankIsPrinted) {
  Spec spec = timedOnRanks(2, 0);
  std::vector<Act> &list = spec.pipeline[0];
  list.insert(find(list, Act::AllReduce), list.back());
  list.erase(find(list, Act::AllReduce));
  expectStandstill(spec, "rank 1 waits for rank 0 in all_reduce 0 -> rank 0 "
                         "has ended its iteration");
}

TEST(Run, ForeignStageIsAnError) {
  Spec spec = timedOnRanks(2, 0);
  spec.pipeline[0][0].stage = 1;
  EXPECT_EQ(failureOf(spec),
            "the program of rank 0 runs replica 1, micro-batch "
            "0, which it does not hold");
}

TEST(Run, TooSmallBufferIsAnError) {
  Program program(timedOnRanks(2, 0));
  const_cast<ShareDesc &>(program.exe.programs[0].shares[1])
      .bytes[static_cast<int>(Buffer::Weights)] = 64;
  EXPECT_EQ(errorThrownBy([&] { State state(program.exe); }),
            "stage 's1' plans 64 bytes of weights, its layers need 128");
}

TEST(Run, TurnThatTheStageLacksIsAnError) {
  for (int32_t turns : {0, 2, 3}) {
    Program program(timedOnRanks(2, 0));
    const_cast<ShareDesc &>(program.exe.programs[0].shares[1]).turns = turns;
    EXPECT_EQ(
        errorThrownBy([&] { State state(program.exe); }),
        "program 'sequential': replica 1 has turn 0 of " +
            std::to_string(turns) +
            "; the replicas of a stage are assigned whole micro-batches in "
            "turn");
  }
}

TEST(Run, PoolBehindTheArenaIsAnError) {
  Program program(timedOnRanks(2, 0));
  const_cast<int64_t &>(program.exe.arenaBytes[1]) -= 64;
  EXPECT_THROW(State state(program.exe), Error);
}

TEST(Run, SlotThatThePoolLacksIsAnError) {
  Program program(timedOnRanks(2, 0));
  const PlaceDesc &weights =
      program.exe.programs[1].places[static_cast<int>(Buffer::Weights)];
  const_cast<uint16_t &>(weights.slots[0]) = 60000;
  const std::string error = errorThrownBy([&] { State state(program.exe); });
  EXPECT_NE(error.find("weights of stage 's0' lies in a slot that pool"),
            std::string::npos)
      << error;
}

/// Error of a program that adds a shared weight's gradients on two ranks, if
/// `change` spoils its pipeline's tables.
std::string connectionErrorOf(
    const std::function<void(const ProgramDesc &, PoolDesc &)> &change) {
  Spec spec;
  spec.layers = gptLayers(2, true);
  spec.layersOfStage = {2, 2};
  spec.rankOfStage = {0, 1};
  Program program(spec);
  const ProgramDesc &pipeline = findProgram(program.exe, ProgramKind::Pipeline);
  change(pipeline, const_cast<PoolDesc &>(pipeline.pools[pipeline.staging[1]]));
  return errorThrownBy([&] {
    State state(program.exe);
    Connections connections(state, {});
  });
}

/// Each rank adds half of 256 * 16 elements. On GPUs the staging has room for
/// the norm as well.
TEST(Run, TooLittleStagingIsAnError) {
  EXPECT_EQ(connectionErrorOf([](const ProgramDesc &, PoolDesc &pool) {
              pool.slotBytes = 8192;
            }),
            "");
  EXPECT_EQ(connectionErrorOf([](const ProgramDesc &, PoolDesc &pool) {
              pool.slotBytes = 8191;
            }),
            "program 'pipeline': rank 1 plans 8191 bytes of staging for its "
            "collectives, they need 8192");
  EXPECT_EQ(connectionErrorOf([](const ProgramDesc &program, PoolDesc &) {
              const_cast<int32_t &>(program.staging[0]) = -1;
            }),
            "program 'pipeline': rank 0 plans 0 bytes of staging for its "
            "collectives, they need 8192");
}

TEST(Run, StagingOfAnotherRankIsAnError) {
  EXPECT_EQ(connectionErrorOf([](const ProgramDesc &program, PoolDesc &) {
              const_cast<int32_t &>(program.staging[0]) = program.staging[1];
            }),
            "program 'pipeline': the staging of rank 0 is pool 9 of 1 slots on "
            "rank 1; it has one slot on its own rank");
  EXPECT_EQ(connectionErrorOf([](const ProgramDesc &program, PoolDesc &) {
              const_cast<int32_t &>(program.staging[0]) = program.numPools;
            }).substr(0, 54),
            "program 'pipeline': the staging of rank 0 has no pool ");
  EXPECT_EQ(connectionErrorOf(
                [](const ProgramDesc &, PoolDesc &pool) { pool.offset += 64; }),
            "the staging of rank 1 lies at another place in program "
            "'evaluation' than in the programs before it");
}

/// A sent message's slot is not written before the receiver has the message:
/// rank 0 has one output slot, rank 1 posts late.
TEST(Run, SlotOfASendIsFenced) {
  Spec spec = timedOnRanks(2, 0);
  spec.layers[1].forwardNs = 3'000'000;
  spec.messageSlots = 1;
  spec.pipeline = forwardThenBackward(spec);
  Program program(spec);
  EXPECT_EQ(runProgram(program, {"--verify", "--quiet"}), 0);
}

constexpr int64_t partNs = 20'000'000;

/// The tasks of an iteration on two ranks with one micro-batch, which run one
/// after another, and the gaps between them: task, gap, task, ..., task.
std::vector<int64_t> takePartsNs(ProgramRun &run) {
  std::vector<TraceEvent> tasks;
  for (int32_t r : run.heldRanks()) {
    for (const TraceEvent &event : run.rank(r).trace)
      if (event.what == Traced::Action &&
          (event.kind == rondo::ActionKind::Forward ||
           event.kind == rondo::ActionKind::InputGrad ||
           event.kind == rondo::ActionKind::WeightGrad))
        tasks.push_back(event);
    run.rank(r).trace.clear();
  }
  std::sort(tasks.begin(), tasks.end(),
            [](const TraceEvent &a, const TraceEvent &b) {
              return a.startNs < b.startNs;
            });
  std::vector<int64_t> parts;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (i > 0)
      parts.push_back(tasks[i].startNs - tasks[i - 1].endNs);
    parts.push_back(tasks[i].endNs - tasks[i].startNs);
  }
  return parts;
}

/// Runs iterations whose tasks take partNs. No part of one takes less than it
/// should, and each part of some iteration less than partNs more: nothing is
/// waited for twice, even if a loaded machine delays other parts.
void expectParts(ImposedLink link) {
  constexpr int maxIterations = 20;
  Program program(timedOnRanks(2, partNs, 1));
  State state(program.exe);
  state.initialise(1);
  ProgramOptions options;
  options.transport.cores = 2;
  options.imposeLinks = linkImposer(link);
  Connections connections(state, options);
  ProgramRun run(connections, findProgram(program.exe, ProgramKind::Pipeline));
  for (int32_t r : run.heldRanks())
    run.rank(r).keepTrace = true;
  Team team(run.program().numRanks);

  // F of rank 0, a message, F, I and W of rank 1, a message, I and W of rank 0.
  const int64_t message = link.latencyNs;
  const std::vector<int64_t> least = {partNs, message, partNs, 0, partNs, 0,
                                      partNs, message, partNs, 0, partNs};
  std::vector<int64_t> shortest(least.size(), INT64_MAX);
  const auto areShort = [&] {
    for (size_t i = 0; i < least.size(); ++i)
      if (shortest[i] >= least[i] + partNs)
        return false;
    return true;
  };
  for (int i = 0; i < maxIterations && !areShort(); ++i) {
    run.iterate(team);
    const std::vector<int64_t> parts = takePartsNs(run);
    ASSERT_EQ(parts.size(), least.size());
    for (size_t k = 0; k < parts.size(); ++k) {
      EXPECT_GE(parts[k], least[k]) << "part " << k;
      shortest[k] = std::min(shortest[k], parts[k]);
    }
    int messages = 0;
    for (const auto &ofChannel : connections.transport().takeTransfers())
      for (const Transfer &transfer : ofChannel) {
        ++messages;
        if (link.isImposed()) {
          EXPECT_EQ(transfer.endNs - transfer.beginNs, link.latencyNs);
        }
      }
    EXPECT_EQ(messages, 2);
  }
  for (size_t k = 0; k < least.size(); ++k)
    EXPECT_LT(shortest[k], least[k] + partNs) << "part " << k;
}

TEST(Run, TimedTasksAddUp) { expectParts({}); }

TEST(Run, TimedTasksAndLinkAddUp) { expectParts({partNs, 0}); }

TEST(DescribeChain, WhoIsMissingInACircleIsNamed) {
  EXPECT_EQ(describeChain({{1, 1, "rank 0 waits for rank 1 in all_reduce 0"},
                           {1, 0, "rank 1 waits for rank 0 in all_reduce 0"},
                           {1, -1, "rank 2 runs 0F1"}}),
            "rank 0 waits for rank 1 in all_reduce 0 -> rank 1 waits for rank "
            "0 in all_reduce 0; rank 2 runs 0F1");
  // One that has ended is not what the others wait for.
  EXPECT_EQ(describeChain({{1, RankStatus::ended, "rank 0 has ended"},
                           {1, -1, "rank 1 runs step 1"}}),
            "rank 1 runs step 1");
  EXPECT_EQ(describeChain({{1, RankStatus::ended, "rank 0 has ended"}}),
            "rank 0 has ended");
  EXPECT_EQ(describeChain({{1, 1, "rank 0 waits for 1I0 of rank 1"},
                           {1, -1, "rank 1 runs 1F0"},
                           {1, -1, "rank 2 runs 2F0"}}),
            "rank 0 waits for 1I0 of rank 1 -> rank 1 runs 1F0");
}

} // namespace
