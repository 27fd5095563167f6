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
#include "runtime/model/layer.h"

namespace rondo::runtime {

/// Consecutive samples of each micro-batch.
struct Samples {
  int32_t first = 0, count = 1;
};

/// `layer`, which is for `all` samples, for some of them. Times of timed layers
/// are in proportion, rounded up.
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
  for (int32_t i = 0; i < layer.numInputs; ++i)
    share.inputBytes[i] = bytes(layer.inputBytes[i]);
  return share;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_SHARE_H
