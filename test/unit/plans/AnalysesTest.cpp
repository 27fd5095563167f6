//===- AnalysesTest.cpp - Analyses follow the ops of which they are -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "plans/CheckedSchedule.h"
#include "plans/ProgramValue.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

using namespace rondo;
using namespace rondo::pipe;

namespace {

constexpr const char *planText = R"(
pipe.cluster @lab {
  pipe.device @d0
  pipe.device @d1
}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2>
  pipe.layer @l1 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2>
}
pipe.plan @step of @timed on @lab microbatches(4) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
pipe.schedule @main of @step family<"1f1b">
)";

/// Hands the manager of the module's analyses to a function. If `changes`, it
/// preserves none of them.
class Probe
    : public mlir::PassWrapper<Probe, mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Probe)

  Probe(bool changes,
        std::function<void(mlir::ModuleOp, mlir::AnalysisManager)> probe)
      : changes(changes), probe(std::move(probe)) {}
  void runOnOperation() override {
    probe(getOperation(), getAnalysisManager());
    if (!changes)
      markAllAnalysesPreserved();
  }

private:
  const bool changes;
  const std::function<void(mlir::ModuleOp, mlir::AnalysisManager)> probe;
};

class Analyses : public ::testing::Test {
protected:
  Analyses() {
    context.loadDialect<PipeDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(planText, &context);
    buildSchedulePipeline(passes);
  }

  void probe(bool changes,
             std::function<void(mlir::ModuleOp, mlir::AnalysisManager)> what) {
    passes.addPass(std::make_unique<Probe>(changes, std::move(what)));
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::PassManager passes{&context};
};

ScheduleOp scheduleOf(mlir::ModuleOp module) {
  return *module.getOps<ScheduleOp>().begin();
}

TEST_F(Analyses, OfAScheduleIsSharedUntilItChanges) {
  const CheckedSchedule *first = nullptr;
  int64_t makespan = 0;
  probe(/*changes=*/false, [&](mlir::ModuleOp module, auto analyses) {
    auto cached = analyses.template getCachedChildAnalysis<CheckedSchedule>(
        scheduleOf(module));
    // pipe-verify-scheduled has asked for it.
    ASSERT_TRUE(cached);
    first = &cached->get();
    makespan = first->simulation().makespanNs;
    EXPECT_FALSE(first->fault());
  });
  probe(/*changes=*/true, [&](mlir::ModuleOp module, auto analyses) {
    auto &same =
        analyses.template getChildAnalysis<CheckedSchedule>(scheduleOf(module));
    EXPECT_EQ(&same, first);
    // GPipe ends all forwards first.
    auto gpipe = generate(*parseFamily("gpipe"), same.problem());
    ASSERT_TRUE(bool(gpipe));
    EXPECT_TRUE(succeeded(foldSchedule(*gpipe, scheduleOf(module))));
  });
  probe(/*changes=*/false, [&](mlir::ModuleOp module, auto analyses) {
    auto cached = analyses.template getCachedChildAnalysis<CheckedSchedule>(
        scheduleOf(module));
    EXPECT_FALSE(cached);
    auto &fresh =
        analyses.template getChildAnalysis<CheckedSchedule>(scheduleOf(module));
    EXPECT_FALSE(fresh.fault());
    // In 1F1B, a backward is second.
    EXPECT_EQ(fresh.order().rank(1)[1].kind(), ActionKind::Forward);
  });
  EXPECT_TRUE(succeeded(passes.run(*module)));
  // 1F1B of two stages and four micro-batches, 6 ns each, and one warm-up.
  EXPECT_EQ(makespan, 30);
}

TEST_F(Analyses, OfAProgramHasThePlacesThatPlanningWrites) {
  passes.addPass(createInsertCommunication());
  probe(/*changes=*/false, [&](mlir::ModuleOp module, auto analyses) {
    for (ProgramOp program : module.getOps<ProgramOp>()) {
      auto &value = analyses.template getChildAnalysis<ProgramValue>(program);
      EXPECT_TRUE(value.isReadable());
      EXPECT_TRUE(value.program().arenaBytes.empty());
    }
  });
  passes.addPass(createPlanMemory());
  passes.addPass(createVerifyLowered());
  int64_t count = 0;
  probe(/*changes=*/false, [&](mlir::ModuleOp module, auto analyses) {
    // Lowering has kept the schedule, and what was found of it.
    auto kept = analyses.template getCachedChildAnalysis<CheckedSchedule>(
        scheduleOf(module));
    ASSERT_TRUE(kept);
    mlir::ModuleAnalysisManager others(module, nullptr);
    mlir::AnalysisManager manager = others;
    const auto &fresh =
        manager.getChildAnalysis<CheckedSchedule>(scheduleOf(module));
    for (int32_t rank = 0; rank < 2; ++rank) {
      const ActionRange before = kept->get().order().rank(rank),
                        after = fresh.order().rank(rank);
      ASSERT_EQ(before.size(), after.size());
      EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
    }
    EXPECT_EQ(kept->get().simulation().makespanNs,
              fresh.simulation().makespanNs);
    for (ProgramOp program : module.getOps<ProgramOp>()) {
      auto cached =
          analyses.template getCachedChildAnalysis<ProgramValue>(program);
      ASSERT_TRUE(cached);
      EXPECT_FALSE(cached->get().program().arenaBytes.empty());
      ++count;
    }
  });
  EXPECT_TRUE(succeeded(passes.run(*module)));
  EXPECT_EQ(count, 3);
}

} // namespace
