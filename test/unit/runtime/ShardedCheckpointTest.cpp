//===- ShardedCheckpointTest.cpp - Shards of state and files --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sharded.h"
#include "Training.h"

#include "runtime/checkpoints/checkpoint.h"
#include "runtime/checkpoints/initial_weights.h"

#include <cstring>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

/// Executables of one model: whole state, shards of any number, other stages.
struct Programs {
  Programs()
      : whole(shardedGpt({}, true)), two(shardedGpt({2, 2}, true)),
        three(shardedGpt({3, 3, 2, 2}, true)), groups(shardedGpt({4, 2}, true)),
        one(oneStage()) {}
  static Spec oneStage() {
    Spec spec = shardedGpt({3, 3}, true);
    spec.layersOfStage = {4};
    spec.rankOfStage = {0};
    return spec;
  }
  std::vector<const Program *> all() const {
    return {&whole, &two, &three, &groups, &one};
  }
  const Program whole, two, three, groups, one;
};

/// Every kind of state gives the file back that it has read, to the last bit.
TEST_F(Training, CheckpointsOfShardsHaveWholeTensors) {
  const Programs programs;
  for (const Program *writer : programs.all()) {
    train(*writer, {"--iterations", "3", "--save", first.path});
    for (const Program *reader : programs.all()) {
      State state(reader->exe);
      state.poison();
      state.initialise(7);
      const RunPosition position =
          loadCheckpoint(first.path, state, OptimizerKind::AdamW);
      EXPECT_EQ(position.step, 3);
      saveCheckpoint(second.path, state, position);
      EXPECT_TRUE(first.read() == second.read());
      // Copies of tensors and second groups have been read as well.
      for (const Tensor &tensor : state.tensors())
        for (const Tensor &other : state.tensors()) {
          const std::string &name =
              tensor.sharedWith.empty() ? tensor.name : tensor.sharedWith;
          if (other.name != name || other.first != tensor.first ||
              other.count != tensor.count || tensor.count == 0)
            continue;
          const auto bytes = 4 * static_cast<size_t>(tensor.count);
          EXPECT_EQ(std::memcmp(tensor.weights, other.weights, bytes), 0);
          EXPECT_EQ(std::memcmp(tensor.moment2, other.moment2, bytes), 0);
        }
    }
  }
}

TEST_F(Training, InitialStateIsThatOfTheSeed) {
  const Programs programs;
  std::string expected;
  for (const Program *program : programs.all()) {
    State state(program->exe);
    state.poison();
    state.initialise(11);
    saveCheckpoint(first.path, state, {});
    if (expected.empty())
      expected = first.read();
    EXPECT_TRUE(first.read() == expected);
  }
}

TEST_F(Training, ResumedRunWithShardsIsBitEqual) {
  const Programs programs;
  for (const Program *program : {&programs.two, &programs.groups}) {
    train(*program, {"--iterations", "8", "--save", first.path});
    train(*program, {"--iterations", "5", "--save", second.path});
    train(*program, {"--iterations", "8", "--resume", second.path, "--save",
                     second.path});
    EXPECT_TRUE(first.read() == second.read());
    // And from run to run.
    train(*program, {"--iterations", "8", "--save", second.path});
    EXPECT_TRUE(first.read() == second.read());
  }
}

/// The first moments in a file, by tensor.
std::vector<std::vector<float>> momentsIn(const std::string &path,
                                          const Program &whole) {
  State state(whole.exe);
  state.initialise(1);
  loadCheckpoint(path, state, OptimizerKind::AdamW);
  std::vector<std::vector<float>> moments;
  for (const Tensor &tensor : state.tensors())
    moments.emplace_back(tensor.moment1, tensor.moment1 + tensor.count);
  return moments;
}

/// The placement of state is irrelevant to a run that resumes it, and so is the
/// order of its sums.
TEST_F(Training, OtherShardsGoOn) {
  const Programs programs;
  for (const Program *writer : {&programs.whole, &programs.two}) {
    train(*writer, {"--iterations", "3", "--save", first.path});
    std::vector<std::vector<float>> expected;
    for (const Program *reader : programs.all()) {
      train(*reader, {"--iterations", "4", "--resume", first.path, "--save",
                      second.path});
      const auto moments = momentsIn(second.path, programs.whole);
      if (expected.empty())
        expected = moments;
      EXPECT_NE(moments, momentsIn(first.path, programs.whole));
      for (size_t t = 0; t < moments.size(); ++t)
        EXPECT_LT(distance(moments[t], expected[t]), 1e-5);
    }
  }
}

TEST_F(Training, InitialWeightsAreReadIntoShards) {
  const Programs programs;
  train(programs.whole, {"--iterations", "2", "--save", first.path});
  std::string expected;
  for (const Program *program : programs.all()) {
    State state(program->exe);
    state.poison();
    state.initialise(3);
    const std::vector<std::string> lines =
        readInitialWeights(first.path, state);
    EXPECT_EQ(lines.front().rfind("weights: 28 tensors (F32) from '", 0), 0u)
        << lines.front();
    saveCheckpoint(second.path, state, {});
    if (expected.empty())
      expected = second.read();
    EXPECT_TRUE(second.read() == expected);
  }
}

TEST_F(Training, ShardsGenerateTheSameTokens) {
  const Programs programs;
  train(programs.whole, {"--iterations", "5", "--save", first.path});
  std::string expected;
  for (const Program *program : programs.all()) {
    const Outcome outcome =
        run(*program, {"--generate", "the qu", "--init", first.path, "--tokens",
                       "6", "--temperature", "0", "--quiet"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    if (expected.empty())
      expected = outcome.out;
    EXPECT_EQ(outcome.out, expected);
  }
  EXPECT_EQ(expected.size(), 13u);
}

TEST_F(Training, TraceNamesWhatMovesState) {
  const Program program(shardedGpt({2, 2}, true));
  train(program, {"--iterations", "1", "--trace", first.path});
  const std::string text = first.read();
  for (const char *name : {"unshard 0, unit 0", "reshard 1, unit 7",
                           "reduce_grad 1, unit 3", "await 0"})
    EXPECT_NE(text.find("\"name\":\"" + std::string(name) + "\""),
              std::string::npos)
        << name;
}

} // namespace
