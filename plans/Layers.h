//===- Layers.h - Layers and stages as the runtime knows them ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANS_LAYERS_H
#define RONDO_PLANS_LAYERS_H

#include "dialect/Pipe.h"
#include "kinds/AffineCost.h"
#include "kinds/Optimizers.h"
#include "planning/adaptive/CostSource.h"
#include "runtime/model/executable.h"
#include "schedule/model/Fault.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::pipe {

/// Most ns of a layer's task, so that sums over 2^15 layers fit 64 bits.
inline constexpr int64_t maxLayerNs = int64_t(1) << 46;

/// The layers of a plan's model, in model order, as the executable describes
/// them. Names point into the module. If micro-batches differ, those of the
/// largest.
std::vector<runtime::LayerDesc> describeLayers(PlanOp plan);
/// The same for a micro-batch.
std::vector<runtime::LayerDesc> describeLayers(PlanOp plan, int64_t microbatch);

/// Most bytes of device memory that a rank takes for attention in addition to
/// its arena (runtime/model/llama_sizes.h).
int64_t attentionMemoryBytes(PlanOp plan);

/// A size with which the sums of a stage could exceed 64 bits, and the op that
/// states it.
struct UnsoundSize {
  mlir::Operation *op = nullptr;
  Fault fault;
};
/// Finds the first such size of a model, or none; the runtime's size functions
/// need it. `plan` is one of the model, or null: then micro-batches are those
/// that the model states.
std::optional<UnsoundSize> findUnsoundSize(ModelOp model,
                                           PlanOp plan = nullptr);
/// The same as an error.
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

/// Costs and buffers of the stages of a plan by their layers: sizes from the
/// runtime's own functions, times from measurements or from floating-point
/// operations. Reads the model and the cluster once; neither may change while
/// it is used.
class StageFigures {
public:
  explicit StageFigures(PlanOp plan);

  /// O(layers of the stage) for each micro-batch that differs.
  StageCostsAttr costs(StageOp stage) const;
  /// The times of F, I, W and R on any row of documents, in this order, scaled
  /// to the times that the stage states. Preconditions: the plan states limits
  /// of batches, and its stages have costs.
  std::vector<AffineCost> rowCosts(StageOp stage) const;
  /// The sources of the times in costs().
  CostSources sources(StageOp stage) const;
  /// [replica]; if micro-batches differ in them, [micro-batch].
  llvm::SmallVector<BuffersAttr, 1> buffers(StageOp stage) const;

private:
  StageCosts costs(StageOp stage, int64_t microbatch) const;
  llvm::SmallVector<BuffersAttr, 1>
  buffers(StageOp stage, const std::vector<runtime::LayerDesc> &layers) const;
  /// The most samples of a micro-batch that a task of the stage takes.
  int64_t largestShareOf(StageOp stage) const;
  /// The places of the stage's layers in the model, in its own order.
  std::vector<unsigned> placesOf(StageOp stage) const;

  int64_t microbatches;
  /// Moments of each weight.
  int32_t moments;
  int32_t samples;
  /// [micro-batch][place in the model]; one entry if micro-batches are equal.
  std::vector<std::vector<runtime::LayerDesc>> layersOf;
  /// [micro-batch]: lengths of its documents; empty if it has samples.
  std::vector<llvm::ArrayRef<int64_t>> documents;
  llvm::SmallVector<LayerOp, 0> ops;
  llvm::DenseMap<mlir::StringAttr, unsigned> places;
  /// Stages whose R makes what R of others begins with.
  llvm::DenseSet<mlir::StringAttr> readAgain;
  /// [rank]
  std::vector<int64_t> flopsPerUs;
};

/// The time and memory that one layer adds to a stage.
struct LayerLoad {
  /// F, I and W of one micro-batch, and F alone.
  int64_t workNs = 0, forwardNs = 0;
  /// Weights, gradients and moments.
  int64_t stateBytes = 0;
  /// For one micro-batch.
  int64_t activationBytes = 0;
};
/// Returns the loads in model order. Stage costs are their sums.
std::vector<LayerLoad> layerLoads(PlanOp plan, int64_t rank);

/// Sizes and times of one layer for one micro-batch, by the runtime's
/// functions.
struct LayerFigures {
  /// Values of its weights; those that it shares count in the first layer that
  /// has them.
  int64_t parameters = 0;
  int64_t forwardFlops = 0, inputGradFlops = 0, weightGradFlops = 0;
  /// Saved by F: until I, and until W.
  int64_t heldToInputGrad = 0, heldToWeightGrad = 0;
  /// Made by I, and held until W.
  int64_t keptByInputGrad = 0;
  /// The message to the next layer, if that is on another rank.
  int64_t outputBytes = 0;
  /// Weights, gradients and moments; and gradients alone.
  int64_t stateBytes = 0, gradientBytes = 0;
  /// Times on one rank: measured ones that the layer states, or those of its
  /// operations at the device's speed.
  int64_t forwardNs = 0, inputGradNs = 0, weightGradNs = 0;
};
/// Returns the figures in model order, with times on `rank`.
std::vector<LayerFigures> layerFigures(PlanOp plan, int64_t rank = 0);

/// Operations a microsecond of each rank's device, its own figure or what is
/// usual for the plan's target.
std::vector<int64_t> flopsPerUsOf(PlanOp plan);

} // namespace rondo::pipe

#endif // RONDO_PLANS_LAYERS_H
