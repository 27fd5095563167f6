//===- ShardedProcessTest.cpp - Shards of state in processes --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Real processes, one a rank, which move shards over TCP.
//
//===----------------------------------------------------------------------===//

#include "Sharded.h"
#include "Training.h"

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

TEST(ShardedProcesses, AreBitEqualToTheReference) {
  for (const Sharding &how :
       {Sharding{2, 2}, Sharding{2, 2, 2, 2, true, true, 2}}) {
    const Program program(shardedGpt(how, true));
    const Outcome outcome = runProcesses(program, {"--verify", "--quiet"});
    EXPECT_EQ(outcome.code, 0) << outcome.out;
    EXPECT_NE(outcome.out.find("verify: PASS"), std::string::npos)
        << outcome.out;
  }
  Spec three = shardedGpt({3, 3}, true);
  three.layersOfStage = {4};
  three.rankOfStage = {0};
  EXPECT_EQ(runProcesses(Program(three), {"--verify", "--quiet"}).code, 0);
}

/// Each process writes the elements that it holds.
TEST_F(Training, ProcessesWithShardsSaveAndResume) {
  const Program program(shardedGpt({4, 2}, true));
  std::vector<std::string> words = {"--quiet", "--data",  data.path, "--lr",
                                    "0.01",    "--decay", "8"};
  auto trainIn = [&](bool areProcesses, std::vector<std::string> more) {
    more.insert(more.end(), words.begin(), words.end());
    const Outcome outcome =
        areProcesses ? runProcesses(program, more) : run(program, more);
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  };
  trainIn(false, {"--iterations", "4", "--save", first.path});
  trainIn(true, {"--iterations", "2", "--save", second.path});
  trainIn(true, {"--iterations", "4", "--resume", second.path, "--save",
                 second.path});
  EXPECT_TRUE(first.read() == asOneFile(program, second.path));
}

TEST_F(Training, ProcessesWithShardsReadInitialWeights) {
  const Program program(shardedGpt({2, 2}, false));
  train(program, {"--iterations", "2", "--save", first.path});
  std::string expected;
  for (bool areProcesses : {false, true}) {
    const std::vector<std::string> words = {
        "--quiet",      "--data", data.path, "--init",   first.path,
        "--iterations", "2",      "--save",  second.path};
    const Outcome outcome =
        areProcesses ? runProcesses(program, words) : run(program, words);
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    const std::string file = asOneFile(program, second.path);
    if (areProcesses) {
      EXPECT_TRUE(file == expected);
    }
    expected = file;
  }
}

} // namespace
