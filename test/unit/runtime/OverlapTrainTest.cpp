//===- OverlapTrainTest.cpp - Training with iterations that overlap -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Overlapped.h"

#include "runtime/trainer/trainer.h"

#include "gtest/gtest.h"

#include <cmath>
#include <csignal>
#include <thread>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

class OverlapTraining : public Training {
protected:
  /// The file that a run saves.
  std::string saved(const Program &program, std::vector<std::string> words) {
    words.insert(words.end(), {"--save", first.path});
    train(program, words);
    return first.read();
  }
  Outcome outcome(const Program &program, std::vector<std::string> words) {
    words.insert(words.end(), {"--data", data.path});
    return run(program, words);
  }
  /// The number after `key` in an iteration's line of the log.
  static double numberIn(const std::string &log, int iteration,
                         const std::string &key) {
    const size_t line =
        log.find("{\"iteration\":" + std::to_string(iteration) + ",\"loss\"");
    EXPECT_NE(line, std::string::npos) << log;
    const size_t at = log.find("\"" + key + "\":", line);
    EXPECT_NE(at, std::string::npos) << log;
    return std::stod(log.substr(at + key.size() + 3));
  }
};

TEST_F(OverlapTraining, EveryIterationIsLogged) {
  Program program(overlappedGpt(Overlap::Stash, 3, 2));
  TemporaryFile log, drained;
  train(program, {"--iterations", "40", "--json-log", log.path});
  const std::string text = log.read();
  size_t at = 0;
  for (int i = 1; i <= 40; ++i) {
    at = text.find("{\"iteration\":" + std::to_string(i) + ",\"loss\":", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  const double before = numberIn(text, 1, "loss");
  EXPECT_NEAR(before, 5.545, 0.1) << "ln 256 at the start";
  EXPECT_LT(numberIn(text, 40, "loss"), before - 0.5);
  EXPECT_GT(numberIn(text, 20, "ns"), 0);
  EXPECT_EQ(text.find("norm"), std::string::npos);
  // The rate is that of the iteration.
  EXPECT_DOUBLE_EQ(numberIn(text, 1, "learning_rate"), 0.005);
  // Without overlap, the first iteration reads the same weights.
  Spec spec = overlappedGpt(Overlap::Stash, 3, 2);
  spec.overlap = {};
  train(Program(spec), {"--iterations", "1", "--json-log", drained.path});
  EXPECT_EQ(numberIn(drained.read(), 1, "loss"), before);
}

TEST_F(OverlapTraining, LinesAppearInOrder) {
  Program program(overlappedGpt(Overlap::Live, 2, 1));
  Outcome out = outcome(program, {"--iterations", "17", "--drain-every", "5",
                                  "--eval-every", "4"});
  EXPECT_EQ(out.code, 0) << out.err;
  size_t at = 0;
  for (int i = 1; i <= 17; ++i) {
    at = out.out.find("iteration " + std::to_string(i) + "/17  loss ", at);
    ASSERT_NE(at, std::string::npos) << out.out;
    if (i % 4 == 0) {
      at = out.out.find("iteration " + std::to_string(i) + "  held-out", at);
      ASSERT_NE(at, std::string::npos) << out.out;
    }
  }
}

TEST_F(OverlapTraining, ResumedRunIsBitEqual) {
  for (Overlap::Policy policy : {Overlap::Stash, Overlap::Extrapolated})
    for (const char *optimizer : {"adamw", "sgd"}) {
      Program program(overlappedGpt(policy, 3, 2));
      const std::vector<std::string> common = {
          "--optimizer", optimizer, "--lr-by-delay", "6", "--drain-every", "3"};
      auto with = [&](std::vector<std::string> words) {
        words.insert(words.end(), common.begin(), common.end());
        return words;
      };
      const std::string whole = saved(program, with({"--iterations", "9"}));
      ASSERT_GT(whole.size(), 1000u);
      saved(program, with({"--iterations", "6"}));
      second.write(first.read());
      EXPECT_EQ(
          saved(program, with({"--iterations", "9", "--resume", second.path})),
          whole);
      // The position of a drain decides which weights are read.
      EXPECT_TRUE(saved(program, {"--optimizer", optimizer, "--lr-by-delay",
                                  "6", "--iterations", "9"}) != whole);
    }
}

TEST_F(OverlapTraining, EvaluationsAndCheckpointsDrain) {
  Program program(overlappedGpt(Overlap::Stash, 2, 1));
  const std::string drained =
      saved(program, {"--iterations", "8", "--drain-every", "2"});
  EXPECT_TRUE(saved(program, {"--iterations", "8", "--eval-every", "2"}) ==
              drained);
  EXPECT_TRUE(saved(program, {"--iterations", "8", "--save-every", "2"}) ==
              drained);
  EXPECT_TRUE(saved(program, {"--iterations", "8"}) != drained);
}

TEST_F(OverlapTraining, SchedulesTakeTurnsAtADrain) {
  Spec spec = overlappedGpt(Overlap::Extrapolated, 3, 2);
  spec.others.push_back(
      {"drained", 2, spec.layers.front().batch,
       [](const Spec &own) { return oneForwardOneBackward(own, false); }});
  Program program(spec);
  const std::string both = saved(
      program, {"--iterations", "8", "--schedule", "drained:3,pipeline:97"});
  // The same in two parts, which change the schedule between them.
  saved(program, {"--iterations", "3", "--schedule", "drained"});
  second.write(first.read());
  EXPECT_TRUE(saved(program, {"--iterations", "8", "--resume", second.path,
                              "--schedule", "pipeline"}) == both);
  EXPECT_TRUE(saved(program, {"--iterations", "8", "--schedule", "pipeline"}) !=
              both);
}

/// Runs a process for each rank, which TCP connects.
std::vector<int> inProcesses(const Program &program, int processes,
                             const std::vector<std::string> &words) {
  TemporaryFile place;
  std::remove(place.path.c_str());
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      std::vector<std::string> own = words;
      own.insert(own.end(),
                 {"--rank", std::to_string(p), "--world-size",
                  std::to_string(processes), "--rdzv", "file://" + place.path});
      const int code = runProgram(program, own);
      std::fflush(nullptr);
      _exit(code);
    }
    children.push_back(child);
  }
  return exitCodesOf(children);
}

TEST_F(OverlapTraining, ProcessesTrainToTheBitsOfThreads) {
  for (Overlap::Policy policy : {Overlap::Stash, Overlap::Extrapolated}) {
    Program program(overlappedGpt(policy, 3, 2));
    TemporaryFile threads, processes;
    auto words = [&](const std::string &log) {
      return std::vector<std::string>{
          "--quiet", "--data",        data.path,  "--iterations",
          "23",      "--drain-every", "10",       "--eval-every",
          "7",       "--lr",          "0.01",     "--warmup",
          "2",       "--save",        first.path, "--json-log",
          log};
    };
    EXPECT_EQ(run(program, words(threads.path)).code, 0);
    const std::string expected = first.read();
    first.write("");
    EXPECT_EQ(inProcesses(program, 3, words(processes.path)),
              (std::vector<int>{0, 0, 0}));
    EXPECT_TRUE(asOneFile(program, first.path) == expected);
    const std::string one = threads.read(), other = processes.read();
    for (int i = 1; i <= 23; ++i)
      EXPECT_EQ(numberIn(one, i, "loss"), numberIn(other, i, "loss")) << i;
    EXPECT_EQ(inProcesses(program, 3, {"--verify", "--quiet"}),
              (std::vector<int>{0, 0, 0}));
  }
}

//===----------------------------------------------------------------------===//
// Steps.
//===----------------------------------------------------------------------===//

/// The squared change of each tensor in one iteration of plain descent.
std::vector<double> changes(const Program &program,
                            std::vector<std::string> words,
                            Snapshot *snapshot = nullptr) {
  words.insert(words.begin(),
               {"--optimizer", "sgd", "--momentum", "0", "--weight-decay", "0",
                "--warmup", "0", "--lr", "0.5", "--min-lr", "0.5"});
  const Options options = optionsOf(words);
  Trainer trainer(program.exe, options, /*useGeneratedData=*/true);
  RunFromStart how;
  how.keepBefore = true;
  const Snapshot ran = runPipelines(trainer, Turns(program.exe, {}), how);
  std::vector<double> changes;
  for (size_t t = 0; t < ran.after.size(); ++t) {
    changes.push_back(0);
    for (size_t i = 0; i < ran.after[t].size(); ++i)
      changes.back() += std::pow(double(ran.after[t][i]) - ran.before[t][i], 2);
  }
  if (snapshot)
    *snapshot = ran;
  return changes;
}

TEST(OverlapSteps, EachStageIsClippedByItsOwnNorm) {
  Program program(overlappedGpt(Overlap::Stash, 2, 2));
  State state(program.exe);
  const std::vector<double> clipped = changes(program, {"--clip", "0.01"}),
                            free = changes(program, {"--clip", "0"});
  // Sums of each stage without shared tensors, and of shared tensors alone.
  double stages[2] = {}, freeStages[2] = {};
  int shared = 0;
  for (size_t t = 0; t < clipped.size(); ++t) {
    const Tensor &tensor = state.tensors()[t];
    if (tensor.name == "wte.weight" || tensor.sharedWith == "wte.weight") {
      ++shared;
      ASSERT_GT(std::sqrt(free[t]), 0.006);
      EXPECT_NEAR(std::sqrt(clipped[t]), 0.005, 1e-6) << tensor.name;
      continue;
    }
    stages[tensor.replica] += clipped[t];
    freeStages[tensor.replica] += free[t];
  }
  EXPECT_EQ(shared, 2);
  for (int s = 0; s < 2; ++s) {
    ASSERT_GT(std::sqrt(freeStages[s]), 0.006);
    EXPECT_NEAR(std::sqrt(stages[s]), 0.005, 1e-6) << s;
  }
}

TEST(OverlapSteps, RatesDependOnTheDelay) {
  // The first of three stages is two updates late, the second one.
  Program program(overlappedGpt(Overlap::Stash, 3, 1));
  State state(program.exe);
  const std::vector<double> slow = changes(program, {"--clip", "0",
                                                     "--lr-by-delay", "100"}),
                            all = changes(program, {"--clip", "0"});
  for (size_t t = 0; t < all.size(); ++t) {
    const Tensor &tensor = state.tensors()[t];
    // Copies of a tensor go by the latest of them.
    const bool isLate =
        tensor.replica == 0 || tensor.sharedWith == "wte.weight";
    if (all[t] > 1e-6) {
      EXPECT_NEAR(std::sqrt(slow[t] / all[t]), isLate ? 0.5 : 1, 1e-3)
          << tensor.name;
    }
  }
}

TEST_F(OverlapTraining, CopiesOfATensorStayEqual) {
  Program program(overlappedGpt(Overlap::Extrapolated, 3, 1));
  const Options options =
      optionsOf({"--clip", "0.01", "--lr-by-delay", "9", "--warmup", "0"});
  Trainer trainer(program.exe, options, /*useGeneratedData=*/true);
  RunFromStart how;
  how.iterations = 12;
  const Snapshot ran = runPipelines(trainer, Turns(program.exe, {}), how);
  const std::vector<Tensor> &tensors = trainer.state().tensors();
  int found = 0;
  for (size_t copy = 0; copy < tensors.size(); ++copy)
    for (size_t t = 0; t < tensors.size(); ++t)
      if (copy != t && tensors[copy].sharedWith == tensors[t].name) {
        ++found;
        EXPECT_TRUE(ran.after[copy] == ran.after[t]);
      }
  EXPECT_EQ(found, 1);
}

//===----------------------------------------------------------------------===//
// Flags and files.
//===----------------------------------------------------------------------===//

TEST_F(OverlapTraining, AnotherOptimizersMomentsAreRefused) {
  Program program(overlappedGpt(Overlap::Stash, 2, 1));
  train(program,
        {"--iterations", "2", "--optimizer", "sgd", "--save", first.path});
  EXPECT_EQ(first.read().find("optimizer.v."), std::string::npos);
  Outcome out = outcome(program, {"--resume", first.path});
  EXPECT_EQ(out.code, 1);
  EXPECT_EQ(out.err, "error: checkpoint '" + first.path +
                         "': its moments are those of sgd, and this run uses "
                         "adamw; resume it with --optimizer sgd, or begin with "
                         "its weights by --init\n");
  train(program, {"--iterations", "3", "--init", first.path});
}

// Weights and moments go on; the changes are those of another program.
TEST_F(OverlapTraining, ProgramsWithAndWithoutChangesResumeEachOther) {
  Program with(overlappedGpt(Overlap::Extrapolated, 2, 1)),
      without(overlappedGpt(Overlap::Live, 2, 1));
  train(with, {"--iterations", "2", "--save", first.path});
  EXPECT_NE(first.read().find("optimizer.d.wte.weight"), std::string::npos);
  train(without,
        {"--iterations", "4", "--resume", first.path, "--save", second.path});
  EXPECT_EQ(second.read().find("optimizer.d."), std::string::npos);
  train(with, {"--iterations", "6", "--resume", second.path});
}

TEST_F(OverlapTraining, Faults) {
  Program program(overlappedGpt(Overlap::Stash, 2, 1));
  auto error = [&](std::vector<std::string> words) {
    Outcome out = outcome(program, std::move(words));
    EXPECT_EQ(out.code, 2);
    return out.err;
  };
  const std::string help = "; --help lists the flags\n";
  EXPECT_EQ(error({"--momentum", "0.5"}),
            "error: --momentum needs --optimizer sgd" + help);
  EXPECT_EQ(error({"--optimizer", "adam"}),
            "error: --optimizer needs adamw or sgd, not 'adam'" + help);
  EXPECT_EQ(error({"--drain-every", "100001"}),
            "error: --drain-every is 100001; it must be at most 100000" + help);
  EXPECT_EQ(error({"--drain-every", "99999999999999999999"}),
            "error: --drain-every is 99999999999999999999; it must be at most "
            "100000" +
                help);
  EXPECT_EQ(error({"--drain-every", "0"}),
            "error: --drain-every needs a whole number of at least 1, not '0'" +
                help);
  EXPECT_EQ(error({"--adapt", "on"}),
            "error: --adapt changes schedules between iterations, but those of "
            "'pipeline' overlap; run it with --adapt off\n");
}

TEST_F(OverlapTraining, TenIterationsAreTraced) {
  Program program(overlappedGpt(Overlap::Stash, 2, 1));
  TemporaryFile trace;
  train(program, {"--iterations", "17", "--trace", trace.path});
  const std::string text = trace.read();
  for (const char *name : {"0F0", "0F9", "1I9", "1W9", "send 0F9"})
    EXPECT_NE(text.find("\"name\":\"" + std::string(name) + "\""),
              std::string::npos)
        << name;
  for (const char *name : {"0F10", "1I10"})
    EXPECT_EQ(text.find("\"name\":\"" + std::string(name) + "\""),
              std::string::npos)
        << name;
}

TEST(OverlapModes, ProfileAndGenerate) {
  Program program(overlappedGpt(Overlap::Stash, 2, 2));
  TemporaryFile costs;
  EXPECT_EQ(run(program, {"--profile", costs.path, "--iterations", "3"}).code,
            0);
  // Micro-batches of all iterations.
  EXPECT_NE(costs.read().find("\"samples\":6,"), std::string::npos)
      << costs.read();
  EXPECT_EQ(run(program, {"--generate", "a", "--tokens", "3"}).code, 0);
}

TEST_F(OverlapTraining, SignalsEndTheRunAtADrain) {
  Program program(overlappedGpt(Overlap::Stash, 2, 2));
  TemporaryFile log;
  auto *old = std::signal(SIGTERM, SIG_IGN);
  std::thread signaller([&] {
    while (log.read().empty())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    raise(SIGTERM);
  });
  Outcome out = outcome(program, {"--iterations", "100000000", "--decay", "4",
                                  "--json-log", log.path, "--save", first.path,
                                  "--drain-every", "30"});
  signaller.join();
  std::signal(SIGTERM, old);
  EXPECT_EQ(out.code, 4) << out.err;
  const std::string text = "\nstopped by SIGTERM after iteration ";
  const size_t at = out.out.find(text);
  ASSERT_NE(at, std::string::npos) << out.out;
  EXPECT_EQ(std::stoll(out.out.substr(at + text.size())) % 30, 0);
}

} // namespace
