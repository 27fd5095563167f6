//===- TrainTest.cpp - Training and resuming ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Training.h"

#include <csignal>
#include <filesystem>
#include <thread>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

TEST_F(Training, LossFallsAndIsLogged) {
  Program program(gpt({2, 2}, {0, 1}, true));
  TemporaryFile log;
  train(program, {"--iterations", "40", "--json-log", log.path});
  std::string text = log.read();
  auto lossOf = [&](const std::string &key) {
    size_t at = text.find(key);
    EXPECT_NE(at, std::string::npos) << text;
    return std::stod(text.substr(at + key.size()));
  };
  double before = lossOf("{\"iteration\":1,\"loss\":");
  EXPECT_NEAR(before, 5.545, 0.1) << "ln 256 at the start";
  EXPECT_LT(lossOf("{\"iteration\":40,\"loss\":"), before - 0.5);
  EXPECT_LT(lossOf("\"held_out_loss\":"), before - 0.5);
}

TEST_F(Training, ResumedRunGoesOnInItsLog) {
  Program program(gpt({2, 2}, {0, 1}, true));
  TemporaryFile log;
  train(program,
        {"--iterations", "2", "--json-log", log.path, "--save", first.path});
  train(program,
        {"--iterations", "3", "--json-log", log.path, "--resume", first.path});
  std::string text = log.read();
  size_t begin = 0;
  for (const char *iteration : {"1", "2", "3"}) {
    begin = text.find("{\"iteration\":" + std::string(iteration) + ",\"loss\":",
                      begin);
    ASSERT_NE(begin, std::string::npos) << text;
  }
}

// JSON has no infinity or NaN.
TEST_F(Training, LogHasNoLossThatIsNotFinite) {
  Program program(gpt({2, 2}, {0, 1}, true));
  TemporaryFile log;
  // Weights grow by factors of -1e12.
  Outcome outcome =
      run(program, {"--data", data.path, "--iterations", "6", "--lr", "1e6",
                    "--weight-decay", "1e6", "--clip", "0", "--warmup", "0",
                    "--json-log", log.path});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("nan", outcome.out.find("held-out loss ")),
            std::string::npos)
      << outcome.out;
  std::string text = log.read();
  EXPECT_NE(text.find("{\"iteration\":6,"), std::string::npos) << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
}

TEST_F(Training, FullDiskOfTheLogDoesNotEndTheRun) {
  Program program(gpt({2, 2}, {0, 1}, true));
  Outcome outcome = run(program, {"--quiet", "--data", data.path, "--json-log",
                                  "/dev/full", "--iterations", "2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("cannot write log '/dev/full': No space left"),
            std::string::npos)
      << outcome.out;
}

TEST_F(Training, ResumedRunIsBitEqual) {
  for (bool tied : {false, true}) {
    Program program(gpt({2, 2}, {0, 1}, tied));
    train(program, {"--iterations", "8", "--save", first.path});
    train(program, {"--iterations", "5", "--save", second.path});
    EXPECT_NE(first.read(), second.read());
    train(program, {"--iterations", "8", "--resume", second.path, "--save",
                    second.path});
    EXPECT_EQ(first.read(), second.read());
  }
}

TEST_F(Training, AnotherPartitionResumes) {
  Program two(gpt({2, 2}, {0, 1}, true)),
      four(gpt({1, 1, 1, 1}, {0, 1, 2, 3}, true));
  train(two, {"--iterations", "8", "--save", first.path});
  train(two, {"--iterations", "3", "--save", second.path});
  train(four,
        {"--iterations", "8", "--resume", second.path, "--save", second.path});
  EXPECT_EQ(first.read(), second.read());
}

// In one stage, the head's copy has no step and no moments of its own.
TEST_F(Training, TiedHeadBesideItsEmbeddingHasTheSameBits) {
  Program one(gpt({4}, {0}, true)), two(gpt({2, 2}, {0, 1}, true)),
      untied(gpt({4}, {0}, false));
  auto moments = [](const Program &program) {
    return program.exe.programs[0].shares[0].bytes[int(Buffer::Moments)];
  };
  const LayerDesc &head = one.exe.layers[3];
  EXPECT_EQ(moments(untied) - moments(one),
            int64_t(2 * sizeof(float)) * head.vocab * head.hidden);
  for (const char *optimizer : {"adamw", "sgd"}) {
    auto trained = [&](const Program &program, TemporaryFile &file,
                       std::vector<std::string> words) {
      words.insert(words.end(), {"--optimizer", optimizer, "--clip", "0.01",
                                 "--save", file.path});
      if (optimizer == std::string("sgd"))
        words.insert(words.end(), {"--momentum", "0.9"});
      train(program, words);
    };
    trained(two, first, {"--iterations", "6"});
    trained(one, second, {"--iterations", "6"});
    const std::string expected = first.read();
    EXPECT_TRUE(second.read() == expected);
    for (const auto &[begin, end] : {std::pair(&one, &two), {&two, &one}}) {
      trained(*begin, first, {"--iterations", "3"});
      trained(*end, second, {"--iterations", "6", "--resume", first.path});
      EXPECT_TRUE(second.read() == expected);
    }
  }
}

TEST_F(Training, SaveEveryWritesAndLeavesNothingElse) {
  Program program(gpt({2, 2}, {0, 1}, true));
  train(program,
        {"--iterations", "3", "--save-every", "1", "--save", first.path});
  EXPECT_NE(first.read().find("\"step\":\"3\""), std::string::npos);
  const std::filesystem::path saved = first.path;
  for (const auto &entry :
       std::filesystem::directory_iterator(saved.parent_path()))
    if (entry.path() != saved) {
      EXPECT_EQ(entry.path().string().rfind(first.path, 0), std::string::npos)
          << entry.path();
    }
}

TEST_F(Training, SeedOfTheCheckpointHolds) {
  Program program(gpt({2, 2}, {0, 1}, true));
  train(program, {"--iterations", "1", "--seed", "5", "--save", first.path});
  Outcome outcome = run(
      program, {"--data", data.path, "--resume", first.path, "--seed", "6"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("has seed 5"), std::string::npos) << outcome.err;
}

TEST_F(Training, SignalsEndTheRunBehindAnIteration) {
  Program program(gpt({2, 2}, {0, 1}, true));
  TemporaryFile log;
  // The second signal that launchers send may come after the run.
  auto *old = std::signal(SIGTERM, SIG_IGN);
  std::thread signaller([&] {
    while (log.read().empty())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    raise(SIGTERM);
    raise(SIGTERM);
  });
  Outcome outcome =
      run(program, {"--data", data.path, "--iterations", "100000000", "--decay",
                    "4", "--json-log", log.path, "--save", first.path});
  signaller.join();
  std::signal(SIGTERM, old);
  EXPECT_EQ(outcome.code, 4) << outcome.err;
  EXPECT_NE(outcome.out.find("\nstopped by SIGTERM after iteration "),
            std::string::npos);
  EXPECT_NE(first.read().find("\"step\":"), std::string::npos);
}

TEST_F(Training, WhatCannotBeSavedIsSaidBeforeTraining) {
  Program program(gpt({2, 2}, {0, 1}, true));
  Outcome outcome = run(program, {"--data", data.path, "--iterations", "2",
                                  "--save", data.path + "/no/such/folder"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("/no/such/folder'"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(outcome.out.find("iteration 1"), std::string::npos) << outcome.out;
}

} // namespace
