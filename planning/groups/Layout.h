//===- Layout.h - A model's layout on groups of devices ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank of a pipeline may stand for a group of devices, which share the work
// of its stages by tensor, context and expert parallelism. What they do inside
// is a cost for Rondo: nothing here is compiled.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_GROUPS_LAYOUT_H
#define RONDO_PLANNING_GROUPS_LAYOUT_H

#include "planning/groups/Transformer.h"

#include <string>

namespace rondo::groups {

enum class Recompute : uint8_t {
  None,
  /// The core of attention, which nothing is kept of with FlashAttention.
  Selective,
  Full,
  /// All of `recomputedLayers` of the model, an equal part on each rank.
  Layers,
  /// Norms and activation functions.
  NormsAndActivations,
  /// torchtitan's choice by operation: every other product, and what is
  /// between.
  PerOperation,
};

enum class Attention : uint8_t {
  Flash,
  /// Scores are written; their softmax is one kernel.
  FusedSoftmax,
  /// Scores are written; scaling, mask and softmax are kernels of their own.
  Separate,
};

enum class Precision : uint8_t { Bf16, Fp16, Fp8, Fp8Blocks, MxFp8, NvFp4 };

/// The code that runs the model; its launches and kernels differ.
enum class Stack : uint8_t {
  Megatron2021,
  MegatronCore,
  Fsdp,
  Nanotron,
  Other
};

/// Degrees of parallelism. Ranks count tensor parallelism first, then context,
/// data (experts within it) and the pipeline, as in Megatron.
struct Layout {
  int64_t tensor = 1;
  int64_t context = 1;
  int64_t expert = 1;
  int64_t pipeline = 1;
  /// Stages of a rank of the pipeline.
  int64_t chunks = 1;
  int64_t data = 1;
  /// Samples of a micro-batch, and of an iteration.
  int64_t microbatch = 1;
  int64_t globalBatch = 1;
  /// The state that replicas share: 0 nothing, 1 the optimizer's, 2 gradients
  /// as well, 3 weights as well (ZeRO, arXiv:1910.02054).
  int zero = 1;
  Recompute recompute = Recompute::None;
  int64_t recomputedLayers = 0;
  bool sequenceParallel = false;
  /// Layers are cut where the slowest rank is fastest, rather than evenly.
  bool isBalanced = false;

  int64_t devices() const { return tensor * context * pipeline * data; }
  /// Micro-batches of a replica, at least 1.
  int64_t microbatches() const;
  /// `tp 4, cp 2, pp 4 x 5, dp 4, ...`; degrees of 1 are left out.
  std::string text() const;
};

/// The choices of a stack that runs a layout.
struct Execution {
  Stack stack = Stack::MegatronCore;
  Precision precision = Precision::Bf16;
  Attention attention = Attention::Flash;
  /// The version of FlashAttention.
  int flashVersion = 3;
  bool hasFusedNorms = true;
  /// Whether tensor-parallel messages overlap products, sums of gradients the
  /// last backward, and messages to experts another micro-batch.
  bool overlapsTensor = false;
  bool overlapsData = true;
  bool overlapsExperts = false;
  /// The bytes of a gradient that is summed; 0: the stack's default.
  int gradientBytes = 0;
  /// The year of the stack's release: layers with experts became faster.
  int release = 2026;
  /// Layers of a rank whose activations leave the device.
  int64_t offloadedLayers = 0;
};

/// The choices without overlap of messages that the layout does not have:
/// tensor groups of one device, or experts without a group or another
/// micro-batch at work.
Execution effective(Execution execution, const Layout &layout);

/// Why no stack runs the layout, with the numbers and the rule; empty if it can
/// be run. The rules are those that Megatron Core 0.19 and torchtitan 0.3
/// share.
std::string fault(const Transformer &model, const Layout &layout);

/// The layers of each rank of the pipeline, by kind; in order. Evenly, or
/// with embedding and head as a layer each if only that divides.
struct RankLayers {
  int64_t dense = 0;
  int64_t experts = 0;
};
std::vector<RankLayers> layersOfRanks(const Transformer &model,
                                      const Layout &layout);

} // namespace rondo::groups

#endif // RONDO_PLANNING_GROUPS_LAYOUT_H
