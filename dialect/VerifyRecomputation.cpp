//===- VerifyRecomputation.cpp - What `recompute across` asks for ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/SourceRules.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace rondo::pipe;

/// Whether R of the stage runs all of its layers.
static bool recomputesAll(StageOp stage) {
  return stage.getRecomputeAttr() &&
         llvm::all_of(stage.getLayers(), [&](Attribute name) {
           return stage.recomputes(cast<FlatSymbolRefAttr>(name).getAttr());
         });
}

LogicalResult rondo::pipe::verifyRecomputation(PlanOp plan) {
  SmallVector<StageOp, 0> stages = plan.getStages();
  if (llvm::none_of(stages, [](StageOp stage) { return stage.getAcross(); }))
    return success();
  for (auto [stage, inputs] : llvm::zip_equal(stages, plan.getInputs())) {
    if (!stage.getAcross())
      continue;
    if (inputs.empty())
      return stage.emitError()
             << "stage @" << stage.getSymName()
             << " recomputes across stages, but no stage feeds it; write "
                "recompute alone";
    auto isWide = [](StageOp of) { return of.getRanks().size() > 1; };
    for (int32_t input : inputs) {
      StageOp feeder = stages[input];
      if (!recomputesAll(feeder)) {
        InFlightDiagnostic error =
            stage.emitError()
            << "stage @" << stage.getSymName()
            << " recomputes from what stage @" << feeder.getSymName()
            << " recomputes, but @" << feeder.getSymName()
            << (feeder.getRecomputeAttr() ? " recomputes some of its layers"
                                          : " keeps its activations")
            << "; write recompute after the ranks of @" << feeder.getSymName()
            << ", without a list of layers";
        error.attachNote(feeder.getLoc())
            << "stage @" << feeder.getSymName() << " is here";
        return error;
      }
      if (!isWide(stage) && !isWide(feeder))
        continue;
      StageOp wide = isWide(stage) ? stage : feeder;
      InFlightDiagnostic error =
          stage.emitError()
          << "stage @" << stage.getSymName() << " recomputes from what stage @"
          << feeder.getSymName()
          << " recomputes, which takes stages on one rank each; @"
          << wide.getSymName() << " is on " << wide.getRanks().size()
          << " ranks; leave out across, so that @" << stage.getSymName()
          << " keeps its input, or put @" << wide.getSymName()
          << " on one rank";
      error.attachNote(wide.getLoc())
          << "stage @" << wide.getSymName() << " is here";
      return error;
    }
  }
  return success();
}
