//===- share.h - A layer for some of the samples ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler plans buffers for the layers of a replica with shareOf(); at
// start the runtime makes its own with the same function.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_MODEL_SHARE_H
#define RONDO_RUNTIME_MODEL_SHARE_H

#include "kinds/Shares.h"
#include "runtime/model/gpt_sizes.h"

namespace rondo::runtime {

/// Consecutive samples of each micro-batch.
struct Samples {
  int32_t first = 0, count = 1;
};

/// Puts the sizes, which are number `place` of those that a custom layer
/// states, in place of those that it has. Without `hasOutput` no layer takes
/// its output, which then has no bytes.
inline void setSizes(LayerDesc &layer, const CustomSizes &sizes, int64_t place,
                     bool hasOutput) {
  for (int32_t k = 0; k < layer.custom.numParts; ++k) {
    SavedPart &part = layer.custom.parts[k];
    part.bytes = part.bytesBySize[part.numBytes == 1 ? 0 : place];
  }
  layer.activationBytes = sizes.savedForInputGrad + sizes.savedForWeightGrad;
  layer.inputGradFreesBytes = sizes.savedForInputGrad;
  layer.inputGradKeepsBytes = sizes.keptForWeightGrad;
  layer.outputBytes = hasOutput ? sizes.output : 0;
  layer.custom.outputWithoutGradBytes = hasOutput ? sizes.outputWithoutGrad : 0;
  layer.custom.workspaceBytes = sizes.workspace;
  layer.custom.backwardWorkspaceBytes = sizes.backwardWorkspace;
  layer.custom.flops = sizes.flops;
}

/// The sizes that a custom layer states for this number of samples; null if it
/// states none.
inline const CustomSizes *sizesFor(const LayerDesc &layer, int32_t samples) {
  for (int32_t k = 0; k < layer.custom.numSizes; ++k)
    if (layer.custom.sizes[k].samples == samples)
      return &layer.custom.sizes[k];
  return nullptr;
}

/// `layer`, which is for `all` samples, for some of them. Times of timed layers
/// are in proportion, rounded up. A custom layer states its sizes for this
/// number of samples, and the layers that feed it have the samples one after
/// another in their outputs.
inline LayerDesc shareOf(const LayerDesc &layer, Samples samples, int32_t all) {
  LayerDesc share = layer;
  if (samples.count == all)
    return share;
  share.batch = static_cast<int32_t>(partOf(layer.batch, samples.count, all));
  auto time = [&](int64_t ns) { return partOfUp(ns, samples.count, all); };
  auto bytes = [&](int64_t figure) {
    return partBetween(figure, samples.first, samples.first + samples.count,
                       all);
  };
  share.forwardNs = time(layer.forwardNs);
  share.inputGradNs = time(layer.inputGradNs);
  share.weightGradNs = time(layer.weightGradNs);
  share.activationBytes = bytes(layer.activationBytes);
  share.inputGradFreesBytes = bytes(layer.inputGradFreesBytes);
  if (share.inputGradFreesBytes > share.activationBytes)
    share.inputGradFreesBytes = share.activationBytes;
  share.inputGradKeepsBytes = bytes(layer.inputGradKeepsBytes);
  share.outputBytes = bytes(layer.outputBytes);
  // Layers of an architecture round up their outputs.
  const int64_t rounded = layer.kind == LayerKind::Custom && layer.hidden > 0
                              ? gptActivationBuffer(layer)
                              : -1;
  for (int32_t i = 0; i < layer.numInputs; ++i)
    share.inputBytes[i] = layer.inputBytes[i] == rounded
                              ? gptActivationBuffer(share)
                              : bytes(layer.inputBytes[i]);
  share.custom.firstSample = samples.first;
  if (const CustomSizes *sizes = sizesFor(layer, samples.count))
    setSizes(share, *sizes, sizes - layer.custom.sizes, layer.outputBytes > 0);
  return share;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_SHARE_H
