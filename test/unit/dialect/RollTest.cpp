//===- RollTest.cpp - Rolling sequences into loops ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rolling is lossless on any sequence, and short and fast on the orders that
// published families write.
//
//===----------------------------------------------------------------------===//

#include "dialect/Roll.h"

#include "FamilyOrders.h"
#include "schedule/families/Family.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace rondo::pipe;

namespace {

using Sequence = std::vector<RollLeaf>;

void run(const std::vector<RollNode> &nodes, std::vector<int64_t> &iterations,
         Sequence &out) {
  for (const RollNode &node : nodes) {
    if (node.count == 0) {
      int64_t index = node.index;
      ASSERT_EQ(node.strides.size(), iterations.size());
      for (size_t k = 0; k < iterations.size(); ++k)
        index += node.strides[k] * iterations[k];
      out.push_back({node.key, index});
      continue;
    }
    ASSERT_GE(node.count, 2) << "a loop of one iteration";
    iterations.push_back(0);
    for (; iterations.back() < node.count; ++iterations.back())
      run(node.body, iterations, out);
    iterations.pop_back();
  }
}

int64_t countLines(const std::vector<RollNode> &nodes) {
  int64_t lines = 0;
  for (const RollNode &node : nodes)
    lines += node.count == 0 ? 1 : 2 + countLines(node.body);
  return lines;
}

/// Rolls, checks that nothing is lost or longer, and returns the number of
/// lines.
int64_t checkedLines(const Sequence &sequence) {
  std::vector<RollNode> nodes = roll(sequence);
  Sequence again;
  std::vector<int64_t> iterations;
  run(nodes, iterations, again);
  EXPECT_EQ(again.size(), sequence.size());
  for (size_t i = 0; i < std::min(again.size(), sequence.size()); ++i) {
    EXPECT_EQ(again[i].key, sequence[i].key) << "at " << i;
    EXPECT_EQ(again[i].index, sequence[i].index) << "at " << i;
    if (::testing::Test::HasFailure())
      break;
  }
  int64_t lines = countLines(nodes);
  EXPECT_LE(lines, static_cast<int64_t>(sequence.size()));
  return lines;
}

/// Keys for tests: a letter and a chunk.
Sequence sequenceOf(const test::Order &order) {
  Sequence sequence;
  for (const test::Task &task : order)
    sequence.push_back({static_cast<uint64_t>(task.letter) |
                            static_cast<uint64_t>(task.chunk) << 8,
                        task.microbatch});
  return sequence;
}

TEST(Roll, Nothing) { EXPECT_TRUE(roll({}).empty()); }

TEST(Roll, StraightRunIsOneLoop) {
  std::vector<RollNode> nodes = roll({{7, 2}, {7, 3}, {7, 4}, {7, 5}});
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].count, 4);
  ASSERT_EQ(nodes[0].body.size(), 1u);
  EXPECT_EQ(nodes[0].body[0].key, 7u);
  EXPECT_EQ(nodes[0].body[0].index, 2);
  EXPECT_EQ(nodes[0].body[0].strides, std::vector<int64_t>{1});
}

TEST(Roll, PairIsNoLoop) { EXPECT_EQ(roll({{7, 0}, {7, 1}}).size(), 2u); }

TEST(Roll, DescendingIndices) {
  std::vector<RollNode> nodes = roll({{7, 5}, {7, 4}, {7, 3}, {7, 2}});
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].body[0].strides, std::vector<int64_t>{-1});
}

TEST(Roll, LoopsNest) {
  Sequence sequence;
  for (int64_t i = 0; i < 12; i += 3) {
    for (int64_t j = 0; j < 3; ++j)
      sequence.push_back({1, i + j});
    for (int64_t j = 0; j < 3; ++j)
      sequence.push_back({2, i + j});
  }
  std::vector<RollNode> nodes = roll(sequence);
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].count, 4);
  ASSERT_EQ(nodes[0].body.size(), 2u);
  EXPECT_EQ(nodes[0].body[1].body[0].strides, (std::vector<int64_t>{3, 1}));
  checkedLines(sequence);
}

/// Such a block is longer than all lengths that are tried on a sequence of that
/// size, and within it nothing repeats.
TEST(Roll, LongBlocksThatRepeatAreOneLoop) {
  Sequence sequence;
  for (int64_t i = 0; i < 4; ++i)
    for (uint64_t key = 0; key < 3000; ++key)
      sequence.push_back({key, i});
  std::vector<RollNode> nodes = roll(sequence);
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0].count, 4);
  EXPECT_EQ(checkedLines(sequence), 3002);
}

TEST(Roll, LongerRunKeepsItsFirstElement) {
  std::vector<RollNode> nodes =
      roll({{1, 0}, {1, 3}, {1, 4}, {1, 5}, {1, 6}, {1, 7}});
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[1].count, 5);
}

TEST(Roll, RandomSequencesAreLossless) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 300; ++round) {
    Sequence sequence;
    int64_t size = random() % 400;
    int keys = 1 + random() % 4, indices = 1 + random() % 6;
    for (int64_t i = 0; i < size; ++i)
      sequence.push_back(
          {random() % keys, static_cast<int64_t>(random() % indices)});
    checkedLines(sequence);
  }
}

TEST(Roll, RandomLoopsAreLossless) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Sequence sequence;
    while (sequence.size() < 500) {
      Sequence block;
      for (int64_t i = 1 + random() % 6; i > 0; --i)
        block.push_back({random() % 3, static_cast<int64_t>(random() % 50)});
      int64_t step = static_cast<int64_t>(random() % 5) - 2;
      for (int64_t i = random() % 12; i >= 0; --i)
        for (const RollLeaf &leaf : block)
          sequence.push_back({leaf.key, leaf.index + step * i});
    }
    checkedLines(sequence);
  }
}

class RollFamily : public ::testing::TestWithParam<test::OrderRule> {};

// The requirement: 64 ranks x 512 micro-batches print in under 10,000 lines.
TEST_P(RollFamily, PrintsShort) {
  constexpr int64_t ranks = 64, microbatches = 512;
  int64_t lines = 0;
  for (int64_t rank = 0; rank < ranks; ++rank)
    lines += 2 + checkedLines(
                     sequenceOf(GetParam().write(ranks, rank, microbatches)));
  EXPECT_LT(lines, 10000);
  RecordProperty("lines", static_cast<int>(lines));
}

TEST_P(RollFamily, SmallAndUnevenAreLossless) {
  int rolled = 0;
  for (int64_t ranks : {2, 3, 4})
    for (int64_t microbatches : {6, 8, 12, 13})
      if (GetParam().applies(ranks, microbatches))
        for (int64_t rank = 0; rank < ranks; ++rank) {
          checkedLines(sequenceOf(GetParam().write(ranks, rank, microbatches)));
          ++rolled;
        }
  EXPECT_GT(rolled, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Families, RollFamily, ::testing::ValuesIn(test::orderRules()),
    [](const ::testing::TestParamInfo<test::OrderRule> &rule) {
      return std::string(rule.param.name);
    });

/// The same for the product's own families; those with several chunks have two
/// per rank, waves also four.
TEST(Roll, EveryFamilyPrintsShort) {
  constexpr int32_t ranks = 64, microbatches = 512;
  std::set<std::string> written;
  for (auto [chunks, isWave] : {std::pair(1, false), std::pair(2, false),
                                std::pair(2, true), std::pair(4, true)}) {
    rondo::Problem problem;
    problem.name = "uniform";
    problem.microbatches = microbatches;
    problem.memoryCaps.assign(ranks, rondo::noMemoryCap);
    problem.costs.resize(ranks * chunks * rondo::numCostColumns);
    for (int32_t s = 0; s < ranks * chunks; ++s) {
      const bool isUp = isWave && s / ranks % 2 == 1;
      problem.replicas.addStage(isUp ? ranks - 1 - s % ranks : s % ranks);
      problem.setStageCost(s, 1000, 1100, 800, 64, 0);
    }
    problem.makeChain(std::vector<int64_t>(ranks * chunks, 64));
    problem.link.latencyNs = 100;
    for (const rondo::Family &family : rondo::families()) {
      auto choice = *rondo::chooseFamily(family.name, rondo::FamilyArguments());
      const rondo::FamilyResult schedule = rondo::generate(choice, problem);
      if (!schedule)
        continue;
      written.insert(family.name);
      int64_t lines = 0;
      for (int32_t r = 0; r < ranks; ++r) {
        Sequence sequence;
        for (rondo::Action a : schedule->rank(r))
          sequence.push_back({uint64_t(a.kindBits) | uint64_t(a.subject) << 8,
                              int64_t(a.index)});
        lines += 2 + checkedLines(sequence);
      }
      EXPECT_LT(lines, 10000) << family.name << " " << chunks;
    }
  }
  // One backward of timeprest serves at most 255 micro-batches, and the
  // language has no op for it.
  EXPECT_EQ(written.count("timeprest"), 0u);
  EXPECT_EQ(written.size() + 1, rondo::families().size());
}

} // namespace
