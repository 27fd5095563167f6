//===- GroupCostsTest.cpp - Costs of layouts on groups of devices ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Against published figures, and against what must hold of any formula.
//
//===----------------------------------------------------------------------===//

#include "planning/groups/LayoutSearch.h"
#include "test/unit/planning/GroupExamples.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace rondo::groups;

namespace {

constexpr double GiB = 1 << 30;

Transformer gpt(int64_t layers, int64_t hidden, int64_t heads) {
  Transformer model;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = model.keyHeads = heads;
  model.queryWidth = model.valueWidth = hidden / heads;
  model.ffn = 4 * hidden;
  model.vocab = 51200;
  model.sequence = 2048;
  model.hasDropout = true;
  return model;
}

TEST(Transformer, WeightsArePublished) {
  // Llama 3 70B has 70.55e9 with norms, which are left out.
  EXPECT_NEAR(double(numWeights(llama70B())), 70.55e9, 0.01e9);
  EXPECT_NEAR(double(numWeights(gpt(96, 12288, 96))), 175e9, 2e9);
}

TEST(Transformer, OperationsOfATokenAreSixAWeightAndAttention) {
  const Transformer model = llama70B();
  const double multiplies =
      double(numWeights(model) - model.vocab * model.hidden);
  EXPECT_DOUBLE_EQ(flopsOfToken(model),
                   6 * multiplies + 6.0 * 8192 * 64 * 128 * 80);
}

/// Figure 1 of arXiv:2205.05198: 34 s b h + 5 a s^2 b bytes a layer, by tensor
/// parallelism with and without sequence parallelism and recomputed attention.
TEST(GroupCosts, ActivationsAreThoseOfThePaper) {
  struct Row {
    Transformer model;
    int64_t pipeline, chunks, microbatch, globalBatch;
    double plainGiB, selectiveGiB;
  };
  const Row rows[] = {
      {gpt(48, 6144, 64), 1, 1, 4, 4, 59.25, 9.5625},
      {gpt(105, 20480, 128), 35, 3, 1, 280, 114.0234375, 23.076171875}};
  for (const Row &row : rows)
    for (bool isSelective : {false, true}) {
      Layout layout;
      layout.tensor = 8;
      layout.pipeline = row.pipeline;
      layout.chunks = row.chunks;
      layout.microbatch = row.microbatch;
      layout.globalBatch = row.globalBatch;
      layout.zero = 0;
      layout.sequenceParallel = isSelective;
      layout.recompute = isSelective ? Recompute::Selective : Recompute::None;
      Execution execution;
      execution.precision = Precision::Fp16;
      execution.attention = Attention::FusedSoftmax;
      const Machines machines = dgx(Generation::Ampere, row.pipeline);
      const Constants constants;
      const GroupCosts costs(row.model, machines, layout, execution, constants);
      EXPECT_NEAR(costs.memory().activations / GiB,
                  isSelective ? row.selectiveGiB : row.plainGiB, 1e-6);
    }
}

IterationTime timeOf(const Transformer &model, const Machines &machines,
                     const Layout &layout, const Execution &execution = {}) {
  const Constants constants;
  return GroupCosts(model, machines, layout, execution, constants)
      .iterationTime();
}

Layout example() {
  Layout layout;
  layout.tensor = 4;
  layout.context = 2;
  layout.pipeline = 4;
  layout.chunks = 5;
  layout.data = 4;
  layout.globalBatch = 1024;
  layout.sequenceParallel = true;
  return layout;
}

TEST(GroupCosts, PartsAddUp) {
  const Transformer model = llama70B();
  const Machines machines = dgx(Generation::Hopper, 16);
  const Layout layout = example();
  const IterationTime time = timeOf(model, machines, layout);
  // The last rank has the head; the first one's parts and what it waits for are
  // all of the time.
  const double ofFirst =
      time.work + time.recompute + time.tensor + time.context + time.expert;
  EXPECT_LT(ofFirst + time.bubble + time.stageMessages + time.dataParallel +
                time.optimizer,
            time.total);
  EXPECT_GT(time.imbalance, 0);
  EXPECT_NEAR(ofFirst + time.bubble + time.stageMessages + time.dataParallel +
                  time.optimizer,
              time.total, 0.15 * time.total);
}

TEST(GroupCosts, MoreWorkTakesLonger) {
  const Transformer model = llama70B();
  const Machines machines = dgx(Generation::Hopper, 16);
  const Layout layout = example();
  const IterationTime time = timeOf(model, machines, layout);

  Layout recomputed = layout;
  recomputed.recompute = Recompute::Full;
  EXPECT_GT(timeOf(model, machines, recomputed).total, 1.15 * time.total);

  Layout fewer = layout;
  fewer.chunks = 1;
  EXPECT_GT(timeOf(model, machines, fewer).bubble, 4.9 * time.bubble);

  Machines slower = machines;
  slower.device.networkBytesPerUs /= 10;
  EXPECT_GT(timeOf(model, slower, layout).stageMessages, time.stageMessages);
  EXPECT_GT(timeOf(model, slower, layout).total, time.total);

  Execution exposed;
  exposed.overlapsData = false;
  EXPECT_GT(timeOf(model, machines, layout, exposed).dataParallel,
            time.dataParallel);
}

TEST(GroupCosts, SharedStateTakesLessMemory) {
  const Transformer model = llama70B();
  const Machines machines = dgx(Generation::Hopper, 16);
  const Constants constants;
  Execution execution;
  execution.stack = Stack::Fsdp;
  Layout layout;
  layout.tensor = 8;
  layout.data = 16;
  layout.globalBatch = 1024;
  double previous = 1e18;
  for (int zero : {0, 1, 2, 3}) {
    layout.zero = zero;
    const double state =
        GroupCosts(model, machines, layout, execution, constants)
            .memory()
            .state;
    EXPECT_LT(state, previous) << zero;
    previous = state;
  }
  // 16 bytes a weight, shared by all devices, and two layers of 4 bytes.
  const double layer = double(weightsOf(model, LayerKind::Dense).shared);
  EXPECT_NEAR(previous, 16 * double(numWeights(model)) / 128 + layer, 1);
}

TEST(Layouts, RulesSayWhatDoesNotDivide) {
  const Transformer model = llama70B();
  EXPECT_EQ(fault(model, example()), "");

  Layout layout = example();
  layout.tensor = 3;
  EXPECT_EQ(fault(model, layout),
            "64 heads do not divide into 3 devices of a tensor group");
  layout = example();
  layout.globalBatch = 1023;
  EXPECT_EQ(fault(model, layout),
            "1023 samples do not divide into 4 samples of "
            "all replicas' micro-batches");
  layout = example();
  layout.globalBatch = 8;
  EXPECT_EQ(fault(model, layout),
            "2 micro-batches of a replica; 4 ranks with several chunks need a "
            "multiple of as many");
  layout = example();
  layout.pipeline = 3;
  layout.chunks = 1;
  EXPECT_EQ(fault(model, layout),
            "80 layers, or 82 with embedding and head, do "
            "not divide into 3 stages");
  layout = example();
  layout.zero = 3;
  EXPECT_NE(fault(model, layout), "");
}

TEST(Layouts, EvenCutsHaveAllLayers) {
  Transformer model = llama70B();
  model.layers = 126;
  Layout layout;
  layout.pipeline = 16;
  // With embedding and head as layers: 7, 8, ..., 8, 7.
  std::vector<RankLayers> ranks = layersOfRanks(model, layout);
  EXPECT_EQ(ranks.front().dense, 7);
  EXPECT_EQ(ranks[1].dense, 8);
  EXPECT_EQ(ranks.back().dense, 7);

  model.experts = Experts{8, 2, 1024, 0, /*denseLayers=*/3};
  layout.pipeline = 4;
  int64_t dense = 0, experts = 0;
  for (const RankLayers &rank : layersOfRanks(model, layout)) {
    dense += rank.dense;
    experts += rank.experts;
  }
  EXPECT_EQ(dense, 3);
  EXPECT_EQ(experts, 123);
}

TEST(LayoutSearch, FindsGroupsForALargeModel) {
  const Transformer model = llama70B();
  const Machines machines = dgx(Generation::Hopper, 16);
  LayoutSpace space;
  space.globalBatch = 1024;
  space.execution.overlapsTensor = true;
  const FoundLayouts found = searchLayouts(model, machines, space, {}, 20);
  ASSERT_EQ(found.best.size(), 20u);
  EXPECT_GT(found.legal, found.fit);
  const double least =
      std::min_element(found.best.begin(), found.best.end(),
                       [](const FoundLayout &a, const FoundLayout &b) {
                         return a.time.total < b.time.total;
                       })
          ->time.total;
  for (const FoundLayout &one : found.best) {
    EXPECT_EQ(one.layout.devices(), 128);
    EXPECT_EQ(fault(model, one.layout), "");
    EXPECT_LE(one.memory.total(), space.memoryShare * 80e9);
  }
  const FoundLayout &best = found.best.front();
  EXPECT_LE(best.time.total, least * (1 + band));
  const double share =
      flopsOfToken(model) * 1024 * 8192 / best.time.total / (128 * 989e12);
  EXPECT_GT(share, 0.44);

  // Alone, devices have to recompute, and reach less.
  space.maxTensor = 1;
  const FoundLayouts alone = searchLayouts(model, machines, space, {}, 1);
  ASSERT_FALSE(alone.best.empty());
  EXPECT_GT(alone.best.front().time.total, 1.1 * least);
}

TEST(LayoutSearch, SaysWhatIsNearestIfNothingFits) {
  const Transformer model = llama70B();
  const Machines machines = dgx(Generation::Hopper, 1);
  LayoutSpace space;
  space.globalBatch = 64;
  const FoundLayouts found = searchLayouts(model, machines, space, {}, 5);
  EXPECT_TRUE(found.best.empty());
  ASSERT_TRUE(found.nearest);
  EXPECT_GT(found.nearest->memory.total(), 80e9);
}

} // namespace
