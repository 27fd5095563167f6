//===- Pipelines.cpp - The passes in their order --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Pipelines.h"
#include "passes/Passes.h"

#include "mlir/Pass/PassRegistry.h"

namespace rondo::pipe {
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"
} // namespace rondo::pipe

using namespace rondo::pipe;

void rondo::pipe::buildSchedulePipeline(mlir::OpPassManager &pm,
                                        const std::atomic<bool> *interrupt) {
  // Costs and sizes first: all rules and families read them.
  pm.addPass(createResolveStages());
  // Boundary: from here on every plan states a sound problem.
  pm.addPass(createVerifyPartitioned());
  // Families and searches write orders and never judge them.
  pm.addPass(createGenerateSchedules());
  // Takes the longest, so everything else that can fail before there is a
  // schedule has been checked.
  pm.addPass(createSearchSchedules(interrupt));
  // Behind all that writes orders of tasks.
  pm.addPass(createPlaceGathers());
  // Judges candidates beside the schedule that is there.
  pm.addPass(createChooseCandidates(interrupt));
  // Boundary: from here on every order is complete and can run.
  pm.addPass(createVerifyScheduled());
}

void rondo::pipe::buildLowerPipeline(mlir::OpPassManager &pm) {
  // Receives are placed by simulation, so the order must be final.
  pm.addPass(createInsertCommunication());
  // Lives of buffers follow from the positions of messages; nothing may move
  // after this pass.
  pm.addPass(createPlanMemory());
  // Boundary: what is emitted has been proved, with its messages and its
  // memory.
  pm.addPass(createVerifyLowered());
}

void rondo::pipe::buildVerifyPipeline(mlir::OpPassManager &pm,
                                      const std::atomic<bool> *interrupt) {
  buildSchedulePipeline(pm, interrupt);
  // Programs that the file contains.
  pm.addPass(createVerifyLowered());
}

void rondo::pipe::registerPasses() {
  registerPipePasses();
  mlir::PassPipelineRegistration<>(
      "pipe-schedule", "source to scheduled, proved",
      [](mlir::OpPassManager &pm) { buildSchedulePipeline(pm); });
  mlir::PassPipelineRegistration<>("pipe-lower", "scheduled to lowered, proved",
                                   buildLowerPipeline);
}
