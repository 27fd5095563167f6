//===- ShardedErrorTest.cpp - Shards of state that go wrong ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sharded.h"
#include "Standstill.h"
#include "Training.h"

#include "runtime/adaptive/program_values.h"
#include "schedule/program/ProgramSimulator.h"
#include "test/unit/ErrorThrownBy.h"

#include <algorithm>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

/// Runs one iteration of a changed program; returns its error. `waits`: what
/// its ranks do when nothing goes on.
std::string failureOf(const Spec &spec,
                      const std::function<void(int, std::vector<Act> &)> &edit,
                      ProgramKind kind = ProgramKind::Pipeline,
                      const std::string &waits = "") {
  EditedProgram program(spec, kind, edit);
  const ProgramRun *running = nullptr;
  return errorThrownBy([&] {
    State state(program.exe);
    state.initialise(1);
    ProgramOptions options;
    options.transport.cores = 2;
    if (!waits.empty()) {
      options.transport.timeoutSeconds = 50;
      options.clock = std::make_shared<ClockOfWaits>(running, waits);
    }
    Connections connections(state, options);
    ProgramRun run(connections, findProgram(program.exe, kind));
    running = &run;
    Team team(run.program().numRanks);
    run.iterate(team);
  });
}

/// Two replicas of a stage, and the same change of both ranks' lists.
std::string failureOfBoth(const std::function<void(std::vector<Act> &)> &edit,
                          const Sharding &how = {2, 2}) {
  Spec spec = timedOnRanks(1, 0);
  spec.layers[0].batch = 2;
  spec.sharding = how;
  return failureOf(spec, [&](int, std::vector<Act> &list) { edit(list); });
}

std::vector<Act>::iterator find(std::vector<Act> &list, Act::Kind kind,
                                int64_t number = 0) {
  return std::find_if(list.begin(), list.end(), [&](const Act &act) {
    return act.kind == kind && act.microbatch == number;
  });
}

/// One of two ranks' messages: both fail, and the first is told.
void expectOfEither(const std::string &error, const std::string &rest) {
  EXPECT_TRUE(error == "the program of rank 0: stage 's0' " + rest ||
              error == "the program of rank 1: stage 's0' " + rest)
      << error;
}

TEST(ShardedState, TaskThatReadsWhatIsNotGatheredIsAnError) {
  expectOfEither(failureOfBoth([](std::vector<Act> &list) {
                   list.erase(find(list, Act::Await));
                 }),
                 "runs 0F0 before the weights of unit 0 are awaited");
  expectOfEither(failureOfBoth([](std::vector<Act> &list) {
                   list.erase(find(list, Act::Unshard),
                              find(list, Act::Await) + 1);
                 }),
                 "runs 0F0 before the weights of unit 0 are gathered");
  expectOfEither(failureOfBoth([](std::vector<Act> &list) {
                   std::iter_swap(find(list, Act::F), find(list, Act::Reshard));
                 }),
                 "runs 0F0 after the weights of unit 0 were freed");
}

TEST(ShardedState, GathersOutOfOrderAreErrors) {
  expectOfEither(failureOfBoth([](std::vector<Act> &list) {
                   list.erase(find(list, Act::Reshard));
                 }),
                 "gathers weights for unit 1 before those of unit 0 are freed");
  expectOfEither(failureOfBoth([](std::vector<Act> &list) {
                   find(list, Act::Unshard)->microbatch = 3;
                 }),
                 "gathers weights for unit 3, but the next one is 0");
  expectOfEither(failureOfBoth([](std::vector<Act> &list) {
                   find(list, Act::Reshard)->microbatch = 1;
                 }),
                 "frees weights of unit 1, which are not gathered");
  expectOfEither(failureOfBoth([](std::vector<Act> &list) {
                   list.erase(find(list, Act::Reshard, 7));
                 }),
                 "does not free the weights that unit 7 has gathered");
}

TEST(ShardedState, GradientsThatAreNotReducedAreAnError) {
  expectOfEither(failureOfBoth([](std::vector<Act> &list) {
                   auto last = find(list, Act::Reduce, 3);
                   list.erase(last, last + 2);
                 }),
                 "does not reduce the gradients of unit 3");
  expectOfEither(failureOfBoth([](std::vector<Act> &list) {
                   find(list, Act::Reduce, 1)->microbatch = 2;
                 }),
                 "reduces gradients of unit 2, but the next one is 1");
  // Late sums need a second slot.
  expectOfEither(
      failureOfBoth([](std::vector<Act> &) {}, {2, 2, 1, 1, false, true, 1}),
      "makes gradients of unit 1 where those of unit 0 are still being "
      "reduced");
}

TEST(ShardedState, ReductionThatIsNotAwaitedIsAnError) {
  const std::string error = failureOfBoth([](std::vector<Act> &list) {
    list.erase(find(list, Act::Reduce, 3) + 1);
  });
  EXPECT_NE(error.find(" does not await collective 1"), std::string::npos)
      << error;
}

TEST(ShardedState, ReferenceMustMakeAllGradientsFirst) {
  Spec spec = timedOnRanks(1, 0);
  spec.layers[0].batch = 2;
  spec.sharding = {2, 2};
  // B of replica 0, B of replica 1, both sums.
  EXPECT_EQ(failureOf(
                spec,
                [](int, std::vector<Act> &list) {
                  auto sum = find(list, Act::Reduce);
                  auto b = std::find_if(list.begin(), sum, [](const Act &act) {
                    return act.kind == Act::B && act.stage == 1;
                  });
                  std::rotate(b, sum, sum + 1);
                },
                ProgramKind::Sequential),
            "the program of rank 0: stage 's0' makes gradients of unit 0, "
            "which another replica of its group has reduced");
}

/// Error of State for changed tables.
std::string tableErrorOf(const std::function<void(Program &)> &edit,
                         const Sharding &how = {2, 2}) {
  Spec spec = timedOnRanks(1, 0);
  spec.layers[0].batch = how.replicas;
  spec.sharding = how;
  Program program(spec);
  edit(program);
  return errorThrownBy([&] { State state(program.exe); });
}

TEST(ShardedState, TablesAreChecked) {
  auto replicaOf = [](Program &program, int h) -> ReplicaDesc & {
    return const_cast<ReplicaDesc &>(program.exe.replicas[h]);
  };
  auto ranksOf = [](Program &program) {
    return const_cast<int32_t *>(program.exe.programs[1].rankOfReplica);
  };
  EXPECT_EQ(tableErrorOf([](Program &) {}), "");
  EXPECT_EQ(
      tableErrorOf([&](Program &program) { replicaOf(program, 1).shard = 0; }),
      "'fixture': replica 1 of stage 's0' has shard 0 of 2; a stage's replicas "
      "have as many shards each, and those of a group follow each other "
      "by their shards");
  EXPECT_EQ(
      tableErrorOf([&](Program &program) { replicaOf(program, 1).rank = 0; }),
      "'fixture': replica 1 of stage 's0' keeps its shard on rank 0, and so "
      "does replica 0; each shard of a group is on another rank");
  EXPECT_EQ(
      tableErrorOf([&](Program &program) { ranksOf(program)[2] = 1; }, {3, 3}),
      "program 'pipeline': the 3 replicas of a group of stage 's0' are on 2 "
      "ranks; they are all on one rank or each on another");
  EXPECT_EQ(tableErrorOf([](Program &program) {
              const_cast<ShareDesc &>(program.exe.programs[1].shares[1])
                  .bytes[static_cast<int>(Buffer::GatheredWeights)] -= 64;
            }),
            "stage 's0' plans 192 bytes of gathered_weights, its layers need "
            "256");
  EXPECT_EQ(tableErrorOf([](Program &program) {
              program.programs[1].numCollectives = 0;
            }),
            "program 'pipeline': the group of replica 0 of stage 's0' has no "
            "collective gather_weights");
  EXPECT_EQ(
      tableErrorOf([](Program &program) {
        const_cast<CollectiveDesc &>(program.exe.programs[1].collectives[1])
            .numReplicas = 1;
      }),
      "program 'pipeline': collective 1, scatter_gradients, is of 1 "
      "replicas from replica 0; each group has one, of its replicas in their "
      "order");
  static const int16_t delays[] = {0};
  static const VersionDesc each = {delays, delays, delays, 0,
                                   0,      0,      false,  false};
  static const VersionDesc versions[] = {each, each};
  static const OverlapDesc overlap = {1, 1, 1, versions, checkOverlap};
  EXPECT_EQ(tableErrorOf([](Program &program) {
              program.programs[1].overlap = &overlap;
            }),
            "program 'pipeline': stage 's0' has sharded state, and "
            "iterations overlap, which do not go together yet; compile it "
            "without one of both");
}

TEST(ShardedState, TablesOfShardedMomentsAreChecked) {
  auto errorOf = [](int replicas, int shards) {
    Spec spec = shardedGpt({replicas, 1}, false);
    const Program program(spec);
    for (int32_t s = 0; s < program.exe.numStages; ++s)
      const_cast<StageDesc &>(program.exe.stages[s]).momentShards = shards;
    return errorThrownBy([&] { State state(program.exe); });
  };
  EXPECT_EQ(errorOf(2, 1), "");
  EXPECT_NE(errorOf(2, 3).find("has its moments in 3 shards, which must divide "
                               "its stage's replicas, and whole weights"),
            std::string::npos)
      << errorOf(2, 3);
  // Gathered weights take the memory of the gradients.
  EXPECT_NE(errorOf(2, 2).find("bytes of gradients, its layers need"),
            std::string::npos)
      << errorOf(2, 2);
}

/// Versions of the weights in several slots would all have to be gathered.
TEST(ShardedState, SeveralSlotsOfWeightsAreAnError) {
  Spec spec = timedOnRanks(1, 0);
  spec.layers[0].batch = 2;
  spec.sharding = {2, 2};
  spec.weightSlots = 2;
  const Program program(spec);
  EXPECT_EQ(errorThrownBy([&] { State state(program.exe); }),
            "stage 's0' has 2 slots for its weights; a stage whose state is "
            "sharded has 1");
}

TEST(ShardedState, AdaptiveRunsChangeTheSchedule) {
  Spec spec = shardedGpt({2, 2}, false);
  spec.others = {{"second", 2, 10, [](const Spec &own) {
                    return oneForwardOneBackward(own, false);
                  }}};
  const Program program(spec);
  // The core reads the gathers and reductions of a program.
  const ProgramValues values = valuesOf(program.exe, program.programs[1]);
  EXPECT_TRUE(values.problem.replicas.areSharded());
  EXPECT_FALSE(values.problem.check());
  EXPECT_TRUE(simulateProgram(values.problem, values.program).complete);
  TemporaryFile data;
  data.write(sampleText());
  EXPECT_EQ(runProgram(program, {"--data", data.path, "--adapt", "on",
                                 "--iterations", "2", "--quiet"}),
            0);
  // Schedules in turn are one after another.
  EXPECT_EQ(runProgram(program, {"--verify", "--quiet", "--schedule",
                                 "pipeline:1,second:1"}),
            0);
}

TEST(ShardedState, WhatIsNotShardedIsNotMoved) {
  EXPECT_EQ(
      failureOf(shardedGpt({2, 2}, false),
                [](int rank, std::vector<Act> &list) {
                  if (rank == 1)
                    list[0].stage = 0;
                }),
      "the program of rank 1 runs unshard 0, unit 0 of replica 0, which it "
      "does not hold");
  Spec spec = timedOnRanks(1, 0);
  EXPECT_EQ(failureOf(spec,
                      [](int, std::vector<Act> &list) {
                        list.insert(list.begin(), {Act::Unshard, 0});
                      }),
            "the program of rank 0 runs unshard 0, unit 0 of replica 0, which "
            "keeps all of its state");
  const std::string error = failureOfBoth(
      [](std::vector<Act> &list) { list[0] = {Act::AllReduce, 0}; });
  EXPECT_NE(error.find(" runs all_reduce 0, which moves the state of a group: "
                       "it is issued by unshard or reduce_grad"),
            std::string::npos)
      << error;
}

/// A sum of a tied tensor adds the elements of all its replicas.
TEST(ShardedState, SumOfElementsThatAReplicaLacksIsAnError) {
  const Program program(shardedGpt({2, 2}, true));
  const ProgramDesc &pipeline = program.programs[1];
  for (int32_t c = 0; c < pipeline.numCollectives; ++c) {
    auto &desc = const_cast<CollectiveDesc &>(pipeline.collectives[c]);
    if (desc.kind == CollectiveKind::TiedGradients && desc.firstElement == 0)
      desc.numElements = 4096;
  }
  State state(program.exe);
  EXPECT_EQ(errorThrownBy([&] { wire(state, pipeline); }),
            "elements 0 to 4096 of tensor 'wte.weight' shall be added, of "
            "which replica 0 of stage 's0' has 0 to 3232");
}

/// Rank 1 never gathers: it waits in its first action.
TEST(ShardedState, WaitForAGatherIsNamed) {
  Spec spec = timedOnRanks(1, 0);
  spec.layers[0].batch = 2;
  spec.sharding = {2, 2};
  const std::string waits = "rank 0 waits for rank 1 in gather_weights 0 -> "
                            "rank 1 waits for rank 0 in all_reduce 2";
  EXPECT_EQ(failureOf(
                spec,
                [](int rank, std::vector<Act> &list) {
                  if (rank == 1)
                    list = {{Act::AllReduce, 2}};
                },
                ProgramKind::Pipeline, waits),
            "no progress for 50 s: " + waits);
}

} // namespace
