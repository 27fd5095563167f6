//===- EmitCpp.cpp - Programs as the C++ of an executable -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/EmitExecutable.h"
#include "codegen/Passes.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace rondo::codegen {
#define GEN_PASS_DEF_EMITCPP
#define GEN_PASS_REGISTRATION
#include "codegen/Passes.h.inc"

namespace {

struct EmitCpp : impl::EmitCppBase<EmitCpp> {
  using EmitCppBase::EmitCppBase;
  EmitCpp(const EmitCppOptions &options, llvm::raw_ostream &os)
      : EmitCppBase(options), os(&os) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::string name;
    bool isAdaptive = false;
    FailureOr<SmallVector<pipe::ScheduleOp, 0>> chosen =
        choose(module, name, isAdaptive);
    if (failed(chosen) ||
        failed(emitExecutable(
            module, {name, *chosen, isAdaptive, imposesLinks, backend},
            getAnalysisManager(), *os)))
      return signalPassFailure();
    markAllAnalysesPreserved();
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

  llvm::raw_ostream *os = &llvm::outs();
};

} // namespace

std::unique_ptr<Pass> createEmitCpp(const EmitCppOptions &options,
                                    llvm::raw_ostream &os) {
  return std::make_unique<EmitCpp>(options, os);
}

void registerPasses() { registerRondoCodegenPasses(); }

} // namespace rondo::codegen
