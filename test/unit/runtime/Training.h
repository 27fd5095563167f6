//===- Training.h - Helpers for tests of training ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_TRAINING_H
#define RONDO_TEST_UNIT_RUNTIME_TRAINING_H

#include "Support.h"

#include "runtime/checkpoints/checkpoint.h"
#include "runtime/trainer/options.h"

#include "gtest/gtest.h"

namespace rondo::runtime::test {

/// The options of a command line of these words.
inline Options optionsOf(std::vector<std::string> words) {
  words.insert(words.begin(), "train");
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  return parseOptions(static_cast<int>(argv.size()), argv.data());
}

inline Spec gpt(std::vector<int> layersOfStage, std::vector<int> rankOfStage,
                bool tied) {
  Spec spec;
  spec.layers = gptLayers(2, tied);
  spec.layersOfStage = std::move(layersOfStage);
  spec.rankOfStage = std::move(rankOfStage);
  return spec;
}

inline std::string sampleText() {
  std::string text;
  for (int i = 0; i < 400; ++i)
    text += "the quick brown fox " + std::to_string(i % 7) + "\n";
  return text;
}

/// Exit code and output.
struct Outcome {
  int code;
  std::string out, err;
};

inline Outcome run(const Program &program, std::vector<std::string> words) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int code = runProgram(program, std::move(words));
  std::string out = testing::internal::GetCapturedStdout();
  return {code, out, testing::internal::GetCapturedStderr()};
}

/// Runs an executable in a process for each of its ranks. Returns their exit
/// codes, and what they print.
inline Outcome runProcesses(const Program &program,
                            std::vector<std::string> words) {
  const int count = program.exe.numRanks;
  TemporaryFile place, out;
  std::remove(place.path.c_str());
  words.insert(words.end(), {"--world-size", std::to_string(count), "--rdzv",
                             "file://" + place.path});
  std::vector<pid_t> children;
  for (int p = 0; p < count; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      if (!std::freopen(out.path.c_str(), "a", stdout) ||
          !std::freopen(out.path.c_str(), "a", stderr))
        _exit(99);
      std::vector<std::string> own = words;
      own.insert(own.end(), {"--rank", std::to_string(p)});
      const int code = runProgram(program, own);
      std::fflush(nullptr);
      _exit(code);
    }
    children.push_back(child);
  }
  int worst = 0;
  for (int code : exitCodesOf(children))
    worst = std::max(worst, code >= 0 ? code : 98);
  return {worst, out.read(), ""};
}

/// The bytes of a checkpoint, as one process saves what it has read.
inline std::string asOneFile(const Program &program, const std::string &path) {
  TemporaryFile file;
  State state(program.exe);
  state.poison();
  state.initialise(1);
  const RunPosition position =
      loadCheckpoint(path, state, OptimizerKind::AdamW);
  saveCheckpoint(file.path, state, position);
  return file.read();
}

class Training : public testing::Test {
protected:
  void SetUp() override { data.write(sampleText()); }
  /// Trains quietly; the flags are added to seed and data.
  void train(const Program &program, std::vector<std::string> words) {
    words.insert(words.end(), {"--quiet", "--data", data.path, "--lr", "0.01",
                               "--decay", "8", "--warmup", "2"});
    Outcome outcome = run(program, words);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }

  TemporaryFile data, first, second;
};

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_RUNTIME_TRAINING_H
