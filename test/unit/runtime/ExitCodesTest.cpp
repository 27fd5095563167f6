//===- ExitCodesTest.cpp - What each exit code says -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of docs/reliability.md. Code 77 needs a program for GPUs: see
// MachineWithoutAGpuSkips in test/unit/conformance.
//
//===----------------------------------------------------------------------===//

#include "Training.h"

#include "runtime/execution/team.h"

#include <algorithm>
#include <csignal>
#include <thread>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

using ExitCodes = Training;

TEST_F(ExitCodes, ARunThatEndsIs0) {
  EXPECT_EQ(
      runProgram(Program(timedOnRanks(2, 0)), {"--quiet", "--iterations", "1"}),
      0);
}

/// Launchers start what has just ended again, with the same flags.
TEST_F(ExitCodes, ARunResumedAtItsEndIs0) {
  Program program(gpt({2, 2}, {0, 1}, true));
  const std::vector<std::string> words = {"--data",   data.path, "--iterations",
                                          "2",        "--save",  first.path,
                                          "--resume", first.path};
  std::remove(first.path.c_str());
  ASSERT_EQ(run(program, words).code, 0);
  const std::string saved = first.read();
  const Outcome again = run(program, words);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.err, "");
  EXPECT_EQ(again.out, "checkpoint '" + first.path +
                           "' is at iteration 2, the last: the run is "
                           "finished\n");
  EXPECT_EQ(first.read(), saved);
  // Another file to save to gets the same.
  const Outcome copied =
      run(program, {"--data", data.path, "--iterations", "2", "--save",
                    second.path, "--resume", first.path});
  EXPECT_EQ(copied.code, 0) << copied.err;
  EXPECT_NE(copied.out.find("\nsaved iteration 2 to '"), std::string::npos);
  EXPECT_EQ(second.read(), saved);
}

TEST_F(ExitCodes, ACheckpointBehindTheLastIterationIs1) {
  Program program(gpt({2, 2}, {0, 1}, true));
  train(program, {"--iterations", "2", "--save", first.path});
  const Outcome outcome = run(program, {"--data", data.path, "--iterations",
                                        "1", "--resume", first.path});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "error: checkpoint '" + first.path +
                             "' is at iteration 2; --iterations must name a "
                             "later one\n");
}

/// Failures that a retry would repeat do not exit with 75.
TEST_F(ExitCodes, AnExceptionOfARankIs1) {
  Spec spec = timedOnRanks(2, 0);
  spec.pipeline[1].insert(spec.pipeline[1].begin(), {Act::Throw});
  const Outcome outcome = run(Program(spec), {"--quiet"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "error: a rank failed: thrown by the program\n");
}

TEST_F(ExitCodes, ATableThatIsWrongIs1) {
  Spec spec = timedOnRanks(2, 0);
  spec.pipeline[0][0].stage = 1;
  const Outcome outcome = run(Program(spec), {"--quiet"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "error: the program of rank 0 runs replica 1, micro-batch 0, which "
            "it does not hold\n");
}

TEST_F(ExitCodes, MissingMemoryIs1) {
  Spec spec = timedOnRanks(2, 0);
  spec.pipeline[1].insert(spec.pipeline[1].begin(), {Act::Exhaust});
  const Outcome outcome = run(Program(spec), {"--quiet"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "error: a rank failed: out of memory\n");
}

TEST_F(ExitCodes, AnUnknownFlagIs2) {
  EXPECT_EQ(run(Program(timedOnRanks(2, 0)), {"--no-such-flag"}).code, 2);
}

TEST_F(ExitCodes, ASignalWithACheckpointIs4) {
  Program program(gpt({2, 2}, {0, 1}, true));
  TemporaryFile log;
  auto *old = std::signal(SIGTERM, SIG_IGN);
  std::thread signaller([&] {
    while (log.read().empty())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    raise(SIGTERM);
  });
  const Outcome outcome =
      run(program, {"--data", data.path, "--iterations", "100000000",
                    "--json-log", log.path, "--save", first.path});
  signaller.join();
  std::signal(SIGTERM, old);
  EXPECT_EQ(outcome.code, 4) << outcome.err;
}

TEST_F(ExitCodes, AWaitForAPeerThatDoesNothingIs75) {
  Spec spec = timedOnRanks(2, 0);
  std::vector<Act> &list = spec.pipeline[1];
  list.erase(
      std::remove_if(list.begin(), list.end(),
                     [](const Act &act) { return act.kind == Act::Send; }),
      list.end());
  const Outcome outcome = run(Program(spec), {"--quiet", "--timeout", "0.5"});
  EXPECT_EQ(outcome.code, 75);
  EXPECT_EQ(outcome.err.find("error: no progress for 0.5 s: "), 0u)
      << outcome.err;
}

/// A rank that hangs does not change the code of the one that failed.
TEST_F(ExitCodes, ARankThatDoesNotEndLeavesTheCodeOfTheFirst) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Team team(2);
        Team::Watch watch;
        watch.stopAll = [](int32_t, const std::exception_ptr &) {};
        watch.look = [] {};
        watch.say = [](Exit code, const std::string &why) {
          std::fprintf(stderr, "%d: %s\n", static_cast<int>(code), why.c_str());
        };
        team.run(
            2,
            [](int32_t rank) {
              if (rank == 0)
                throw Error("bad tables");
              // The end of rank 0 ends the process long before.
              std::this_thread::sleep_for(std::chrono::seconds(60));
            },
            watch);
      },
      testing::ExitedWithCode(1), "1: bad tables");
}

} // namespace
