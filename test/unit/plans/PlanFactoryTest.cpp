//===- PlanFactoryTest.cpp - Plans that planners try ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trying plans neither changes the module of the plan nor emits diagnostics:
// plans and faults are results.
//
//===----------------------------------------------------------------------===//

#include "plans/PlanFactory.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace rondo;
using namespace rondo::pipe;

namespace {

constexpr const char *modelText = R"(
pipe.cluster @lab link<latency_ns = 5000, bytes_per_us = 5000> {
  pipe.device @d0
  pipe.device @d1
}
pipe.model @gpt gpt<vocab = 64, sequence = 8, hidden = 16, heads = 2, ffn = 32, batch = 4, tied = false> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
)";

class PlanFactoryTest : public ::testing::Test {
protected:
  PlanFactoryTest() { context.loadDialect<PipeDialect>(); }

  /// The first plan of the model's text followed by `planText`, resolved.
  PlanOp read(const std::string &planText) {
    module =
        mlir::parseSourceString<mlir::ModuleOp>(modelText + planText, &context);
    PlanOp plan = *module->getOps<PlanOp>().begin();
    resolveStages(plan);
    before = text();
    return plan;
  }
  std::string text() {
    std::string result;
    llvm::raw_string_ostream os(result);
    module->print(os);
    return result;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string before;
  int numDiagnostics = 0;
  mlir::ScopedDiagnosticHandler handler{&context, [this](mlir::Diagnostic &) {
                                          ++numDiagnostics;
                                          return mlir::success();
                                        }};
};

constexpr const char *twoStages = R"(
pipe.plan @step of @gpt on @lab microbatches(4) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1, @ln_f] on 1
}
)";

TEST_F(PlanFactoryTest, TriesShapesOutsideTheModule) {
  PlanFactory factory(read(twoStages));
  const PlanSpace space = shapeSpace(factory);
  EXPECT_EQ(space.ranks, 2);
  EXPECT_EQ(space.layers, 4);
  PlanShape shape;
  shape.placing = Placing::Interleaved;
  shape.chunks = 2;
  shape.microbatches = 8;
  const Result<ShapedPlan> shaped = space.make(shape);
  ASSERT_TRUE(shaped);
  EXPECT_EQ(shaped->problem.name, "step");
  EXPECT_EQ(shaped->problem.microbatches, 8);
  EXPECT_EQ(shaped->problem.samples, 2);
  EXPECT_EQ(shaped->ranks, (std::vector<int32_t>{0, 1, 0, 1}));
  EXPECT_EQ(shaped->begins, (std::vector<int32_t>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(succeeded(mlir::verify(factory.plan(shaped->id))));
  // Another number of micro-batches has another model; its samples are fewer.
  EXPECT_NE(factory.plan(shaped->id).getModel(), factory.base().getModel());
  EXPECT_EQ(factory.plan(shaped->id).getSamplesOfMicrobatch(), 2);
  EXPECT_EQ(factory.base().getSamplesOfMicrobatch(), 4);
  shape.microbatches = 3;
  const Result<ShapedPlan> uneven = space.make(shape);
  ASSERT_FALSE(uneven);
  EXPECT_EQ(uneven.fault().kind, FaultKind::UnevenSamples);
  EXPECT_EQ(text(), before);
  EXPECT_EQ(numDiagnostics, 0);
}

TEST_F(PlanFactoryTest, TriesPlansOfAModelOutsideTheModule) {
  PlanFactory factory(read(R"(
pipe.plan @all of @gpt on @lab microbatches(4) {
  pipe.stage @s0 [@wte, @h0, @h1, @ln_f] on 0
}
)"));
  const ModelSpace space = modelSpace(factory, /*samples=*/16);
  ModelPlan wanted;
  wanted.samples = 2;
  wanted.stages = {{0, 2, {0}}, {2, 4, {1}}};
  wanted.recomputes = {false, true, true, false};
  const Result<LaidPlan> laid = space.make(wanted);
  ASSERT_TRUE(laid);
  EXPECT_EQ(laid->problem.microbatches, 8);
  PlanOp plan = factory.plan(laid->id);
  ASSERT_EQ(plan.getStages().size(), 2u);
  for (StageOp stage : plan.getStages())
    EXPECT_EQ(stage.getRecomputeAttr().size(), 1u);
  const Result<ChainProblem> chain = space.chain(2, {wanted.recomputes});
  ASSERT_TRUE(chain);
  ASSERT_EQ(chain->layers.size(), 4u);
  // A block that recomputes keeps its input, but the one before already has.
  EXPECT_GT(chain->layers[1].stashBytes, 0);
  EXPECT_EQ(chain->layers[2].stashBytes, 0);
  EXPECT_EQ(chain->layers[3].outputBytes, 0);
  // Its verifier knows that a stage is on a rank once.
  wanted.stages.back().devices = {1, 1};
  const Result<LaidPlan> twice = space.make(wanted);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.fault().kind, FaultKind::PlanRefused);
  EXPECT_EQ(text(), before);
  EXPECT_EQ(numDiagnostics, 0);
}

TEST_F(PlanFactoryTest, AddsSizedPlansThatAreWanted) {
  PlanOp source = read(twoStages);
  PlanFactory factory(source);
  const SizedPlans plans = sizedPlans(factory, noMemoryCap, /*hasNorm=*/true);
  EXPECT_EQ(plans.samples, 16);
  EXPECT_EQ(plans.microbatches, (std::vector<int64_t>{1, 2, 4, 8, 16}));
  const Result<SizedPlan> written = plans.make(0), halves = plans.make(8);
  ASSERT_TRUE(written && halves);
  EXPECT_EQ(written->problem.microbatches, 4);
  EXPECT_EQ(halves->problem.microbatches, 8);
  EXPECT_EQ(text(), before);
  EXPECT_EQ(factory.addToSource(written->id, "unused"), source);
  EXPECT_EQ(text(), before);
  PlanOp added = factory.addToSource(halves->id, "step");
  EXPECT_EQ(added.getSymName(), "step_");
  EXPECT_EQ(added->getPrevNode(), source.getOperation());
  EXPECT_TRUE(succeeded(mlir::verify(*module)));
  EXPECT_EQ(numDiagnostics, 0);
}

} // namespace
