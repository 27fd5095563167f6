//===- ShardedTest.cpp - Stages whose state lies sharded ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sharded.h"
#include "Training.h"

#include "runtime/base/clock.h"

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

void PrintTo(const Case &each, std::ostream *out) { *out << each.name; }

class Sharded : public testing::TestWithParam<Case> {};

/// The reference adds the same partial sums in the same order, and so does each
/// run of the pipeline. Shards end within tensors, and the last ones are
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
  for (int shards : {2, 3}) {
    Spec spec = shardedGpt({shards, shards, 1, 2}, true);
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
// Against the same model without shards.
//===----------------------------------------------------------------------===//

void expectFirstGradients(const std::function<Spec(const Sharding &)> &specOf,
                          size_t tensors) {
  const auto whole = firstGradients(specOf({}));
  EXPECT_EQ(whole.size(), tensors);
  for (const Sharding &how :
       {Sharding{2, 2}, Sharding{3, 3, 1, 2}, Sharding{4, 2, 2, 2}}) {
    const auto shards = firstGradients(specOf(how));
    ASSERT_EQ(shards.size(), whole.size());
    for (const auto &[name, values] : whole) {
      ASSERT_EQ(shards.at(name).size(), values.size()) << name;
      EXPECT_LT(distance(shards.at(name), values), 1e-5) << name;
    }
  }
}

TEST(ShardedState, FirstGradientsAreThoseOfTheWholeState) {
  for (bool tied : {false, true})
    expectFirstGradients(
        [=](const Sharding &how) { return shardedGpt(how, tied); },
        tied ? 28 : 29);
}

/// In a stage with a tensor and its copy, the sum of both.
TEST(ShardedState, FirstGradientsOfCopiesInAStage) {
  expectFirstGradients(
      [](const Sharding &how) {
        Spec spec = shardedGpt(how, true);
        spec.layersOfStage = {4};
        spec.rankOfStage = {0};
        return spec;
      },
      28);
}

/// Each replica's memory holds the planned shards of the state.
TEST(ShardedState, MemoryOfStateIsDivided) {
  const Spec plain = shardedGpt({}, false), two = shardedGpt({2, 2}, false);
  const Program whole(plain), shards(two);
  auto bytesOf = [](const Program &program, Buffer buffer) {
    return program.exe.programs[1].shares[0].bytes[static_cast<int>(buffer)];
  };
  for (Buffer buffer : {Buffer::Weights, Buffer::Gradients, Buffer::Moments}) {
    EXPECT_GE(2 * bytesOf(shards, buffer), bytesOf(whole, buffer));
    EXPECT_LE(2 * bytesOf(shards, buffer), bytesOf(whole, buffer) + 1024);
  }
  EXPECT_EQ(bytesOf(shards, Buffer::GatheredWeights),
            2 * bytesOf(shards, Buffer::Weights));
  State state(shards.exe);
  EXPECT_EQ(state.allocatedBytes(),
            shards.exe.arenaBytes[0] + shards.exe.arenaBytes[1] +
                shards.exe.arenaBytes[2] + shards.exe.arenaBytes[3]);
}

/// The shortest of a few iterations, with links that delay what moves state. On
/// a loaded machine most of them wait for a core.
int64_t bestIterationNs(const Sharding &how, int64_t latencyNs,
                        int64_t enough) {
  Spec spec = timedOnRanks(2, 2'000'000, 1);
  for (LayerDesc &layer : spec.layers)
    layer.batch = 2;
  spec.rankOfStage = {0, 0};
  spec.pipeline = {};
  spec.sharding = how;
  const Program program(spec);
  State state(program.exe);
  state.initialise(1);
  ProgramOptions options;
  options.transport.cores = 2;
  options.imposeLinks = linkImposer({latencyNs, 0});
  Connections connections(state, options);
  ProgramRun run(connections, findProgram(program.exe, ProgramKind::Pipeline));
  Team team(run.program().numRanks);
  int64_t best = INT64_MAX;
  const int64_t deadlineNs = nowNs() + 60'000'000'000;
  while (best > enough && nowNs() < deadlineNs) {
    const int64_t start = nowNs();
    run.iterate(team);
    best = std::min(best, nowNs() - start);
  }
  return best;
}

/// Two chunks, F of 1 ms and B of 2 ms for half of the samples; links that take
/// 3 ms for each of four gathers and two sums.
TEST(ShardedState, WhatMovesStateIsHiddenBehindTasks) {
  constexpr int64_t ms = 1'000'000, slack = 3 * ms;
  const int64_t exposed = bestIterationNs({2, 2}, 3 * ms, 24 * ms + slack);
  EXPECT_GE(exposed, 24 * ms);
  EXPECT_LE(exposed, 24 * ms + slack);
  // The second chunk's gather during the first one's F, the first one's during
  // the second one's B, and its sum during the first one's B. Two gathers of a
  // rank take turns.
  const int64_t hidden =
      bestIterationNs({2, 2, 1, 1, true, true, 2}, 3 * ms, 19 * ms + slack);
  EXPECT_GE(hidden, 19 * ms);
  EXPECT_LE(hidden, 19 * ms + slack);
}

/// Numbers after a key in a log.
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

TEST_F(Training, GradientThatIsNotFiniteSkipsTheStepOfAllShards) {
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

} // namespace
