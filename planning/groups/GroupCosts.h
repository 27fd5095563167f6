//===- GroupCosts.h - Time and memory of a layout ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time and memory of a layer and of an iteration on groups of devices.
// Times are seconds, of one micro-batch unless stated. Everything follows from
// sizes, data sheets and Constants; nothing is measured here. docs/groups.md
// has the formulas, their sources, and how far they are from published runs.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_GROUPS_GROUPCOSTS_H
#define RONDO_PLANNING_GROUPS_GROUPCOSTS_H

#include "planning/groups/Constants.h"

namespace rondo::groups {

/// One layer on one device. Messages are their visible parts.
struct LayerTime {
  double forward = 0;
  /// Input and weight gradients.
  double backward = 0;
  /// The part of the backward that makes weight gradients.
  double weightGrad = 0;
  /// The time of recomputation, which is part of the backward.
  double recompute = 0;
  double tensorForward = 0, tensorBackward = 0;
  double contextForward = 0, contextBackward = 0;
  /// To experts and back; the backward has as much.
  double expertMessages = 0;
  /// Gathers of weights and sums of gradients in each micro-batch.
  double shardMessages = 0;

  double allForward() const {
    return forward + tensorForward + contextForward + expertMessages;
  }
  double allBackward() const {
    return backward + recompute + tensorBackward + contextBackward +
           expertMessages;
  }
  double total() const { return allForward() + allBackward() + shardMessages; }
};

/// An iteration and its parts, on the rank that decides. `work` is forward and
/// backward; all parts but `imbalance`, which is inside of it, add up to
/// `total`.
struct IterationTime {
  double total = 0;
  double work = 0, recompute = 0, tensor = 0, context = 0, expert = 0;
  double bubble = 0, imbalance = 0, stageMessages = 0, dataParallel = 0;
  double optimizer = 0;
};

/// One micro-batch of a stage, with messages inside its group. Recomputation is
/// part of the input gradient.
struct StageCosts {
  double forward = 0, inputGrad = 0, weightGrad = 0;
  /// Bytes of a device that the forward keeps for the backward.
  double activations = 0;
};

/// Bytes of a device.
struct DeviceMemory {
  double state = 0, activations = 0, other = 0;
  double total() const { return state + activations + other; }
};

/// Costs of one layout; the layout must have no fault(), and fill the machines.
/// Listed layers of stages take the place of the layout's own cut.
class GroupCosts {
public:
  GroupCosts(const Transformer &model, const Machines &machines,
             const Layout &layout, const Execution &execution,
             const Constants &constants,
             const std::vector<int64_t> &stageLayers = {});

  const LayerTime &layerTime(LayerKind kind) const {
    return times[size_t(kind)];
  }
  IterationTime iterationTime() const;
  /// Layers of each stage, in the order of the model; stage s is on rank
  /// s % pipeline.
  std::vector<int64_t> stageLayers() const;
  /// Floating-point operations a second that large products reach.
  double flopsPerSecond() const { return productRate; }
  /// Bytes of the fullest device.
  DeviceMemory memory() const;
  /// Bytes of a device of this rank of the pipeline.
  DeviceMemory memoryOfRank(int64_t rank) const;
  /// [stage], in the order of the model; without the costs that occur once an
  /// iteration.
  std::vector<StageCosts> stageCosts() const;
  /// Bytes of a device's message to the next stage.
  double messageBytes() const;
  /// Bytes a second of such a message, after messageLatency().
  double messageRate() const;
  double messageLatency() const { return constants.messageLatency; }

private:
  /// Without messages of shared weights.
  LayerTime timeOfLayer(LayerKind kind) const;
  /// Elements of the weights of one device.
  struct Weights {
    double shared = 0;
    double experts = 0;
  };
  /// Microseconds.
  static constexpr double perSecond = 1e6;
  /// A group of `size` devices whose ranks are `stride` apart.
  struct Group {
    int64_t size = 1;
    int64_t stride = 1;
  };

  double rateOf(Group group) const;
  double gatherTime(double bytes, Group group) const;
  double neighbourTime(double bytes, Group group) const;
  double productTime(double rows, double inner, double columns,
                     double share = 1) const;
  double trafficTime(double bytes) const;

  double attentionProducts() const;
  double expertProducts() const;
  double expertMessages() const;
  double attentionBytes() const;
  double feedForwardBytes(LayerKind kind) const;
  void addTensorMessages(LayerTime &time, LayerKind kind) const;
  void addContextMessages(LayerTime &time, double core, double coreGrad) const;
  double recomputeTime(const LayerTime &time, double products, double elements,
                       double core) const;
  double shardMessages(const LayerTime &time, LayerKind kind) const;

  double headTime() const;
  double embeddingTime() const;
  std::vector<RankLayers> cut() const;
  double gradientSums(double longest, const Weights &weights) const;
  Weights weightsOfRank(const RankLayers &layers) const;
  double activationsOfLayer(LayerKind kind, bool isKept) const;
  Group stageGroup() const {
    return {layout.pipeline, layout.tensor * layout.context * layout.data};
  }
  bool sharesWeights() const;
  Group dataGroup() const;
  Group expertDataGroup() const;

  const Transformer &model;
  const Machines &machines;
  const Layout &layout;
  const Execution &execution;
  const Constants &constants;
  /// The layers of each stage; empty: as the layout says.
  const std::vector<int64_t> listed;

  /// Operations a second of products and of attention.
  double productRate = 0, attentionRate = 0;
  double linkRate = 0, networkRate = 0, memoryRate = 0;
  double launchTime = 0;
  int64_t gradientBytes = 4;
  /// Bytes of a product's operand.
  double operandBytes = 2;
  /// Tokens of a device's part of a micro-batch.
  double tokens = 0;
  /// Devices that share what is between products.
  double sequenceShare = 1;
  double headsOfDevice = 0, keyHeadsOfDevice = 0;
  /// Times of a layer of each kind that the model has, by LayerKind.
  LayerTime times[2];
};

} // namespace rondo::groups

#endif // RONDO_PLANNING_GROUPS_GROUPCOSTS_H
