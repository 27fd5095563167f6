//===- GroupMemory.cpp - Memory of a device of a layout -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/groups/GroupCosts.h"

#include <algorithm>

namespace rondo::groups {

/// Bytes that the forward of a micro-batch keeps of one layer for the backward
/// (arXiv:2205.05198, equations 2 to 6), or with all of it if not `isKept`.
double GroupCosts::activationsOfLayer(LayerKind kind, bool isKept) const {
  const auto hidden = double(model.hidden);
  const auto tensor = double(layout.tensor);
  const double kept = hidden / sequenceShare;
  // If SwiGLU is several kernels, the activation's output is kept as well.
  const double inner =
      2 * double(model.numInner()) + 2 +
      (execution.stack == Stack::Other && model.isGated ? 2 : 0);
  // Columns of the feed-forward part, of all experts of a token.
  double columns = double(model.ffn) / tensor;
  double bytes =
      (8 + (model.hasDropout ? 2 : 0)) * kept +
      2 * (headsOfDevice * double(model.queryWidth) +
           keyHeadsOfDevice * double(model.queryWidth + model.valueWidth)) +
      2 * headsOfDevice * double(model.valueWidth);
  // Norms of several kernels keep what is between them in 4 bytes.
  if (!execution.hasFusedNorms)
    bytes += 12 * kept;
  if (kind == LayerKind::Dense) {
    bytes += inner * columns;
  } else {
    const Experts &experts = *model.experts;
    columns = double(experts.ffn * experts.perToken) / tensor;
    bytes += inner * columns + 4 * hidden * double(experts.perToken) / tensor +
             inner * double(experts.ffn * experts.shared) / tensor;
  }
  if (operandBytes < 2)
    bytes -= 2 * kept + columns;
  const double scores = headsOfDevice * double(model.sequence);
  if (execution.attention == Attention::Separate)
    bytes += 9 * scores;
  else if (execution.attention == Attention::FusedSoftmax &&
           layout.recompute != Recompute::Selective)
    bytes += 5 * scores;
  if (!isKept)
    return bytes * tokens;
  const double input = 2 * kept;
  switch (layout.recompute) {
  case Recompute::None:
  case Recompute::Selective:
    break;
  case Recompute::Full:
    bytes = input;
    break;
  case Recompute::Layers:
    bytes += (input - bytes) * std::min(1.0, double(layout.recomputedLayers) /
                                                 double(model.layers));
    break;
  case Recompute::NormsAndActivations:
    bytes -= 4 * kept + 2 * columns;
    break;
  case Recompute::PerOperation:
    bytes *= 0.6;
    break;
  }
  return bytes * tokens;
}

DeviceMemory GroupCosts::memory() const {
  DeviceMemory fullest;
  for (int64_t rank = 0; rank < layout.pipeline; ++rank) {
    const DeviceMemory memory = memoryOfRank(rank);
    if (memory.total() > fullest.total())
      fullest = memory;
  }
  return fullest;
}

DeviceMemory GroupCosts::memoryOfRank(int64_t rank) const {
  const int64_t pipeline = layout.pipeline;
  const double embedding =
      double(model.vocab) * double(model.hidden) / double(layout.tensor);
  const auto shares = double(dataGroup().size),
             expertShares = double(expertDataGroup().size);
  const bool isOther = execution.stack == Stack::Other;
  const double gradient = execution.gradientBytes ? execution.gradientBytes
                          : isOther               ? 2
                                                  : 4;
  const double optimizer = 12, weight = 2;
  const bool isFsdp = execution.stack == Stack::Fsdp;
  const auto microbatches = double(layout.microbatches());

  RankLayers layers = cut()[size_t(rank)];
  if (rank == pipeline - 1)
    (model.experts ? layers.experts : layers.dense) += model.extraPredictions;
  Weights own = weightsOfRank(layers);
  if (rank == 0)
    own.shared += embedding;
  if (rank == pipeline - 1 && !(pipeline == 1 && model.isTied))
    own.shared += embedding;
  const double all = own.shared + own.experts;
  const double shared = own.shared / shares + own.experts / expertShares;
  const int64_t counts[] = {layers.dense, layers.experts};

  DeviceMemory memory;
  double largestLayer = 0, ofRecomputed = 0;
  for (LayerKind kind : {LayerKind::Dense, LayerKind::Experts}) {
    const int64_t count = counts[size_t(kind)];
    if (count == 0)
      continue;
    const LayerWeights weights = weightsOf(model, kind);
    largestLayer =
        std::max(largestLayer, double(weights.shared + weights.experts));
    const int64_t onDevice =
        std::max<int64_t>(0, count - execution.offloadedLayers);
    memory.activations +=
        double(onDevice) * activationsOfLayer(kind, /*isKept=*/true);
    if (layout.recompute == Recompute::Full ||
        layout.recompute == Recompute::Layers ||
        layout.recompute == Recompute::PerOperation)
      ofRecomputed = activationsOfLayer(kind, /*isKept=*/false);
  }
  if (layout.zero == 3)
    // Two layers are gathered at a time, in 4 bytes; with a pipeline all
    // stay.
    memory.state = (weight + 2 + optimizer) * shared +
                   4 * 2 * largestLayer / double(layout.tensor) +
                   (pipeline > 1 ? weight * all : 0);
  else if (layout.zero == 2)
    memory.state = weight * all + (gradient + optimizer) * shared;
  else
    memory.state = (weight + gradient) * all +
                   optimizer * (layout.zero == 1 ? shared : all);
  // Micro-batches in flight; several chunks hold more on the first rank.
  double held = double(pipeline - rank);
  if (rank == 0 && layout.chunks > 1)
    held += double(pipeline - 1) / double(layout.chunks);
  held = std::min(microbatches, held);
  memory.activations = memory.activations * held + ofRecomputed;
  memory.other = isOther ? 6e9 : 3e9;
  if (rank == pipeline - 1) {
    // A loss that is not parallel over the vocabulary gathers its logits.
    const double logits =
        tokens * double(model.vocab) / (isOther ? 1 : double(layout.tensor));
    memory.other += (isFsdp || isOther ? 12 : 8) * logits;
    // torch.distributed.pipelining keeps the outputs of all micro-batches.
    if (isFsdp && pipeline > 1)
      memory.other += 6 * microbatches * logits;
  }
  return memory;
}

} // namespace rondo::groups
