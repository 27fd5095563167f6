//===- Layers.h - Layers and stages as the runtime knows them ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_LAYERS_H
#define RONDO_PASSES_LAYERS_H

#include "dialect/Pipe.h"
#include "kinds/Optimizers.h"
#include "planning/adaptive/CostSource.h"
#include "runtime/model/executable.h"

#include <string>
#include <vector>

namespace rondo::pipe {

/// Most ns of a layer's task, so that sums over 2^15 layers fit 64 bits.
inline constexpr int64_t maxLayerNs = int64_t(1) << 46;

/// The layers of a plan's model, in model order, as the executable describes
/// them. Names point into the module.
std::vector<runtime::LayerDesc> describeLayers(PlanOp plan);

/// Device memory that a rank takes at most for attention beside its arena,
/// bytes (runtime/model/attention_memory.h).
int64_t attentionMemoryBytes(PlanOp plan);

/// Fails with an error where sizes are so large that the sums of a stage could
/// leave 64 bits; the runtime's size functions rely on that. `plan` is one of
/// the model, or null: then micro-batches are those that the model states.
mlir::LogicalResult checkLayerSizes(ModelOp model, PlanOp plan = nullptr);

/// Fails with an error where the bodies of the plan's target do not take its
/// model.
mlir::LogicalResult checkTarget(PlanOp plan);

/// The place of a stage's first layer in its model; its layers are consecutive
/// from there (rule P1).
int64_t firstLayerOf(StageOp stage, ModelOp model);

/// Moments of each weight that the plan's memory has room for.
inline int32_t momentsOf(PlanOp plan) {
  return rondo::traitsOf(
             static_cast<rondo::PlannedOptimizer>(plan.getOptimizer()))
      .moments;
}

/// What the stages of a plan need by their layers: sizes from the runtime's own
/// functions, times from measurements or from floating-point operations. Reads
/// the model and the cluster once; both must stay as they are meanwhile.
class StageFigures {
public:
  explicit StageFigures(PlanOp plan);

  /// O(layers of the stage).
  StageCostsAttr costs(StageOp stage) const;
  /// Where the times in costs() come from.
  CostSources sources(StageOp stage) const;
  /// By replica.
  llvm::SmallVector<BuffersAttr, 1> buffers(StageOp stage) const;

private:
  /// Of a micro-batch's samples, what a task of the stage has at most.
  int64_t largestShareOf(StageOp stage) const;
  /// The places of the stage's layers in the model, in its own order.
  std::vector<unsigned> placesOf(StageOp stage) const;

  int64_t microbatches;
  /// Of each weight.
  int32_t moments;
  int32_t samples;
  /// By place in the model.
  std::vector<runtime::LayerDesc> layers;
  llvm::SmallVector<LayerOp, 0> ops;
  llvm::DenseMap<mlir::StringAttr, unsigned> places;
  /// Stages whose R makes what R of others begins with.
  llvm::DenseSet<mlir::StringAttr> readAgain;
  /// By rank.
  std::vector<int64_t> flopsPerUs;
};

/// What one layer adds to the stage of a rank that holds it.
struct LayerLoad {
  /// F, I and W of one micro-batch.
  int64_t workNs = 0;
  /// Weights, gradients and moments.
  int64_t stateBytes = 0;
  /// Of one micro-batch.
  int64_t activationBytes = 0;
};
/// In model order. Stage costs are the sums of it.
std::vector<LayerLoad> layerLoads(PlanOp plan, int64_t rank);

/// What one layer needs, by the runtime's own functions, for one micro-batch.
struct LayerFigures {
  /// Values of its weights; those that it shares count in the first layer that
  /// has them.
  int64_t parameters = 0;
  int64_t forwardFlops = 0, inputGradFlops = 0, weightGradFlops = 0;
  /// Saved by F: until I, and until W.
  int64_t heldToInputGrad = 0, heldToWeightGrad = 0;
  /// The message to the next layer, if that is on another rank.
  int64_t outputBytes = 0;
  /// Weights, gradients and moments; and gradients alone.
  int64_t stateBytes = 0, gradientBytes = 0;
  /// Times on one rank: measured ones that the layer states, or those of its
  /// operations at the device's speed.
  int64_t forwardNs = 0, inputGradNs = 0, weightGradNs = 0;
};
/// In model order, with times on `rank`.
std::vector<LayerFigures> layerFigures(PlanOp plan, int64_t rank = 0);

/// Operations a microsecond of each rank's device, its own figure or what is
/// usual for the plan's target.
std::vector<int64_t> flopsPerUsOf(PlanOp plan);

} // namespace rondo::pipe

#endif // RONDO_PASSES_LAYERS_H
