//===- GroupCosts.cpp - Rates of a group, and time of a layer -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/groups/GroupCosts.h"

#include <algorithm>
#include <cmath>

namespace rondo::groups {

namespace {

struct PrecisionRow {
  /// An index of DeviceSheet::flopsPerUs.
  size_t peak;
  double operandBytes;
  Operands operands;
};

const PrecisionRow &rowOf(Precision precision) {
  static constexpr PrecisionRow rows[] = {
      {0, 2, Operands::Bf16}, {0, 2, Operands::Bf16},  {1, 1, Operands::Fp8},
      {1, 1, Operands::Fp8},  {1, 1, Operands::MxFp8}, {2, 0.5, Operands::Fp4}};
  return rows[size_t(precision)];
}

/// Rate of a version of FlashAttention to that of the newest one for the
/// generation (arXiv:2307.08691 and arXiv:2407.08608: 25 to 40 % and 50 to 73 %
/// of an A100's peak; 35 and 75 % of an H100's).
double flashShare(Generation generation, int version) {
  if (generation == Generation::Ampere)
    return version == 1 ? 0.6 : 1;
  return version == 1 ? 0.35 : version == 2 ? 0.55 : 1;
}

} // namespace

GroupCosts::GroupCosts(const Transformer &model, const Machines &machines,
                       const Layout &layout, const Execution &execution,
                       const Constants &constants,
                       const std::vector<int64_t> &stageLayers)
    : model(model), machines(machines), layout(layout), execution(execution),
      constants(constants), listed(stageLayers) {
  const DeviceSheet &device = machines.device;
  const auto generation = size_t(device.generation);
  const auto stack = size_t(execution.stack);
  const PrecisionRow &row = rowOf(execution.precision);
  productRate = double(device.flopsPerUs[row.peak]) * perSecond *
                constants.products[generation][size_t(row.operands)] *
                constants.stack[stack];
  attentionRate = double(device.flopsPerUs[0]) * perSecond *
                  constants.attention[generation] * constants.stack[stack] *
                  flashShare(device.generation, execution.flashVersion);
  linkRate = double(device.linkBytesPerUs) * perSecond * constants.links;
  networkRate =
      double(device.networkBytesPerUs) * perSecond *
      (machines.hasSlowFabric ? constants.slowFabric : constants.network);
  memoryRate = double(device.memoryBytesPerUs) * perSecond;
  launchTime = constants.launches[stack];
  if (execution.stack == Stack::Nanotron && layout.pipeline > 1 &&
      layout.tensor > 2 && layout.devices() > machines.domain)
    launchTime = std::max(launchTime, constants.pipelinedTensorLaunches *
                                          double(layout.tensor));
  operandBytes = row.operandBytes;
  gradientBytes = execution.gradientBytes;
  if (gradientBytes == 0)
    gradientBytes =
        execution.precision == Precision::Fp16 || execution.stack == Stack::Fsdp
            ? 2
            : 4;
  tokens = double(layout.microbatch) * double(model.sequence) /
           double(layout.context);
  sequenceShare = layout.sequenceParallel ? double(layout.tensor) : 1;
  headsOfDevice = double(model.heads) / double(layout.tensor);
  // Devices of a larger group than there are heads of keys have copies.
  keyHeadsOfDevice =
      std::max(1.0, double(model.keyHeads) / double(layout.tensor));
  for (LayerKind kind : {LayerKind::Dense, LayerKind::Experts})
    if (model.hasKind(kind)) {
      LayerTime &time = times[size_t(kind)];
      time = timeOfLayer(kind);
      if (sharesWeights())
        time.shardMessages = shardMessages(time, kind);
    }
}

//===----------------------------------------------------------------------===//
// Rates
//===----------------------------------------------------------------------===//

/// All devices of a domain that are in the group send at once.
double GroupCosts::rateOf(Group group) const {
  if (group.size * group.stride <= machines.domain)
    return linkRate;
  const int64_t inDomain = std::clamp<int64_t>(
      machines.domain / group.stride, 1, std::max<int64_t>(1, group.size));
  return std::min(linkRate, networkRate * double(inDomain));
}

/// All-gather or reduce-scatter of `bytes` in all.
double GroupCosts::gatherTime(double bytes, Group group) const {
  if (group.size < 2)
    return 0;
  const auto size = double(group.size);
  const double domains = size * double(group.stride) / double(machines.domain);
  return bytes * (size - 1) / size / rateOf(group) + constants.messageLatency +
         2e-6 * std::max(0.0, domains - 1);
}

/// From each device of a group to the next; some are in another domain.
double GroupCosts::neighbourTime(double bytes, Group group) const {
  double far = 0;
  if (group.size * group.stride > machines.domain)
    far = std::min(1.0, double(group.stride) / double(machines.domain));
  // A cluster of one domain has no network.
  const double ofNetwork = far > 0 ? far / networkRate : 0;
  return bytes * (ofNetwork + (1 - far) / linkRate) + constants.messageLatency;
}

/// A product of rows x inner and inner x columns: its operations at the share
/// of the peak that large products reach, and its operands' bytes after that.
double GroupCosts::productTime(double rows, double inner, double columns,
                               double share) const {
  return 2 * rows * inner * columns / (productRate * share) +
         constants.operandTraffic *
             (operandBytes * (rows * inner + inner * columns) +
              2 * rows * columns) /
             memoryRate;
}

double GroupCosts::trafficTime(double bytes) const {
  return constants.elementTraffic * bytes / memoryRate;
}

//===----------------------------------------------------------------------===//
// A layer
//===----------------------------------------------------------------------===//

double GroupCosts::attentionProducts() const {
  const auto hidden = double(model.hidden), width = double(model.queryWidth);
  const double output =
      productTime(tokens, headsOfDevice * double(model.valueWidth), hidden);
  if (!model.latent)
    return output + productTime(tokens, hidden,
                                (headsOfDevice + 2 * keyHeadsOfDevice) * width);
  const LatentAttention &latent = *model.latent;
  const double narrow = double(latent.keyRank + latent.rotaryWidth);
  const double queries = headsOfDevice * width;
  const double ofQueries =
      latent.queryRank > 0
          ? productTime(tokens, hidden, double(latent.queryRank) + narrow) +
                productTime(tokens, double(latent.queryRank), queries)
          : productTime(tokens, hidden, queries + narrow);
  return output + ofQueries +
         productTime(tokens, double(latent.keyRank),
                     headsOfDevice *
                         double(model.queryWidth - latent.rotaryWidth +
                                model.valueWidth));
}

/// Bytes of kernels between the products of attention: norms and residuals,
/// rotary embedding, casts.
double GroupCosts::attentionBytes() const {
  const auto hidden = double(model.hidden);
  const double columns =
      model.latent
          ? headsOfDevice * double(2 * model.queryWidth + model.valueWidth)
          : (headsOfDevice + 2 * keyHeadsOfDevice) * double(model.queryWidth);
  // Without a fused kernel a norm works in fp32 and piece by piece.
  const double ofNorms = execution.hasFusedNorms ? 20 : 84;
  double bytes = 4 * columns * tokens + (ofNorms + (model.hasDropout ? 8 : 0)) *
                                            hidden * tokens / sequenceShare;
  if (operandBytes < 2)
    bytes +=
        3 * tokens * (2 * hidden + headsOfDevice * double(model.valueWidth));
  return bytes;
}

double GroupCosts::feedForwardBytes(LayerKind kind) const {
  const double perColumn =
      2 * double(model.numInner()) + 2 + (operandBytes < 2 ? 3 : 0);
  if (kind == LayerKind::Dense)
    return perColumn * double(model.ffn) / double(layout.tensor) * tokens;
  const Experts &experts = *model.experts;
  const double routed = tokens * double(experts.perToken);
  // Tokens, or columns if experts are cut, are divided among a tensor group.
  return perColumn * double(experts.ffn) * routed / double(layout.tensor) +
         8 * double(model.hidden) * routed /
             (layout.expert == 1 ? 1 : double(layout.tensor));
}

double GroupCosts::expertProducts() const {
  const Experts &experts = *model.experts;
  const auto hidden = double(model.hidden);
  const auto tensor = double(layout.tensor), inner = double(model.numInner());
  double routed = tokens / tensor * double(experts.perToken);
  double columns = double(experts.ffn);
  if (layout.expert == 1 && layout.tensor > 1) {
    routed = tokens * double(experts.perToken);
    columns /= tensor;
  }
  const double local = double(experts.count) / double(layout.expert);
  const double share = constants.groupedProducts;
  double time =
      local * (productTime(routed / local, hidden, inner * columns, share) +
               productTime(routed / local, columns, hidden, share)) +
      productTime(tokens / tensor, hidden, double(experts.count));
  if (experts.shared > 0) {
    const double width = double(experts.shared * experts.ffn) / tensor;
    time += productTime(tokens, hidden, inner * width) +
            productTime(tokens, width, hidden);
  }
  return time;
}

/// The visible part of tokens' way to their experts and back. A token goes once
/// to each domain that has one of its experts.
double GroupCosts::expertMessages() const {
  if (layout.expert == 1)
    return 0;
  const auto size = double(layout.expert);
  const double domains = std::max(1.0, size / double(machines.domain));
  const auto perToken = double(model.experts->perToken);
  const double bytes =
      tokens / double(layout.tensor) * double(model.hidden) * 2 * 2;
  double time = bytes * perToken * (size - 1) / size / linkRate +
                4 * constants.messageLatency;
  if (domains > 1)
    time += bytes * std::min(perToken, domains) * (domains - 1) / domains /
            networkRate;
  return time * constants.visibleExpertMessages *
         (execution.overlapsExperts ? constants.besideMicrobatch : 1);
}

/// Gathers and scatters of activations around each pair of products. With
/// sequence parallelism the backward gathers inputs once more for the weight
/// gradients (arXiv:2205.05198, section 4.2).
void GroupCosts::addTensorMessages(LayerTime &time, LayerKind kind) const {
  if (layout.tensor == 1)
    return;
  const double pairs =
      kind == LayerKind::Dense || model.experts->shared > 0 ? 2 : 1;
  const double once =
      pairs * 2 *
      gatherTime(tokens * double(model.hidden) * 2, {layout.tensor, 1});
  const double visible =
      execution.overlapsTensor ? constants.tensorOverlapped : 1;
  time.tensorForward = once * visible;
  time.tensorBackward = once * (layout.sequenceParallel ? 1.5 : 1) *
                        std::min(visible, constants.tensorBackward);
}

/// Keys and values go round the group during the attention to the last ones
/// (ring attention, arXiv:2310.01889); the backward has twice the messages.
void GroupCosts::addContextMessages(LayerTime &time, double core,
                                    double coreGrad) const {
  if (layout.context == 1)
    return;
  const auto size = double(layout.context);
  const double ring =
      (size - 1) *
      neighbourTime(tokens * keyHeadsOfDevice *
                        double(model.queryWidth + model.valueWidth) * 2,
                    {layout.context, layout.tensor});
  const double beside = (size - 1) / size;
  time.contextForward = std::max(0.1 * ring, ring - core * beside);
  time.contextBackward = std::max(0.2 * ring, 2 * ring - coreGrad * beside);
}

double GroupCosts::recomputeTime(const LayerTime &time, double products,
                                 double elements, double core) const {
  switch (layout.recompute) {
  case Recompute::None:
    return 0;
  case Recompute::Selective:
    return execution.attention == Attention::Flash ? 0 : core;
  case Recompute::Full:
    return time.allForward();
  case Recompute::Layers:
    return time.allForward() * double(layout.recomputedLayers) /
           double(model.layers);
  case Recompute::NormsAndActivations:
    return elements;
  case Recompute::PerOperation:
    return 0.5 * products + elements + 0.5 * time.tensorForward;
  }
  return 0;
}

LayerTime GroupCosts::timeOfLayer(LayerKind kind) const {
  const bool isDense = kind == LayerKind::Dense;
  const auto hidden = double(model.hidden);
  double products = attentionProducts();
  if (isDense) {
    const double columns = double(model.ffn) / double(layout.tensor);
    products +=
        productTime(tokens, hidden, double(model.numInner()) * columns) +
        productTime(tokens, columns, hidden);
  } else {
    products += expertProducts();
  }
  const double elements =
      trafficTime(attentionBytes() + feedForwardBytes(kind));

  // A token attends to half of the sequence on average, or to a window.
  const auto sequence = double(model.sequence);
  const double window = model.window > 0
                            ? double(std::min(model.window, model.sequence))
                            : sequence;
  const double windowed = double(model.windowedLayers) / double(model.layers);
  const double attended = sequence * (1 - windowed) +
                          windowed * (2 * window - window * window / sequence);
  const double operations = tokens * attended * headsOfDevice *
                            double(model.queryWidth + model.valueWidth);
  double core = operations / attentionRate, coreGrad = 2.5 * core;
  if (execution.attention != Attention::Flash) {
    // Bytes of a score, which is written and read.
    const double ofScore =
        execution.attention == Attention::FusedSoftmax ? 13 : 21;
    core = 2 * operations / productRate +
           trafficTime(headsOfDevice * tokens * sequence * ofScore);
    coreGrad = 2 * core;
  }

  double launches = launchTime;
  if (!isDense)
    launches = machines.hasNearHost ? constants.nearExpertLaunches
                                    : constants.expertLaunches;
  LayerTime time;
  time.forward = std::max(products + elements + core, launches);
  time.backward =
      std::max(2 * products + 2 * elements + coreGrad, 1.5 * launches);
  time.weightGrad = std::min(products, time.backward / 2);
  if (!isDense) {
    time.expertMessages = expertMessages();
    if (execution.release < 2026 && operandBytes < 2) {
      time.forward *= constants.earlyExperts;
      time.backward *= constants.earlyExperts;
      time.weightGrad *= constants.earlyExperts;
    }
  }
  addTensorMessages(time, kind);
  addContextMessages(time, core, coreGrad);
  time.recompute = recomputeTime(time, products, elements, core);
  return time;
}

} // namespace rondo::groups
