//===- ChooseCandidates.cpp - What an adaptive executable runs ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Passes.h"
#include "plans/AdaptiveSchedules.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_CHOOSECANDIDATES
#include "passes/Passes.h.inc"

namespace {

struct ChooseCandidates : impl::ChooseCandidatesBase<ChooseCandidates> {
  explicit ChooseCandidates(const RunControl *control = nullptr)
      : interrupt(control ? control->interrupt : nullptr) {}

  void runOnOperation() override {
    for (ExecutableOp executable : getOperation().getOps<ExecutableOp>())
      if (executable.getAdaptiveAttr() &&
          executable.getSchedules().size() == 1 &&
          failed(chooseCandidates(executable, interrupt)))
        return signalPassFailure();
  }

  const std::atomic<bool> *interrupt;
};

} // namespace

std::unique_ptr<Pass> createChooseCandidates(const RunControl *control) {
  return std::make_unique<ChooseCandidates>(control);
}

} // namespace rondo::pipe
