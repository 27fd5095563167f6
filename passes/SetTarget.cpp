//===- SetTarget.cpp - Say what the plans are compiled for ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Passes.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_SETTARGET
#include "passes/Passes.h.inc"

namespace {

struct SetTarget : impl::SetTargetBase<SetTarget> {
  using SetTargetBase::SetTargetBase;

  void runOnOperation() override {
    for (PlanOp plan : getOperation().getOps<PlanOp>())
      if (failed(set(plan)))
        return signalPassFailure();
  }

  /// Keeps the number that a plan for GPUs states.
  int64_t residentOf(PlanOp plan) {
    return target == Target::Cuda && plan.getTarget()
               ? plan.getTarget()->getResident()
               : 0;
  }

  LogicalResult set(PlanOp plan) {
    if (plan.getTargetKind() == target && plan.getDType() == dtype)
      return success();
    for (StageOp stage : plan.getStages())
      if (stage.getBuffersAttr())
        return stage.emitError()
               << "stage @" << stage.getSymName() << " has the sizes of target "
               << stringifyTarget(plan.getTargetKind()) << " in "
               << stringifyDType(plan.getDType()) << ", which differ on "
               << stringifyTarget(target) << " in " << stringifyDType(dtype)
               << ": leave its buffers out";
    // fp32 on the CPU is the default of a plan without a target.
    bool isDefault = target == Target::Cpu && dtype == DType::Fp32;
    plan.setTargetAttr(isDefault ? TargetAttr()
                                 : TargetAttr::get(&getContext(), target, dtype,
                                                   residentOf(plan)));
    return success();
  }
};

} // namespace
} // namespace rondo::pipe
