//===- VerifyTest.cpp - Pipelines against the sequential reference --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Fixture.h"
#include "Support.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

Spec gptOnRanks(int ranks, bool tied) {
  Spec spec;
  spec.layers = gptLayers(ranks > 2 ? ranks : 2, tied);
  int layers = static_cast<int>(spec.layers.size());
  for (int r = 0; r < ranks; ++r) {
    spec.rankOfStage.push_back(r);
    spec.layersOfStage.push_back(layers * (r + 1) / ranks - layers * r / ranks);
  }
  return spec;
}

int verify(const Spec &spec) {
  Program program(spec);
  return runProgram(program, {"--verify", "--quiet"});
}

class Gpt : public testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(Gpt, OneForwardOneBackwardIsBitEqual) {
  auto [ranks, tied] = GetParam();
  Spec spec = gptOnRanks(ranks, tied);
  spec.savedSlots = ranks;
  spec.messageSlots = ranks + 1;
  EXPECT_EQ(verify(spec), 0);
}

TEST_P(Gpt, SplitBackwardIsBitEqual) {
  auto [ranks, tied] = GetParam();
  Spec spec = gptOnRanks(ranks, tied);
  spec.pipeline = oneForwardOneBackward(spec, true);
  EXPECT_EQ(verify(spec), 0);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Gpt,
                         testing::Combine(testing::Values(1, 2, 3, 4),
                                          testing::Bool()));

TEST(Verify, NeighboursOnOneRank) {
  Spec spec;
  spec.layers = gptLayers(2, true);
  spec.layersOfStage = {1, 1, 1, 1};
  spec.rankOfStage = {0, 0, 1, 1};
  EXPECT_EQ(verify(spec), 0);
}

TEST(Verify, StagesThatComeBack) {
  Spec spec;
  spec.layers = gptLayers(2, true);
  spec.layersOfStage = {1, 1, 1, 1};
  spec.rankOfStage = {0, 1, 1, 0};
  spec.pipeline = forwardThenBackward(spec);
  EXPECT_EQ(verify(spec), 0);
}

TEST(Verify, ThreeMicrobatches) {
  Spec spec = gptOnRanks(4, true);
  spec.microbatches = 3;
  EXPECT_EQ(verify(spec), 0);
}

TEST(Verify, SyntheticLayers) {
  Spec spec;
  spec.layers = syntheticLayers(6, 0);
  spec.layersOfStage = {2, 2, 2};
  spec.rankOfStage = {0, 1, 2};
  EXPECT_EQ(verify(spec), 0);
}

/// Runs one weight gradient twice and leaves another out.
Spec withWrongWeightGradient() {
  Spec spec = gptOnRanks(2, false);
  spec.pipeline = oneForwardOneBackward(spec, true);
  for (Act &act : spec.pipeline[1])
    if (act.kind == Act::W && act.microbatch == 3)
      act.microbatch = 2;
  return spec;
}

TEST(Verify, WrongWeightGradientIsFound) {
  Program program(withWrongWeightGradient());
  testing::internal::CaptureStdout();
  EXPECT_EQ(runProgram(program, {"--verify", "--quiet"}), 1);
  std::string out = testing::internal::GetCapturedStdout();
  EXPECT_EQ(out.rfind("first difference, sequential and pipeline: tensor '", 0),
            0u)
      << out;
  EXPECT_NE(out.find("\nverify: FAIL "), std::string::npos) << out;
}

TEST(Verify, WrongWeightGradientIsFoundDespiteTheTolerance) {
  Program program(withWrongWeightGradient());
  program.programs[1].accumulatesInIndexOrder = false;
  testing::internal::CaptureStdout();
  EXPECT_EQ(runProgram(program, {"--verify", "--quiet"}), 1);
  std::string out = testing::internal::GetCapturedStdout();
  EXPECT_NE(out.find(" % of what training changed"), std::string::npos) << out;
}

TEST(Verify, ForeignOrderOfAccumulationHasATolerance) {
  Spec spec = gptOnRanks(2, false);
  spec.pipeline = oneForwardOneBackward(spec, true);
  std::vector<Act> &list = spec.pipeline[0];
  auto isW = [](const Act &act) { return act.kind == Act::W; };
  auto begin = std::find_if(list.begin(), list.end(), isW);
  auto end = std::find_if_not(begin, list.end(), isW);
  std::reverse(begin, end);
  Program program(spec);
  EXPECT_EQ(runProgram(program, {"--verify", "--quiet"}), 1);
  program.programs[1].accumulatesInIndexOrder = false;
  testing::internal::CaptureStdout();
  EXPECT_EQ(runProgram(program, {"--verify", "--quiet"}), 0);
  std::string out = testing::internal::GetCapturedStdout();
  EXPECT_NE(out.find("tensors may differ by 5 % of their change"),
            std::string::npos)
      << out;
}

} // namespace
