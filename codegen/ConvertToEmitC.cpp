//===- ConvertToEmitC.cpp - Programs to one C++ executable ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/EmitExecutable.h"
#include "codegen/Passes.h"

#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace rondo::codegen {
#define GEN_PASS_DEF_CONVERTTOEMITC
#define GEN_PASS_REGISTRATION
#include "codegen/Passes.h.inc"

namespace {

struct ConvertToEmitC : impl::ConvertToEmitCBase<ConvertToEmitC> {
  using ConvertToEmitCBase::ConvertToEmitCBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<Operation *> sources;
    for (Operation &op : *module.getBody())
      sources.push_back(&op);
    std::string name;
    bool isAdaptive = false;
    FailureOr<SmallVector<pipe::ScheduleOp, 0>> chosen =
        choose(module, name, isAdaptive);
    if (failed(chosen) ||
        failed(emitExecutable(module, {name, *chosen, isAdaptive, backend},
                              getAnalysisManager())))
      return signalPassFailure();
    for (Operation *op : llvm::reverse(sources))
      op->erase();
  }

  /// The schedules of an executable, or a single schedule, and its name.
  FailureOr<SmallVector<pipe::ScheduleOp, 0>>
  choose(ModuleOp module, std::string &name, bool &isAdaptive) {
    name = schedule;
    for (pipe::ExecutableOp op : module.getOps<pipe::ExecutableOp>())
      if (name.empty() || op.getSymName() == name) {
        name = op.getSymName().str();
        isAdaptive = bool(op.getAdaptiveAttr());
        return op.lookupSchedules();
      }
    for (pipe::ScheduleOp op : module.getOps<pipe::ScheduleOp>())
      if (name.empty() || op.getSymName() == name) {
        name = op.getSymName().str();
        return SmallVector<pipe::ScheduleOp, 0>{op};
      }
    if (name.empty())
      return module.emitError() << "no pipe.schedule to emit";
    return module.emitError() << "no pipe.schedule @" << name;
  }
};

} // namespace

void registerPasses() { registerRondoCodegenPasses(); }

} // namespace rondo::codegen
