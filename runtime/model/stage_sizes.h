//===- stage_sizes.h - Sizes of a stage's buffers ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler plans the arena with stageBytes(); at start the runtime checks
// the sizes with the same function.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_STAGE_SIZES_H
#define RONDO_RUNTIME_MODEL_STAGE_SIZES_H

#include "kinds/Shards.h"
#include "kinds/Sums.h"
#include "runtime/model/buffers.h"
#include "runtime/model/layer_sizes.h"

#include <algorithm>
#include <cstdint>

namespace rondo::runtime {

/// Places for partial norms of layers.
inline int64_t partialsOf(const LayerDesc *layers, int64_t count) {
  int64_t sum = 0;
  for (int64_t l = 0; l < count; ++l)
    sum += rondo::partialsOfLayer(layers[l].custom.numTensors);
  return sum;
}

/// Bytes of ControlHeader (runtime/optimizer/control.h).
inline constexpr int64_t controlHeaderBytes = 64;

/// The starts of documents in a control buffer of a device that cannot read
/// the host's: numbers of 32 bits. A row of n tokens has at most n documents,
/// and one start more than documents. 0: the stage takes samples.
inline int64_t numStarts(const LayerDesc *layers, int64_t count,
                         int64_t microbatches) {
  int64_t tokens = 0;
  for (int64_t l = 0; l < count; ++l)
    if (layers[l].target != Target::Cpu && layers[l].rowTokens > tokens)
      tokens = layers[l].rowTokens;
  return tokens > 0 ? microbatches * (tokens + 1) : 0;
}

/// Bytes of a copy of the weights in the layer's dtype, of a layer or of a
/// stage; 0: there is none.
constexpr int64_t copyBytes(const LayerSizes &sizes) {
  return sizes.weights - sizes.gradients;
}

/// Bytes of each buffer of the stage that runs `layers[0..numLayers)` in order,
/// each a multiple of bufferAlignment. Saved, message and data buffers are for
/// one micro-batch. No weights are moved back; otherwise their changes have the
/// size of the gradients. R neither begins with what another R makes nor makes
/// what another begins with; otherwise that has the size of the input and the
/// output. Control holds a header, partial norms (fp64) of each layer and, if a
/// layer has a loss, one (fp32) for each of `microbatches`, the most of any
/// program, then numStarts() of them. `moments` is how many the optimizer keeps
/// of each weight (kinds/Optimizers.h); a head tied to an embedding of the
/// stage has none of its own (isTiedInStage), unless state is sharded.
///
/// A replica that keeps all weights and one of several `momentShards` has a
/// shard of each of the moments, and gradients as large as all shards, since
/// the new weights are gathered there.
///
/// A replica that keeps one of several `shards` has a shard of the weights, the
/// gradients and each of the moments, as elements of fp32, and gathers as much
/// as all shards are. Where tasks read a copy of the weights in another dtype,
/// a replica makes it of what it has gathered; it follows that, layer by layer.
inline void stageBytes(const LayerDesc *layers, int numLayers,
                       int64_t microbatches, int64_t bytes[numBuffers],
                       int64_t shards = 1, int32_t moments = 2,
                       int64_t momentShards = 1) {
  auto at = [&](Buffer buffer) -> int64_t & {
    return bytes[static_cast<int>(buffer)];
  };
  const LayerSizes sizes = stageSizes(layers, numLayers);
  at(Buffer::Weights) = alignedBytes(sizes.weights);
  at(Buffer::Gradients) = alignedBytes(sizes.gradients);
  at(Buffer::GatheredWeights) = at(Buffer::UnreducedGradients) = 0;
  auto shardBytes = [&](int64_t number) {
    constexpr int64_t each = sizeof(float);
    return alignedBytes(each *
                        elementsOfShard(at(Buffer::Gradients) / each, number));
  };
  if (shards > 1) {
    at(Buffer::Weights) = at(Buffer::Gradients) = shardBytes(shards);
    at(Buffer::UnreducedGradients) = shards * at(Buffer::Gradients);
    at(Buffer::GatheredWeights) =
        at(Buffer::UnreducedGradients) + copyBytes(sizes);
  }
  int64_t each = at(Buffer::Gradients);
  if (momentShards > 1) {
    each = shardBytes(momentShards);
    at(Buffer::Gradients) = momentShards * each;
  } else if (shards <= 1) {
    each = 0;
    for (int l = 0; l < numLayers; ++l)
      each += momentBytes(layers, numLayers, l);
    each = alignedBytes(each);
  }
  at(Buffer::Moments) = moments * each;
  at(Buffer::WeightChanges) = 0;
  at(Buffer::RecomputedInput) = at(Buffer::RecomputedOutput) = 0;
  at(Buffer::Data) = alignedBytes(sizes.data);
  at(Buffer::Workspace) = alignedBytes(sizes.workspace);
  at(Buffer::Input) = alignedBytes(sizes.input);
  at(Buffer::InputGrad) = alignedBytes(inputGradBytes(layers[0]));
  at(Buffer::Output) = alignedBytes(sizes.output);
  at(Buffer::OutputGrad) = alignedBytes(outputGradBytes(layers[numLayers - 1]));
  at(Buffer::SavedForInputGrad) = alignedBytes(sizes.savedForInputGrad);
  at(Buffer::SavedForWeightGrad) = alignedBytes(sizes.savedForWeightGrad);
  at(Buffer::KeptForWeightGrad) = alignedBytes(sizes.keptForWeightGrad);
  const RecomputedSizes again = recomputedSizes(layers, numLayers);
  at(Buffer::Checkpoints) =
      alignedBytes(checkpointBytes(layers, numLayers, /*leave=*/false));
  at(Buffer::RecomputedForInputGrad) = alignedBytes(again.forInputGrad);
  at(Buffer::RecomputedForWeightGrad) = alignedBytes(again.forWeightGrad);
  const OffloadedSizes away = offloadedSizes(layers, numLayers);
  at(Buffer::OffloadedForInputGrad) = at(Buffer::LoadedForInputGrad) =
      alignedBytes(away.forInputGrad);
  at(Buffer::OffloadedForWeightGrad) = at(Buffer::LoadedForWeightGrad) =
      alignedBytes(away.forWeightGrad);
  at(Buffer::OnHost) =
      alignedBytes(away.forInputGrad) + alignedBytes(away.forWeightGrad);
  const bool writesLoss = std::any_of(layers, layers + numLayers, hasLoss);
  at(Buffer::Control) =
      controlHeaderBytes + alignedBytes(8 * partialsOf(layers, numLayers)) +
      alignedBytes(writesLoss ? 4 * microbatches : 0) +
      alignedBytes(int64_t(sizeof(int32_t)) *
                   numStarts(layers, numLayers, microbatches));
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_STAGE_SIZES_H
