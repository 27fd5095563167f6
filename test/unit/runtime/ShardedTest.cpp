//===- ShardedTest.cpp - Stages whose state lies in pieces ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sharded.h"
#include "Training.h"

#include "runtime/base/error.h"
#include "runtime/execution/program_run.h"

#include <cmath>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

int verify(const Spec &spec) {
  Program program(spec);
  return runProgram(program, {"--verify", "--quiet"});
}

struct Case {
  const char *name;
  Sharding how;
  bool tied = false, split = false;
};

class Sharded : public testing::TestWithParam<Case> {};

/// The reference adds the same partial sums in the same order, and so does each
/// run of the pipeline. Pieces end within tensors, and the last ones are
/// padded.
TEST_P(Sharded, PipelineIsBitEqualToTheReference) {
  const Case &each = GetParam();
  Spec spec = shardedGpt(each.how, each.tied);
  if (each.split)
    spec.pipeline = oneForwardOneBackward(spec, true);
  EXPECT_EQ(verify(spec), 0);
}

const Case cases[] = {
    {"two", {2, 2}},
    {"three", {3, 3}},
    {"three_tied", {3, 3}, true},
    {"two_tied", {2, 2}, true},
    {"by_units", {2, 2, 2, 2}},
    {"once", {2, 2, 8, 4}},
    {"early", {2, 2, 1, 1, true}},
    {"late", {3, 3, 1, 1, false, true, 2}},
    {"late_and_early", {2, 2, 2, 2, true, true, 2}, true},
    {"split", {2, 2}, false, true},
    {"two_groups", {4, 2}, true},
    {"two_groups_split", {4, 2, 2, 2, true, true, 2}, false, true},
    {"replicas", {2, 1}, true},
};
INSTANTIATE_TEST_SUITE_P(, Sharded, testing::ValuesIn(cases),
                         [](const testing::TestParamInfo<Case> &info) {
                           return info.param.name;
                         });

/// Units of several chunks: all F, then all B, of stages that come back.
TEST(ShardedState, ChunksOfARankHaveCollectivesUnderWayAtOnce) {
  Spec spec = shardedGpt({2, 2, 4, 2, true, true, 2}, true);
  spec.layersOfStage = {1, 1, 1, 1};
  spec.rankOfStage = {0, 1, 1, 0};
  spec.pipeline = forwardThenBackward(spec);
  EXPECT_EQ(verify(spec), 0);
}

/// A tensor and its copy in one stage.
TEST(ShardedState, CopiesInAStage) {
  for (int pieces : {2, 3}) {
    Spec spec = shardedGpt({pieces, pieces, 1, 2}, true);
    spec.layersOfStage = {4};
    spec.rankOfStage = {0};
    EXPECT_EQ(verify(spec), 0);
  }
}

TEST(ShardedState, TimedLayersAndLayersWithoutWeights) {
  Spec spec = timedOnRanks(2, 0);
  for (LayerDesc &layer : spec.layers)
    layer.batch = 3;
  spec.sharding = {3, 3};
  EXPECT_EQ(verify(spec), 0);
  spec.layers[0].weightBytes = 0;
  EXPECT_EQ(verify(spec), 0);
}

TEST(ShardedState, RecomputingLayers) {
  Spec spec = shardedGpt({2, 2}, false);
  for (LayerDesc &layer : spec.layers)
    layer.recomputes = true;
  spec.pipeline = oneForwardOneBackward(spec, false);
  for (std::vector<Act> &list : spec.pipeline)
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i].kind == Act::B) {
        list.insert(list.begin() + static_cast<int64_t>(i),
                    {Act::R, list[i].stage, list[i].microbatch});
        ++i;
      }
  EXPECT_EQ(verify(spec), 0);
}

//===----------------------------------------------------------------------===//
// Against the same model without pieces.
//===----------------------------------------------------------------------===//

double distance(const std::vector<float> &a, const std::vector<float> &b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double(a[i]) - double(b[i]), 2);
    size += std::pow(double(b[i]), 2);
  }
  return std::sqrt(difference / size);
}

TEST(ShardedState, FirstGradientsAreThoseOfTheWholeState) {
  for (bool tied : {false, true}) {
    const auto whole = firstGradients(shardedGpt({}, tied));
    EXPECT_EQ(whole.size(), tied ? 28u : 29u);
    for (const Sharding &how :
         {Sharding{2, 2}, Sharding{3, 3, 1, 2}, Sharding{4, 2, 2, 2}}) {
      const auto pieces = firstGradients(shardedGpt(how, tied));
      ASSERT_EQ(pieces.size(), whole.size());
      for (const auto &[name, values] : whole) {
        ASSERT_EQ(pieces.at(name).size(), values.size()) << name;
        EXPECT_LT(distance(pieces.at(name), values), 1e-5) << name;
      }
    }
  }
}

/// What each home's memory holds is what is planned: pieces of the state.
TEST(ShardedState, MemoryOfStateIsDivided) {
  const Spec plain = shardedGpt({}, false), two = shardedGpt({2, 2}, false);
  const Program whole(plain), pieces(two);
  auto bytesOf = [](const Program &program, Buffer buffer) {
    return program.exe.programs[1].shares[0].bytes[static_cast<int>(buffer)];
  };
  for (Buffer buffer : {Buffer::Weights, Buffer::Gradients, Buffer::Moments}) {
    EXPECT_GE(2 * bytesOf(pieces, buffer), bytesOf(whole, buffer));
    EXPECT_LE(2 * bytesOf(pieces, buffer), bytesOf(whole, buffer) + 1024);
  }
  EXPECT_EQ(bytesOf(pieces, Buffer::GatheredWeights),
            2 * bytesOf(pieces, Buffer::Weights));
  State state(pieces.exe);
  EXPECT_EQ(state.allocatedBytes(),
            pieces.exe.arenaBytes[0] + pieces.exe.arenaBytes[1] +
                pieces.exe.arenaBytes[2] + pieces.exe.arenaBytes[3]);
}

/// Of a log: the numbers behind a key.
std::vector<double> numbersIn(const std::string &log, const std::string &key) {
  std::vector<double> numbers;
  for (size_t at = log.find(key); at != std::string::npos;
       at = log.find(key, at + 1))
    numbers.push_back(std::stod(log.substr(at + key.size())));
  return numbers;
}

TEST_F(Training, ShardedStateTrainsAsTheWholeDoes) {
  std::vector<double> norms, losses;
  for (const Sharding &how :
       {Sharding{}, Sharding{3, 3, 1, 2}, Sharding{4, 2}}) {
    const Program program(shardedGpt(how, true));
    TemporaryFile log;
    train(program,
          {"--iterations", "20", "--clip", "0.5", "--json-log", log.path});
    const std::vector<double> ownNorms = numbersIn(log.read(), "\"norm\":"),
                              ownLosses = numbersIn(log.read(), "\"loss\":");
    ASSERT_EQ(ownNorms.size(), 20u) << log.read();
    ASSERT_EQ(ownLosses.size(), 20u);
    if (norms.empty()) {
      norms = ownNorms;
      losses = ownLosses;
      // Otherwise nothing is clipped.
      EXPECT_GT(norms.front(), 0.5);
      EXPECT_LT(losses.back(), losses.front() - 0.5);
    }
    EXPECT_NEAR(ownNorms[0], norms[0], 1e-5 * norms[0]);
    for (size_t i = 0; i < norms.size(); ++i)
      EXPECT_NEAR(ownLosses[i], losses[i], 1e-4 * losses[i]) << i;
  }
}

TEST_F(Training, GradientThatIsNotFiniteSkipsTheStepOfAllPieces) {
  const std::vector<std::string> words = {
      "--data", data.path, "--iterations", "6", "--lr",           "1e6",
      "--clip", "0",       "--warmup",     "0", "--weight-decay", "1e6",
      "--save"};
  for (const Sharding &how : {Sharding{}, Sharding{2, 2}}) {
    const Program program(shardedGpt(how, true));
    std::vector<std::string> all = words;
    all.push_back(first.path);
    const Outcome outcome = run(program, all);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("a gradient is not finite, step skipped"),
              std::string::npos)
        << outcome.out;
  }
}

//===----------------------------------------------------------------------===//
// What goes wrong.
//===----------------------------------------------------------------------===//

/// Runs one iteration of a changed pipeline; returns its error.
std::string failureOf(const Spec &spec,
                      const std::function<void(int, std::vector<Act> &)> &edit,
                      ProgramKind kind = ProgramKind::Pipeline) {
  EditedProgram program(spec, kind, edit);
  try {
    State state(program.exe);
    state.initialise(1);
    ProgramOptions options;
    options.transport.cores = 2;
    Connections connections(state, options);
    ProgramRun run(connections, findProgram(program.exe, kind));
    Team team(run.program().numRanks);
    run.iterate(team);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

/// Two homes of a stage, and the same change of both ranks' lists.
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
  // B of home 0, B of home 1, both sums.
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
            "which another home of its group has reduced");
}

/// What State says of changed tables.
std::string tableErrorOf(const std::function<void(Program &)> &edit,
                         const Sharding &how = {2, 2}) {
  Spec spec = timedOnRanks(1, 0);
  spec.layers[0].batch = how.homes;
  spec.sharding = how;
  Program program(spec);
  edit(program);
  try {
    State state(program.exe);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(ShardedState, TablesAreChecked) {
  auto homeOf = [](Program &program, int h) -> HomeDesc & {
    return const_cast<HomeDesc &>(program.exe.homes[h]);
  };
  auto ranksOf = [](Program &program) {
    return const_cast<int32_t *>(program.exe.programs[1].rankOfHome);
  };
  EXPECT_EQ(tableErrorOf([](Program &) {}), "no error");
  EXPECT_EQ(
      tableErrorOf([&](Program &program) { homeOf(program, 1).piece = 0; }),
      "'fixture': home 1 of stage 's0' has piece 0 of 2; a stage's homes "
      "have as many pieces each, and those of a group follow each other "
      "by their pieces");
  EXPECT_EQ(
      tableErrorOf([&](Program &program) { homeOf(program, 1).rank = 0; }),
      "'fixture': home 1 of stage 's0' keeps its piece on rank 0, and so "
      "does home 0; each piece of a group is on another rank");
  EXPECT_EQ(
      tableErrorOf([&](Program &program) { ranksOf(program)[2] = 1; }, {3, 3}),
      "program 'pipeline': the 3 homes of a group of stage 's0' are on 2 "
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
            "program 'pipeline': the group of home 0 of stage 's0' has no "
            "collective gather_weights");
  EXPECT_EQ(tableErrorOf([](Program &program) {
              const_cast<CollectiveDesc &>(
                  program.exe.programs[1].collectives[1])
                  .numHomes = 1;
            }),
            "program 'pipeline': collective 1, scatter_gradients, is of 1 "
            "homes from home 0; each group has one, of its homes in their "
            "order");
  EXPECT_EQ(tableErrorOf([](Program &program) {
              const_cast<LayerDesc &>(program.exe.layers[0]).target =
                  Target::Cuda;
            }),
            "'fixture': home 0 of stage 's0' keeps a piece of its state, which "
            "programs on GPUs cannot do yet; compile it for the CPU");
  static const OverlapDesc overlap{};
  EXPECT_NE(tableErrorOf([](Program &program) {
              program.programs[1].overlap = &overlap;
            }),
            "no error");
}

} // namespace
