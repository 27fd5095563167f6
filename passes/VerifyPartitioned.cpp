//===- VerifyPartitioned.cpp - Rules P1 and P3 to P5 ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "passes/Passes.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_VERIFYPARTITIONED
#include "passes/Passes.h.inc"

namespace {

/// P1: every layer in exactly one stage, stages in model order.
LogicalResult verifyLayers(PlanOp plan) {
  ModelOp model = plan.lookupModel();
  SmallVector<LayerOp> layers = model.getLayers();
  size_t next = 0;
  llvm::StringMap<StageOp> placed;
  for (StageOp stage : plan.getStages())
    for (FlatSymbolRefAttr name :
         stage.getLayers().getAsRange<FlatSymbolRefAttr>()) {
      auto [it, isNew] = placed.try_emplace(name.getValue(), stage);
      if (!isNew) {
        InFlightDiagnostic error =
            stage.emitError() << "layer " << name << " is in two stages [P1]";
        error.attachNote(it->second.getLoc()) << "it is here as well";
        return error;
      }
      if (next < layers.size() &&
          layers[next].getSymName() == name.getValue()) {
        ++next;
        continue;
      }
      InFlightDiagnostic error = stage.emitError()
                                 << "layer " << name << " comes where ";
      if (next < layers.size())
        error << "@" << layers[next].getSymName();
      else
        error << "no more layer";
      error << " is due: stages are consecutive pieces in model order [P1]";
      error.attachNote(model.getLoc()) << "this is the model";
      return error;
    }
  if (next == layers.size())
    return success();
  InFlightDiagnostic error = plan.emitError()
                             << "layer @" << layers[next].getSymName()
                             << " is in no stage [P1]";
  error.attachNote(layers[next].getLoc()) << "this is the layer";
  return error;
}

/// P4: only a loss, or a layer that computes nothing, may end the graph. Takes
/// plans for which P1 holds.
LogicalResult verifyEnds(PlanOp plan) {
  llvm::StringMap<LayerOp> layers;
  for (LayerOp layer : plan.lookupModel().getLayers())
    layers[layer.getSymName()] = layer;
  SmallVector<StageOp, 0> stages = plan.getStages();
  std::vector<bool> isTaken(stages.size());
  for (const std::vector<int32_t> &inputs : plan.getInputs())
    for (int32_t input : inputs)
      isTaken[input] = true;
  for (auto [s, stage] : llvm::enumerate(stages)) {
    LayerOp last = layers.lookup(
        cast<FlatSymbolRefAttr>(*std::prev(stage.getLayers().end()))
            .getValue());
    if (isTaken[s] || last.hasLoss() || last.getSyntheticAttr())
      continue;
    InFlightDiagnostic error = stage.emitError()
                               << "stage @" << stage.getSymName()
                               << " feeds no other stage, but its last layer @"
                               << last.getSymName() << " writes no loss [P4]";
    Diagnostic &note = error.attachNote(last.getLoc())
                       << "layer @" << last.getSymName() << " is here";
    if (s + 1 == stages.size())
      note << "; if its body writes the loss, add loss = true";
    else
      note << "; a later stage takes its output with from [@"
           << stage.getSymName() << "]";
    return error;
  }
  return success();
}

/// P5: where stages are sharded, some stage has state.
LogicalResult verifyShardedState(PlanOp plan) {
  for (StageOp stage : plan.getStages())
    if (stage.getSharded() && !declaresWeights(plan))
      return stage.emitError()
             << "stage @" << stage.getSymName()
             << " is sharded, but no layer of the plan has weights; state the "
                "weight_bytes of its layers, or leave `sharded` out [P5]";
  return success();
}

struct VerifyPartitioned : impl::VerifyPartitionedBase<VerifyPartitioned> {
  void runOnOperation() override {
    // P2 is local: the plan's verifier has checked it. P3 is what building the
    // problem checks.
    for (PlanOp plan : getOperation().getOps<PlanOp>())
      if (failed(verifyLayers(plan)) || failed(verifyEnds(plan)) ||
          failed(buildProblem(plan)) || failed(verifyShardedState(plan)))
        signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace rondo::pipe
