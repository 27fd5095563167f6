//===- Training.h - Helpers for tests of training ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_TRAINING_H
#define RONDO_TEST_UNIT_RUNTIME_TRAINING_H

#include "Support.h"

#include "gtest/gtest.h"

namespace rondo::runtime::test {

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
