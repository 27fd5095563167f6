//===- IterationTime.cpp - Time of an iteration of a layout ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/groups/GroupCosts.h"

#include <algorithm>
#include <numeric>

namespace rondo::groups {

/// Elements of the weights of one device.
struct GroupCosts::Weights {
  double shared = 0;
  double experts = 0;
};

GroupCosts::Weights GroupCosts::weightsOfRank(const RankLayers &layers) const {
  Weights sum;
  const int64_t counts[] = {layers.dense, layers.experts};
  for (LayerKind kind : {LayerKind::Dense, LayerKind::Experts}) {
    const auto count = double(counts[size_t(kind)]);
    if (count == 0)
      continue;
    const LayerWeights weights = weightsOf(model, kind);
    sum.shared += count * double(weights.shared) / double(layout.tensor);
    sum.experts += count * double(weights.experts) /
                   double(layout.expert > 1 ? layout.expert : layout.tensor);
  }
  return sum;
}

/// Weights are gathered for each micro-batch, or gradients summed.
bool GroupCosts::sharesWeights() const {
  return layout.pipeline == 1 &&
         (layout.zero == 3 ||
          (layout.zero == 2 && execution.stack == Stack::Fsdp));
}

GroupCosts::Group GroupCosts::dataGroup() const {
  return {layout.data * layout.context, layout.tensor};
}

/// Devices with the same experts.
GroupCosts::Group GroupCosts::expertDataGroup() const {
  if (layout.expert == 1)
    return dataGroup();
  return {std::max<int64_t>(1, layout.data * layout.context * layout.tensor /
                                   layout.expert),
          layout.expert};
}

/// The visible part of gathers of a layer's weights and of sums of its
/// gradients; the layer's own work hides the rest.
double GroupCosts::shardMessages(const LayerTime &time, LayerKind kind) const {
  const LayerWeights weights = weightsOf(model, kind);
  double gather = gatherTime(2 * double(weights.shared) / double(layout.tensor),
                             dataGroup());
  if (weights.experts > 0)
    gather += gatherTime(
        2 * double(weights.experts) /
            double(layout.expert > 1 ? layout.expert : layout.tensor),
        expertDataGroup());
  const double reduce = gather * double(gradientBytes) / 2;
  const double least = constants.visibleSums;
  const double forward = std::max(least * gather, gather - time.allForward());
  if (layout.zero == 3)
    return forward + std::max(least * (gather + reduce),
                              gather + reduce - time.allBackward());
  return forward / double(layout.microbatches()) +
         std::max(least * reduce, reduce - time.allBackward());
}

/// Products with the vocabulary, which stay in bf16, and the loss.
double GroupCosts::headTime() const {
  const double columns = double(model.vocab) / double(layout.tensor);
  const double bf16Rate =
      double(machines.device.flopsPerUs[0]) * perSecond *
      constants.products[size_t(machines.device.generation)][0];
  double time = 3 * productTime(tokens, double(model.hidden), columns) *
                    (operandBytes < 2 ? productRate / bf16Rate : 1) +
                trafficTime(16 * tokens * columns);
  time *= 1 + double(model.extraPredictions);
  if (layout.tensor > 1)
    time +=
        2 * gatherTime(tokens * double(model.hidden) * 2, {layout.tensor, 1});
  return time;
}

double GroupCosts::embeddingTime() const {
  return trafficTime(8 * tokens * double(model.hidden));
}

std::vector<int64_t> GroupCosts::stageLayers() const {
  if (!listed.empty())
    return listed;
  const int64_t ranks = layout.pipeline, stages = ranks * layout.chunks;
  std::vector<int64_t> counts(size_t(stages), 0);
  if (!layout.isBalanced || ranks == 1) {
    const std::vector<RankLayers> cut = layersOfRanks(model, layout);
    for (int64_t stage = 0; stage < stages; ++stage) {
      const RankLayers &layers = cut[size_t(stage % ranks)];
      const int64_t all = layers.dense + layers.experts;
      const bool hasMore = stage / ranks < all % layout.chunks;
      counts[size_t(stage)] = all / layout.chunks + (hasMore ? 1 : 0);
    }
    return counts;
  }
  // Layer by layer to the rank with the least work, and there to the shortest
  // stage. Layers of two kinds count as their average.
  double average = 0;
  for (LayerKind kind : {LayerKind::Dense, LayerKind::Experts}) {
    const int64_t count = kind == LayerKind::Dense
                              ? model.numDense()
                              : model.layers - model.numDense();
    average += double(count) * times[size_t(kind)].total();
  }
  average /= double(model.layers);
  std::vector<double> work(size_t(ranks), 0);
  work.front() += embeddingTime();
  work.back() += headTime() + double(model.extraPredictions) *
                                  times[size_t(model.extraKind())].total();
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    const int64_t rank =
        std::min_element(work.begin(), work.end()) - work.begin();
    int64_t shortest = rank;
    for (int64_t stage = rank; stage < stages; stage += ranks)
      if (counts[size_t(stage)] < counts[size_t(shortest)])
        shortest = stage;
    ++counts[size_t(shortest)];
    work[size_t(rank)] += average;
  }
  return counts;
}

std::vector<RankLayers> GroupCosts::cut() const {
  if (!layout.isBalanced && listed.empty())
    return layersOfRanks(model, layout);
  std::vector<RankLayers> ranks(size_t(layout.pipeline));
  int64_t layer = 0, stage = 0;
  for (int64_t count : stageLayers()) {
    RankLayers &rank = ranks[size_t(stage++ % layout.pipeline)];
    for (int64_t end = layer + count; layer < end; ++layer)
      ++(model.kindOf(layer) == LayerKind::Dense ? rank.dense : rank.experts);
  }
  return ranks;
}

/// Sums of gradients and gathers of weights once an iteration; the work of one
/// micro-batch hides a part.
double GroupCosts::gradientSums(double longest, const Weights &weights) const {
  if (dataGroup().size < 2 || sharesWeights())
    return 0;
  const auto bytes = double(gradientBytes + 2);
  double time = gatherTime(bytes * weights.shared, dataGroup());
  if (weights.experts > 0)
    time += gatherTime(bytes * weights.experts, expertDataGroup());
  // All-reduce: gradients twice, weights not at all.
  if (layout.zero == 0)
    time *= 2 * double(gradientBytes) / bytes;
  if (!execution.overlapsData)
    return time;
  const double beside = longest * (layout.microbatches() > 1 ? 1 : 0.7);
  return std::max(constants.visibleSums * time, time - beside);
}

IterationTime GroupCosts::iterationTime() const {
  const LayerTime &dense = times[0], &experts = times[1];
  const std::vector<RankLayers> cut = this->cut();
  std::vector<double> ranks;
  Weights weights;
  for (const RankLayers &layers : cut) {
    ranks.push_back(double(layers.dense) * dense.total() +
                    double(layers.experts) * experts.total());
    const Weights own = weightsOfRank(layers);
    weights.shared = std::max(weights.shared, own.shared);
    weights.experts = std::max(weights.experts, own.experts);
  }
  ranks.back() +=
      double(model.extraPredictions) * layerTime(model.extraKind()).total();
  ranks.front() += embeddingTime();
  ranks.back() += headTime();
  const double longest = *std::max_element(ranks.begin(), ranks.end());
  const double sum = std::accumulate(ranks.begin(), ranks.end(), 0.0);
  const auto microbatches = double(layout.microbatches());
  const auto pipeline = double(layout.pipeline), chunks = double(layout.chunks);

  IterationTime time;
  time.bubble = (sum - longest) / chunks;
  time.imbalance = microbatches * (longest - sum / pipeline);
  if (layout.pipeline > 1) {
    const double message = neighbourTime(messageBytes(), stageGroup());
    const double visible =
        layout.chunks > 1 ? constants.visibleStageMessages : 1;
    time.stageMessages = microbatches * 2 * message * chunks * visible +
                         2 * (pipeline - 1) * message;
  }
  const double embedding =
      double(model.vocab) * double(model.hidden) / double(layout.tensor);
  weights.shared +=
      layout.pipeline > 1 || model.isTied ? embedding : 2 * embedding;
  const double sums = gradientSums(longest, weights);

  // The optimizer reads and writes 30 bytes of a weight at 0.7 of the rate.
  const auto shares = double(layout.zero > 0 ? dataGroup().size : 1);
  const auto expertShares =
      double(layout.zero > 0 ? expertDataGroup().size : 1);
  time.optimizer = (weights.shared / shares + weights.experts / expertShares) *
                       30 / memoryRate / 0.7 +
                   3e-3;
  time.total = microbatches * longest + time.bubble + time.stageMessages +
               sums + time.optimizer;

  auto ofFirst = [&](auto part) {
    return microbatches * (double(cut.front().dense) * part(dense) +
                           double(cut.front().experts) * part(experts));
  };
  time.work = ofFirst(
      [](const LayerTime &layer) { return layer.forward + layer.backward; });
  time.recompute =
      ofFirst([](const LayerTime &layer) { return layer.recompute; });
  time.tensor = ofFirst([](const LayerTime &layer) {
    return layer.tensorForward + layer.tensorBackward;
  });
  time.context = ofFirst([](const LayerTime &layer) {
    return layer.contextForward + layer.contextBackward;
  });
  time.expert =
      ofFirst([](const LayerTime &layer) { return 2 * layer.expertMessages; });
  time.dataParallel = sums + ofFirst([](const LayerTime &layer) {
                        return layer.shardMessages;
                      });
  for (double *part :
       {&time.total, &time.work, &time.recompute, &time.tensor, &time.context,
        &time.expert, &time.bubble, &time.imbalance, &time.stageMessages,
        &time.dataParallel, &time.optimizer})
    *part *= constants.scale;
  return time;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Bytes that the forward of a micro-batch keeps of one layer for the backward
/// (arXiv:2205.05198, equations 2 to 6), or with all of it if not `isKept`.
double GroupCosts::activationsOfLayer(LayerKind kind, bool isKept) const {
  const auto hidden = double(model.hidden);
  const auto tensor = double(layout.tensor);
  const double kept = hidden / sequenceShare;
  // Where SwiGLU is several kernels, the activation's output is kept as well.
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

double GroupCosts::messageBytes() const {
  return tokens * double(model.hidden) * 2 / double(layout.tensor);
}

double GroupCosts::messageRate() const {
  const double bytes = messageBytes();
  return bytes / (neighbourTime(bytes, stageGroup()) - messageLatency());
}

std::vector<StageCosts> GroupCosts::stageCosts() const {
  std::vector<StageCosts> stages;
  int64_t layer = 0;
  for (int64_t count : stageLayers()) {
    StageCosts stage;
    for (const int64_t end = layer + count; layer < end; ++layer) {
      const LayerKind kind = model.kindOf(layer);
      const LayerTime &time = layerTime(kind);
      stage.forward += time.allForward();
      stage.inputGrad += time.allBackward() - time.weightGrad;
      stage.weightGrad += time.weightGrad + time.shardMessages;
      stage.activations += activationsOfLayer(kind, /*isKept=*/true);
    }
    stages.push_back(stage);
  }
  stages.front().forward += embeddingTime() / 2;
  stages.front().weightGrad += embeddingTime() / 2;
  // The head has a product each for F, I and W.
  double head = headTime();
  if (model.extraPredictions > 0)
    head +=
        double(model.extraPredictions) * layerTime(model.extraKind()).total();
  stages.back().forward += head / 3;
  stages.back().inputGrad += head / 3;
  stages.back().weightGrad += head / 3;
  for (StageCosts &stage : stages)
    for (double *part : {&stage.forward, &stage.inputGrad, &stage.weightGrad})
      *part *= constants.scale;
  return stages;
}

} // namespace rondo::groups
