//===- Pipelines.cpp - The passes in their order --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Pipelines.h"
#include "passes/Passes.h"

#include "mlir/Pass/PassRegistry.h"

#include <utility>

namespace rondo::pipe {
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"
} // namespace rondo::pipe

using namespace rondo::pipe;

void rondo::pipe::buildPlanPipeline(mlir::OpPassManager &pm) {
  // Costs and sizes first: all rules and families read them.
  pm.addPass(createResolveStages());
  // Boundary: from here on every plan states a sound problem.
  pm.addPass(createVerifyPartitioned());
}

void rondo::pipe::buildOrderPipeline(mlir::OpPassManager &pm,
                                     RunControl *control, OnNone onNone) {
  // Families and searches write orders and never judge them.
  pm.addPass(createGenerateSchedules());
  // Takes the longest, so everything else that can fail before there is a
  // schedule has been checked.
  pm.addPass(createSearchSchedules(control, std::move(onNone)));
  // After all passes that write orders of tasks.
  pm.addPass(createPlaceGathers());
}

void rondo::pipe::buildSchedulePipeline(mlir::OpPassManager &pm,
                                        RunControl *control) {
  buildPlanPipeline(pm);
  buildOrderPipeline(pm, control);
  // Evaluates candidates against the existing schedule.
  pm.addPass(createChooseCandidates(control));
  // Boundary: from here on every order is complete and can run.
  pm.addPass(createVerifyScheduled(control));
}

void rondo::pipe::buildLowerPipeline(mlir::OpPassManager &pm,
                                     RunControl *control) {
  // Receives are placed by simulation, so the order must be final.
  pm.addPass(createInsertCommunication());
  // Lives of buffers follow from the positions of messages; nothing may move
  // after this pass.
  pm.addPass(createPlanMemory());
  // Boundary: what is emitted has been proved, with its messages and its
  // memory.
  pm.addPass(createVerifyLowered(control));
}

void rondo::pipe::buildVerifyPipeline(mlir::OpPassManager &pm,
                                      RunControl *control) {
  buildSchedulePipeline(pm, control);
  // Programs that the file contains.
  pm.addPass(createVerifyLowered(control));
}

void rondo::pipe::registerPasses() {
  registerPipePasses();
  mlir::PassPipelineRegistration<>(
      "pipe-schedule", "source to scheduled, proved",
      [](mlir::OpPassManager &pm) { buildSchedulePipeline(pm); });
  mlir::PassPipelineRegistration<>(
      "pipe-lower", "scheduled to lowered, proved",
      [](mlir::OpPassManager &pm) { buildLowerPipeline(pm); });
}
