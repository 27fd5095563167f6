//===- StageFigures.cpp - Costs and buffers of stages by their layers -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/LayerTimes.h"
#include "plans/Layers.h"
#include "plans/RowTimes.h"

#include "runtime/model/layer_work.h"
#include "runtime/model/share.h"
#include "runtime/model/stage_sizes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// The speed of a device that states none: about one core of a processor, or a
/// quarter of the nominal speed of a large GPU's tensor cores.
static int64_t defaultFlopsPerUs(Target target) {
  return target == Target::Cpu ? 10000 : 250000000;
}

/// Time of `flops` operations; exact in whole microseconds first, so that no
/// product overflows.
static int64_t nsFor(int64_t flops, int64_t flopsPerUs) {
  return flops / flopsPerUs * 1000 + flops % flopsPerUs * 1000 / flopsPerUs;
}

std::vector<int64_t> rondo::pipe::flopsPerUsOf(PlanOp plan) {
  std::vector<int64_t> result;
  for (DeviceOp device : plan.lookupCluster().getDevices())
    result.push_back(device.getFlopsPerUs() > 0
                         ? device.getFlopsPerUs()
                         : defaultFlopsPerUs(plan.getTargetKind()));
  return result;
}

/// The samples of costs that do not state theirs. Layers of a model without
/// sizes know only one.
static int64_t defaultSamples(LayerOp op, const runtime::LayerDesc &layer) {
  const auto sizes = cast<ModelOp>(op->getParentOp()).getSizes();
  return sizes ? sizes->batch : layer.batch;
}

/// Operations of a layer on a micro-batch. Those of a row of documents are the
/// sum over its documents, within which attention stays.
static runtime::LayerFlops flopsOf(const runtime::LayerDesc &layer,
                                   ArrayRef<int64_t> documents) {
  if (documents.empty())
    return runtime::layerFlops(layer);
  runtime::LayerFlops sum{};
  runtime::LayerDesc one = layer;
  for (int64_t tokens : documents) {
    one.rowTokens = static_cast<int32_t>(tokens);
    runtime::LayerFlops flops = runtime::layerFlops(one);
    // A custom layer states operations for its whole row.
    if (layer.kind == runtime::LayerKind::Custom)
      flops = {rondo::partOfUp(flops.forward, tokens, layer.rowTokens),
               rondo::partOfUp(flops.inputGrad, tokens, layer.rowTokens),
               rondo::partOfUp(flops.weightGrad, tokens, layer.rowTokens)};
    sum.forward += flops.forward;
    sum.inputGrad += flops.inputGrad;
    sum.weightGrad += flops.weightGrad;
  }
  return sum;
}

namespace {
/// Sums over layers for one micro-batch.
struct Figures {
  int64_t microbatch = 0;
  /// The lengths of its documents; empty if it has samples.
  ArrayRef<int64_t> documents;
  /// The most samples of the micro-batch that a task takes.
  int64_t largestShare = std::numeric_limits<int64_t>::max();
  int64_t ns[3] = {0, 0, 0};
  int64_t freedByInputGrad = 0, activation = 0, kept = 0, output = 0,
          outputGrad = 0;
  /// Sums over the layers that R runs.
  int64_t recomputeNs = 0, recomputed = 0;
  /// The times of rows of documents.
  RowTimes rows;
  /// Bytes of saved activations that may be copied to the host.
  int64_t offloaded = 0;

  void add(const runtime::LayerDesc &layer, LayerOp op, int64_t speed);
  /// Times of the documents, once all layers are added.
  void setTimesOfRow();

private:
  void addLayer(const runtime::LayerDesc &layer, LayerOp op, int64_t speed);
};
} // namespace

void Figures::setTimesOfRow() {
  if (documents.empty())
    return;
  const RowSize size = rowSize(documents);
  for (int k = 0; k < 3; ++k)
    ns[k] = size.of(rows.task[k].cost());
  recomputeNs = size.of(rows.recompute.cost());
}

void Figures::add(const runtime::LayerDesc &layer, LayerOp op, int64_t speed) {
  const int64_t forwardBefore = ns[0], activationBefore = activation;
  addLayer(layer, op, speed);
  if (!documents.empty())
    rows.add(layer, op, speed);
  if (layer.recomputes) {
    recomputeNs += ns[0] - forwardBefore;
    recomputed += activation - activationBefore;
  }
}

void Figures::addLayer(const runtime::LayerDesc &layer, LayerOp op,
                       int64_t speed) {
  if (layer.kind == runtime::LayerKind::Synthetic) {
    ns[0] += layer.forwardNs;
    ns[1] += layer.inputGradNs;
    ns[2] += layer.weightGradNs;
    activation += layer.activationBytes;
    if (leaves(layer, runtime::Part::ForInputGrad))
      offloaded += layer.inputGradFreesBytes;
    if (leaves(layer, runtime::Part::ForWeightGrad))
      offloaded += layer.activationBytes - layer.inputGradFreesBytes;
    freedByInputGrad += layer.inputGradFreesBytes;
    kept += layer.inputGradKeepsBytes;
    // Also if no layer takes it.
    outputGrad = output = op.getSyntheticAttr().of(microbatch).outputBytes;
    return;
  }
  if (!documents.empty()) {
    // setTimesOfRow().
  } else if (LayerCostsAttr costs = op.getCostsAttr()) {
    const LayerTimes times = timesInShares(
        costs, layer.batch, std::min<int64_t>(layer.batch, largestShare),
        defaultSamples(op, layer));
    for (int k = 0; k < 3; ++k)
      ns[k] += times.ns[k];
  } else {
    const runtime::LayerFlops flops = runtime::layerFlops(layer);
    ns[0] += nsFor(flops.forward, speed);
    ns[1] += nsFor(flops.inputGrad, speed);
    ns[2] += nsFor(flops.weightGrad, speed);
  }
  runtime::LayerSizes sizes = runtime::layerSizes(layer);
  activation += sizes.savedForInputGrad + sizes.savedForWeightGrad;
  offloaded += sizes.awayForInputGrad + sizes.awayForWeightGrad;
  freedByInputGrad += sizes.savedForInputGrad;
  kept += sizes.keptForWeightGrad;
  output = sizes.output;
  outputGrad = runtime::outputGradBytes(layer);
}

StageFigures::StageFigures(PlanOp plan)
    : microbatches(plan.getMicrobatches()), moments(momentsOf(plan)),
      samples(static_cast<int32_t>(
          std::clamp<int64_t>(plan.getSamplesOfMicrobatch(), 1, maxSamples))),
      ops(plan.lookupModel().getLayers()), flopsPerUs(flopsPerUsOf(plan)) {
  const int64_t numDifferent = plan.isUneven() ? microbatches : 1;
  for (int64_t i = 0; i < numDifferent; ++i) {
    layersOf.push_back(plan.isUneven() ? describeLayers(plan, i)
                                       : describeLayers(plan));
    documents.push_back(plan.getDocumentsOf(i));
  }
  for (auto [place, op] : llvm::enumerate(ops))
    places[op.getSymNameAttr()] = place;
  SmallVector<StageOp, 0> stages = plan.getStages();
  for (auto [stage, inputs] : llvm::zip_equal(stages, plan.getInputs()))
    for (int32_t input : stage.getAcross() ? inputs : std::vector<int32_t>())
      readAgain.insert(stages[input].getSymNameAttr());
}

std::vector<unsigned> StageFigures::placesOf(StageOp stage) const {
  std::vector<unsigned> result;
  for (FlatSymbolRefAttr name :
       stage.getLayers().getAsRange<FlatSymbolRefAttr>())
    result.push_back(places.lookup(name.getAttr()));
  return result;
}

int64_t StageFigures::largestShareOf(StageOp stage) const {
  if (stage.getRoundRobin())
    return std::numeric_limits<int64_t>::max();
  int64_t largest = 1;
  for (const Share &replica : stage.sharesOf(samples))
    largest = std::max<int64_t>(largest, replica.samples);
  return largest;
}

CostSources StageFigures::sources(StageOp stage) const {
  CostSources sources;
  for (unsigned place : placesOf(stage)) {
    const runtime::LayerDesc &layer = layersOf.front()[place];
    LayerOp op = ops[place];
    if (layer.kind == runtime::LayerKind::Synthetic)
      sources.add({CostSource::Kind::Stated});
    else if (LayerCostsAttr costs = op.getCostsAttr())
      sources.add(
          sourceOf(costs, std::min<int64_t>(layer.batch, largestShareOf(stage)),
                   defaultSamples(op, layer)));
    else
      sources.add({CostSource::Kind::Estimated});
  }
  return sources;
}

StageCosts StageFigures::costs(StageOp stage, int64_t microbatch) const {
  const std::vector<runtime::LayerDesc> &layers = layersOf[microbatch];
  Figures sum;
  sum.microbatch = microbatch;
  sum.documents = documents[microbatch];
  sum.largestShare = largestShareOf(stage);
  std::vector<runtime::LayerDesc> own;
  for (unsigned place : placesOf(stage)) {
    sum.add(layers[place], ops[place], flopsPerUs[stage.getRanks()[0]]);
    own.push_back(layers[place]);
  }
  sum.setTimesOfRow();
  const int64_t checkpoints = runtime::checkpointBytes(
      own.data(), own.size(),
      stage.getOffloadAttr() && stage.getBefore() == LoadBefore::Recompute);
  std::optional<int64_t> offloaded;
  if (stage.getOffloadAttr())
    offloaded = stage.getBefore() == LoadBefore::Recompute ? checkpoints
                                                           : sum.offloaded;
  return {sum.ns[0],
          sum.ns[1],
          sum.ns[2],
          sum.activation,
          sum.freedByInputGrad,
          sum.output,
          /*stepNs=*/0,
          sum.recomputeNs,
          sum.recomputed,
          checkpoints,
          sum.kept,
          sum.output - sum.outputGrad,
          offloaded};
}

StageCostsAttr StageFigures::costs(StageOp stage) const {
  std::vector<StageCosts> all;
  for (size_t i = 0; i < layersOf.size(); ++i)
    all.push_back(costs(stage, static_cast<int64_t>(i)));
  return StageCostsAttr::get(stage.getContext(), all);
}

std::vector<AffineCost> StageFigures::rowCosts(StageOp stage) const {
  RowTimes rows;
  for (unsigned place : placesOf(stage))
    rows.add(layersOf.front()[place], ops[place],
             flopsPerUs[stage.getRanks()[0]]);
  const RowSize size = rowSize(documents.front());
  const StageCosts stated = stage.getCostsAttr().of(0);
  return {inProportion(rows.task[0].cost(), stated.forwardNs, size),
          inProportion(rows.task[1].cost(), stated.inputGradNs, size),
          inProportion(rows.task[2].cost(), stated.weightGradNs, size),
          inProportion(rows.recompute.cost(), stated.recomputeNs, size)};
}

SmallVector<BuffersAttr, 1> StageFigures::buffers(StageOp stage) const {
  if (layersOf.size() == 1)
    return buffers(stage, layersOf.front());
  SmallVector<BuffersAttr, 1> result;
  for (const std::vector<runtime::LayerDesc> &layers : layersOf)
    result.push_back(buffers(stage, layers).front());
  // One control buffer has the starts of the documents of all micro-batches.
  int64_t control = 0;
  for (BuffersAttr one : result)
    control = std::max(control, one.getControl());
  for (BuffersAttr &one : result) {
    std::array<int64_t, numBufferKinds> bytes = one.getBytes();
    bytes[int(BufferKind::Control)] = control;
    one = BuffersAttr::fromBytes(stage.getContext(), bytes);
  }
  // Its replicas take whole micro-batches, so their buffers are equal.
  const size_t replicas = stage.getRanks().size();
  if (llvm::all_equal(result))
    return SmallVector<BuffersAttr, 1>(replicas, result.front());
  const SmallVector<BuffersAttr, 1> one = result;
  for (size_t replica = 1; replica < replicas; ++replica)
    llvm::append_range(result, one);
  return result;
}

SmallVector<BuffersAttr, 1>
StageFigures::buffers(StageOp stage,
                      const std::vector<runtime::LayerDesc> &layers) const {
  SmallVector<BuffersAttr, 1> result;
  runtime::Samples share{0, 0};
  for (const Share &replica : stage.sharesOf(samples)) {
    share = {stage.getRoundRobin() ? 0 : share.first + share.count,
             replica.samples};
    std::vector<runtime::LayerDesc> own;
    for (unsigned place : placesOf(stage))
      own.push_back(shareOf(layers[place], share, samples));
    std::array<int64_t, numBufferKinds> bytes;
    runtime::stageBytes(own.data(), own.size(), microbatches, bytes.data(),
                        stage.getShards(), moments, stage.getMomentShards());
    auto at = [&](BufferKind kind) -> int64_t & { return bytes[int(kind)]; };
    if (stage.getAcross())
      at(BufferKind::RecomputedInput) = at(BufferKind::Input);
    if (readAgain.contains(stage.getSymNameAttr()))
      at(BufferKind::RecomputedOutput) = at(BufferKind::Output);
    result.push_back(BuffersAttr::fromBytes(stage.getContext(), bytes));
  }
  return result;
}

/// Weights, gradients and moments of a layer.
static int64_t stateBytesOf(const runtime::LayerDesc &layer, PlanOp plan) {
  int64_t bytes[runtime::numBuffers];
  runtime::stageBytes(&layer, 1, plan.getMicrobatches(), bytes,
                      /*shards=*/1, momentsOf(plan));
  return bytes[int(runtime::Buffer::Weights)] +
         bytes[int(runtime::Buffer::Gradients)] +
         bytes[int(runtime::Buffer::Moments)];
}

std::vector<LayerFigures> rondo::pipe::layerFigures(PlanOp plan, int64_t rank) {
  const int64_t speed = flopsPerUsOf(plan)[rank];
  std::vector<LayerFigures> result;
  for (auto [layer, op] :
       llvm::zip_equal(describeLayers(plan), plan.lookupModel().getLayers())) {
    Figures needed;
    needed.microbatch = plan.getLargestMicrobatch();
    needed.documents = plan.getDocumentsOf(needed.microbatch);
    needed.add(layer, op, speed);
    needed.setTimesOfRow();
    int64_t buffers[runtime::numBuffers];
    runtime::stageBytes(&layer, 1, plan.getMicrobatches(), buffers,
                        /*shards=*/1, momentsOf(plan));
    LayerFigures &figures = result.emplace_back();
    figures.parameters = runtime::layerParameters(layer);
    const runtime::LayerFlops flops = flopsOf(layer, needed.documents);
    figures.forwardFlops = flops.forward;
    figures.inputGradFlops = flops.inputGrad;
    figures.weightGradFlops = flops.weightGrad;
    figures.heldToInputGrad = needed.freedByInputGrad;
    figures.heldToWeightGrad = needed.activation - needed.freedByInputGrad;
    figures.keptByInputGrad = needed.kept;
    figures.outputBytes = needed.output;
    figures.stateBytes = stateBytesOf(layer, plan);
    figures.gradientBytes = buffers[int(runtime::Buffer::Gradients)];
    figures.forwardNs = needed.ns[0];
    figures.inputGradNs = needed.ns[1];
    figures.weightGradNs = needed.ns[2];
  }
  return result;
}

std::vector<LayerLoad> rondo::pipe::layerLoads(PlanOp plan, int64_t rank) {
  const int64_t speed = flopsPerUsOf(plan)[rank];
  std::vector<LayerLoad> loads;
  for (auto [layer, op] :
       llvm::zip_equal(describeLayers(plan), plan.lookupModel().getLayers())) {
    Figures figures;
    figures.microbatch = plan.getLargestMicrobatch();
    figures.documents = plan.getDocumentsOf(figures.microbatch);
    figures.add(layer, op, speed);
    figures.setTimesOfRow();
    loads.push_back({figures.ns[0] + figures.ns[1] + figures.ns[2],
                     figures.ns[0], stateBytesOf(layer, plan),
                     figures.activation});
  }
  return loads;
}
