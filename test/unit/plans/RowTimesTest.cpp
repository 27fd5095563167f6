//===- RowTimesTest.cpp - Times of rows of documents ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/RowTimes.h"

#include "dialect/Pipe.h"
#include "passes/Passes.h"
#include "plans/Layers.h"
#include "runtime/model/layer_work.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace rondo;
using namespace rondo::pipe;

namespace {

constexpr const char *models = R"(
pipe.cluster @lab { pipe.device @d0 <flops_per_us = 7001> }
pipe.model @gpt gpt<vocab = 64, sequence = 32, hidden = 32, heads = 2, ffn = 64, batch = 3> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @measured block
      costs<forward_ns = 100003, input_grad_ns = 200003, weight_grad_ns = 0>
  pipe.layer @mix custom<body = "mix", output_bytes = 12288, forward_flops = 100003, input_grad_flops = 7,
                         documents = true>
  pipe.layer @head head
}
pipe.model @llama llama<vocab = 64, sequence = 32, hidden = 32, heads = 2, kv_heads = 1, ffn = 64, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @head head
}
pipe.plan @a of @gpt on @lab microbatches(3) tokens<most = 80, in_flight = 160> {
  pipe.stage @s0 [@wte, @h0, @measured, @mix, @head] on 0 recompute [@h0]
}
pipe.plan @b of @llama on @lab microbatches(1) tokens<most = 80, in_flight = 80> {
  pipe.stage @s0 [@wte, @h0, @head] on 0
}
pipe.plan @c of @gpt on @lab microbatches(3) documents [[32, 7, 1], [5], [20, 30, 3]] {
  pipe.stage @s0 [@wte, @h0, @measured, @mix, @head] on 0 recompute [@h0]
}
)";

class RowTimesTest : public ::testing::Test {
protected:
  RowTimesTest() {
    context.loadDialect<PipeDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(models, &context);
  }
  PlanOp plan(const char *name) { return module->lookupSymbol<PlanOp>(name); }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Operations of F, I and W of a document.
std::array<int64_t, 3> flopsOf(runtime::LayerDesc layer, int64_t tokens) {
  layer.rowTokens = static_cast<int32_t>(tokens);
  const runtime::LayerFlops flops = runtime::layerFlops(layer);
  return {flops.forward, flops.inputGrad, flops.weightGrad};
}

TEST_F(RowTimesTest, AddsTheOperationsOfEachDocument) {
  constexpr int64_t speed = 7001;
  const std::vector<int64_t> row = {32, 17, 2, 1, 1, 27};
  for (const char *name : {"a", "b"}) {
    PlanOp op = plan(name);
    for (auto [layer, layerOp] :
         llvm::zip_equal(describeLayers(op), op.lookupModel().getLayers())) {
      if (layer.kind == runtime::LayerKind::Custom || layerOp.getCosts())
        continue;
      RowTimes times;
      times.add(layer, layerOp, speed);
      for (int k = 0; k < 3; ++k) {
        int64_t flops = 0;
        for (int64_t tokens : row)
          flops += flopsOf(layer, tokens)[k];
        EXPECT_EQ(rowSize(row).of(times.task[k].cost()),
                  (flops * 1000 + speed - 1) / speed)
            << name << " " << layer.name << " " << k;
      }
    }
  }
}

TEST_F(RowTimesTest, ScalesMeasuredTimesByOperationsOrTokens) {
  PlanOp op = plan("a");
  const std::vector<runtime::LayerDesc> layers = describeLayers(op);
  llvm::SmallVector<LayerOp> ops = op.lookupModel().getLayers();
  const std::vector<int64_t> row = {32, 7, 1};
  auto timesOf = [&](size_t layer) {
    RowTimes times;
    times.add(layers[layer], ops[layer], 1000);
    return std::array<int64_t, 3>{rowSize(row).of(times.task[0].cost()),
                                  rowSize(row).of(times.task[1].cost()),
                                  rowSize(row).of(times.task[2].cost())};
  };
  const auto whole = flopsOf(layers[2], 32);
  std::array<double, 3> part = {0, 0, 0};
  for (int k = 0; k < 3; ++k) {
    for (int64_t tokens : row)
      part[k] += double(flopsOf(layers[2], tokens)[k]);
    part[k] /= 3.0 * double(whole[k]);
  }
  EXPECT_EQ(timesOf(2)[0], std::ceil(100003 * part[0]));
  EXPECT_EQ(timesOf(2)[1], std::ceil(200003 * part[1]));
  EXPECT_EQ(timesOf(2)[2], 0);
  // 40 of 96 tokens.
  EXPECT_EQ(timesOf(3), (std::array<int64_t, 3>{41668, 3, 0}));
}

TEST_F(RowTimesTest, LimitsPredictListedDocuments) {
  mlir::PassManager passes(&context);
  passes.addPass(createResolveStages());
  ASSERT_TRUE(succeeded(passes.run(*module)));
  PlanOp listed = plan("c"), limits = plan("a");
  const std::vector<AffineCost> costs =
      StageFigures(limits).rowCosts(limits.getStages()[0]);
  for (int64_t i = 0; i < 3; ++i) {
    const RowSize size = rowSize(listed.getDocumentsOf(i));
    const StageCosts own = listed.getStages()[0].getCosts()->of(i);
    EXPECT_EQ(size.of(costs[0]), own.forwardNs) << i;
    EXPECT_EQ(size.of(costs[1]), own.inputGradNs) << i;
    EXPECT_EQ(size.of(costs[2]), own.weightGradNs) << i;
    EXPECT_EQ(size.of(costs[3]), own.recomputeNs) << i;
    EXPECT_GT(own.recomputeNs, 0);
  }
}

TEST(AffineCost, IsLimited) {
  const AffineCost large = {5, int64_t(1) << 62, int64_t(1) << 62, 1};
  EXPECT_EQ(large.at(int64_t(1) << 30, int64_t(1) << 50), AffineCost::most);
  EXPECT_EQ((AffineCost{5, 3, 1, 4}).at(3, 9), 5 + 5);
}

TEST(RowTime, KeepsFactorsThatFit) {
  RowTime time;
  time.perToken = __int128(1) << 80;
  time.perPair = __int128(1) << 40;
  const AffineCost cost = time.cost();
  EXPECT_EQ(cost.perToken / cost.over, int64_t(1) << 48);
  EXPECT_EQ(cost.at(0, 1 << 20), 1 << 28);
}

TEST(InProportion, KeepsTheStatedTimeOfTheLargestRow) {
  const RowSize row = {100, 5000};
  const AffineCost time = {0, 300, 2, 10};
  EXPECT_EQ(row.of(time), 4000);
  EXPECT_EQ(row.of(inProportion(time, 8000, row)), 8000);
  EXPECT_EQ((RowSize{50, 1250}).of(inProportion(time, 8000, row)), 3500);
  EXPECT_EQ((RowSize{50, 1250}).of(inProportion({}, 8000, row)), 4000);
  EXPECT_EQ(row.of(inProportion(time, 0, row)), 0);
}

} // namespace
