//===- Layers.cpp - Layers and stages as the runtime knows them -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/Layers.h"

#include "dialect/OffloadedParts.h"
#include "kinds/Counts.h"
#include "runtime/model/documents.h"
#include "runtime/model/layer_work.h"
#include "runtime/model/share.h"
#include "runtime/model/stage_sizes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

static_assert(int(Target::Cuda) == int(runtime::Target::Cuda) &&
                  int(DType::Bf16) == int(runtime::DType::Bf16) &&
                  int(LayerKind::Synthetic) ==
                      int(runtime::LayerKind::Synthetic) &&
                  int(LayerKind::Custom) == int(runtime::LayerKind::Custom) &&
                  int(LayerData::Targets) == int(runtime::LayerData::Targets) &&
                  int(StreamType::Uint8) == int(runtime::StreamType::Uint8) &&
                  int(ReadBy::WeightGrad) == int(runtime::ReadBy::WeightGrad),
              "targets, types and kinds are the runtime's, in the same order");

/// The layer's kind, and what is special to its architecture.
static runtime::LayerDesc describeKind(LayerOp layer) {
  runtime::LayerDesc desc = {};
  desc.kind = static_cast<runtime::LayerKind>(layer.getKind());
  auto model = layer->getParentOfType<ModelOp>();
  if (ArchitectureAttrInterface architecture = model.getArchitectureAttr())
    architecture.describe(layer.getKind(), desc);
  return desc;
}

static runtime::StreamDesc describeStream(StreamAttr stream) {
  runtime::StreamDesc desc = {};
  desc.name = stream.getName().data();
  desc.type = static_cast<runtime::StreamType>(stream.getDtype());
  desc.numDims = static_cast<int32_t>(stream.getSizes().size());
  llvm::copy(stream.getSizes(), desc.sizes);
  desc.below = stream.getBelow();
  desc.hasIgnored = stream.getIgnored().has_value();
  desc.ignored = stream.getIgnored().value_or(0);
  return desc;
}

/// The body itself is known to the linker alone.
static void describeCustom(CustomAttr custom, runtime::LayerDesc &desc) {
  for (int64_t samples : custom.getSamples())
    desc.custom.sizes[desc.custom.numSizes++] = *custom.findSizes(samples);
  // A model with a size that is missing is refused by its plan.
  for (SavedPartAttr part : custom.getSaved())
    desc.custom.parts[desc.custom.numParts++] = {
        part.getName().data(), static_cast<runtime::ReadBy>(part.getReadBy()),
        /*bytes=*/0, static_cast<int32_t>(part.getBytes().size()),
        part.getBytes().data()};
  if (std::optional<runtime::CustomSizes> sizes = custom.findSizes(desc.batch))
    setSizes(desc, *sizes,
             llvm::find(custom.getSamples(), desc.batch) -
                 custom.getSamples().begin(),
             /*hasOutput=*/true);
  desc.weightBytes = custom.getWeightBytes();
  desc.custom.name = custom.getBody().data();
  desc.custom.numParameters = custom.getParameters().size();
  desc.custom.parameters = custom.getParameters().data();
  desc.custom.data = static_cast<runtime::LayerData>(custom.getData());
  desc.custom.hasLoss = custom.getLoss();
  desc.custom.numTensors = static_cast<int32_t>(custom.getTensors());
  desc.custom.frozenBytes = custom.getFrozenWeightBytes();
  desc.custom.takesDocuments = custom.getDocuments();
  for (StreamAttr stream : custom.getStreams())
    desc.custom.streams[desc.custom.numStreams++] = describeStream(stream);
}

/// Places in the model of the layers that feed a layer, all before it.
using LayerInputs = SmallVector<unsigned, 1>;

/// Returns the inputs of each layer, by place in the model: the layer before,
/// or for the first layer of a stage the last layers of the stages that feed
/// it.
static std::vector<LayerInputs> layerInputs(PlanOp plan) {
  llvm::DenseMap<StringAttr, unsigned> places;
  std::vector<LayerInputs> result;
  for (LayerOp layer : plan.lookupModel().getLayers()) {
    const unsigned place = places.size();
    places[layer.getSymNameAttr()] = place;
    result.push_back(place > 0 ? LayerInputs{place - 1} : LayerInputs());
  }
  if (plan.isChain())
    return result;
  SmallVector<StageOp, 0> stages = plan.getStages();
  auto placeOf = [&](Attribute name) {
    return places.lookup(cast<FlatSymbolRefAttr>(name).getAttr());
  };
  for (auto [stage, inputs] : llvm::zip_equal(stages, plan.getInputs())) {
    const unsigned first = placeOf(stage.getLayers()[0]);
    result[first].clear();
    for (int32_t input : inputs)
      if (unsigned last = placeOf(*std::prev(stages[input].getLayers().end()));
          last < first)
        result[first].push_back(last);
  }
  return result;
}

std::vector<runtime::LayerDesc> rondo::pipe::describeLayers(PlanOp plan) {
  return describeLayers(plan, plan.getLargestMicrobatch());
}

std::vector<runtime::LayerDesc>
rondo::pipe::describeLayers(PlanOp plan, int64_t microbatch) {
  ModelOp model = plan.lookupModel();
  std::vector<runtime::LayerDesc> layers;
  const std::vector<LayerInputs> inputs = layerInputs(plan);
  llvm::DenseSet<Attribute> recomputed;
  llvm::DenseMap<Attribute, StageOp> stageOf;
  for (StageOp stage : plan.getStages())
    for (auto name : stage.getLayers().getAsRange<FlatSymbolRefAttr>()) {
      if (stage.recomputes(name.getAttr()))
        recomputed.insert(name);
      if (stage.getOffloadAttr())
        stageOf[name] = stage;
    }
  std::vector<int64_t> outputs;
  for (LayerOp layer : model.getLayers()) {
    runtime::LayerDesc desc = describeKind(layer);
    desc.name = layer.getSymName().data();
    desc.target = static_cast<runtime::Target>(plan.getTargetKind());
    desc.dtype = static_cast<runtime::DType>(plan.getDType());
    if (const std::optional<ModelSizes> sizes = model.getSizes()) {
      desc.vocab = sizes->vocab;
      desc.sequence = sizes->sequence;
      desc.hidden = sizes->hidden;
      desc.heads = sizes->heads;
      desc.ffn = sizes->ffn;
      // Rows of documents are made of layers as the model states them.
      desc.batch =
          plan.hasDocuments() ? sizes->batch : plan.getSamplesOfMicrobatch();
      desc.tied = sizes->tied;
    }
    if (model.getSamplesAttr())
      desc.batch = static_cast<int32_t>(plan.getSamplesOfMicrobatch());
    desc.recomputes =
        recomputed.contains(FlatSymbolRefAttr::get(layer.getSymNameAttr()));
    if (StageOp stage =
            stageOf.lookup(FlatSymbolRefAttr::get(layer.getSymNameAttr())))
      desc.offloads = offloadedParts(stage, layer);
    if (SyntheticAttr figures = layer.getSyntheticAttr()) {
      const SyntheticCosts costs = figures.of(microbatch);
      desc.forwardNs = costs.forwardNs;
      desc.inputGradNs = costs.inputGradNs;
      desc.weightGradNs = costs.weightGradNs;
      desc.activationBytes = costs.activationBytes;
      desc.inputGradFreesBytes = costs.inputGradFreesBytes;
      desc.inputGradKeepsBytes = costs.inputGradKeepsBytes;
      desc.outputBytes = costs.outputBytes;
      desc.weightBytes = figures.getWeightBytes();
    }
    if (CustomAttr custom = layer.getCustomAttr())
      describeCustom(custom, desc);
    const LayerInputs &from = inputs[layers.size()];
    desc.numInputs = static_cast<int32_t>(
        std::min<size_t>(from.size(), runtime::maxLayerInputs));
    for (int32_t k = 0; k < desc.numInputs; ++k) {
      desc.inputBytes[k] = outputs[from[k]];
      desc.custom.inputWithoutGradBytes[k] =
          layers[from[k]].custom.outputWithoutGradBytes;
    }
    // Stated sizes are exact; computed ones are padded.
    const int64_t output = layer.getSyntheticAttr() || layer.getCustomAttr()
                               ? desc.outputBytes
                               : runtime::layerSizes(desc).output;
    outputs.push_back(output);
    layers.push_back(desc);
  }
  // An output that no layer takes is not sent.
  std::vector<bool> isTaken(layers.size());
  for (const LayerInputs &from : inputs)
    for (unsigned place : from)
      isTaken[place] = true;
  for (size_t place = 0; place < layers.size(); ++place)
    if (!isTaken[place])
      layers[place].outputBytes = layers[place].custom.outputWithoutGradBytes =
          0;
  if (plan.hasDocuments())
    for (runtime::LayerDesc &layer : layers)
      layer = runtime::rowOfDocuments(
          layer, static_cast<int32_t>(plan.getTokensOf(microbatch)));
  return layers;
}

int64_t rondo::pipe::attentionMemoryBytes(PlanOp plan) {
  int64_t most = 0;
  for (const runtime::LayerDesc &layer : describeLayers(plan))
    most = std::max(most, runtime::attentionMemoryBytes(layer));
  return most;
}

/// Buffers of one layer stay below 2^46 bytes and its work below 2^60
/// operations, so that sums over 2^15 stages or layers fit 64 bits.
static constexpr double maxElements = 0x1p40, maxFlops = 0x1p58;
static constexpr int64_t maxLayerBytes = int64_t(1) << 46,
                         maxLayerFlops = int64_t(1) << 60;

/// Checks the buffers and matrices of the layers of an architecture.
static std::optional<Fault> findUnsoundMatrix(ModelOp model, PlanOp plan) {
  const std::optional<ModelSizes> sizes = model.getSizes();
  if (!sizes)
    return std::nullopt;
  // Widths of a token's q, k and v together, and of all query heads.
  ArchitectureAttrInterface architecture = model.getArchitectureAttr();
  const double queries = double(sizes->heads) * architecture.getQueryWidth(),
               qkv = queries + 2.0 * architecture.getKeysWidth();
  const double widest =
      std::max({double(sizes->vocab), double(sizes->hidden), double(sizes->ffn),
                double(sizes->sequence), queries});
  const int64_t samples = plan ? plan.getSamplesOfMicrobatch() : sizes->batch;
  const double tokens =
      plan && plan.hasDocuments()
          ? double(plan.getTokensOf(plan.getLargestMicrobatch()))
          : double(samples) * sizes->sequence;
  const double elements = std::max(tokens, double(sizes->hidden)) * widest;
  // Matrices of BLAS have 32-bit sizes; a GPT block's widest has 3 * hidden.
  const double longest = std::max(tokens, qkv);
  if (elements <= maxElements &&
      elements * std::max(queries, double(sizes->hidden)) <= maxFlops &&
      longest <= std::numeric_limits<int32_t>::max())
    return std::nullopt;
  return makeFault<FaultKind::LargeMatrix>(
      llvm::formatv("{0:e1}", elements).str());
}

/// Checks the figures that a layer states.
static std::optional<Fault> findUnsoundFigure(LayerOp layer) {
  SmallVector<int64_t> times, sizes, flops;
  if (LayerCostsAttr costs = layer.getCostsAttr())
    for (ArrayRef<int64_t> bySize : costs.getTimes())
      llvm::append_range(times, bySize);
  if (SyntheticAttr figures = layer.getSyntheticAttr()) {
    for (auto [name, list] : figures.getLists())
      llvm::append_range(StringRef(name).ends_with("_ns") ? times : sizes,
                         list);
    sizes.push_back(figures.getWeightBytes());
  }
  if (CustomAttr custom = layer.getCustomAttr()) {
    sizes = {custom.getWeightBytes()};
    for (auto [name, list] : custom.getListsBySize())
      llvm::append_range(StringRef(name).ends_with("_flops") ? flops : sizes,
                         list);
    for (SavedPartAttr part : custom.getSaved())
      llvm::append_range(sizes, part.getBytes());
    const int64_t samples =
        layer->getParentOfType<ModelOp>().getStatedSamples();
    for (StreamAttr stream : custom.getStreams()) {
      const int64_t row = runtime::rowBytes(describeStream(stream));
      sizes.push_back(
          llvm::SaturatingMultiply(uint64_t(samples), uint64_t(row)));
    }
  }
  for (int64_t count : flops)
    if (count > maxLayerFlops)
      return makeFault<FaultKind::LayerOperations>(count, maxLayerFlops);
  for (int64_t bytes : sizes)
    if (bytes > maxLayerBytes)
      return makeFault<FaultKind::LayerBytes>(bytes, maxLayerBytes);
  for (int64_t ns : times)
    if (ns > maxLayerNs)
      return makeFault<FaultKind::LayerTime>(ns, maxLayerNs);
  return std::nullopt;
}

std::optional<UnsoundSize> rondo::pipe::findUnsoundSize(ModelOp model,
                                                        PlanOp plan) {
  if (std::optional<Fault> fault = findUnsoundMatrix(model, plan))
    return UnsoundSize{plan ? plan.getOperation() : model.getOperation(),
                       std::move(*fault)};
  for (LayerOp layer : model.getLayers())
    if (std::optional<Fault> fault = findUnsoundFigure(layer))
      return UnsoundSize{layer, std::move(*fault)};
  return std::nullopt;
}

LogicalResult rondo::pipe::checkLayerSizes(ModelOp model, PlanOp plan) {
  if (std::optional<UnsoundSize> size = findUnsoundSize(model, plan))
    return size->op->emitError() << describe(size->fault);
  return success();
}

/// A layer takes as many inputs as its stage has edges, if its kind can.
static LogicalResult checkNumInputs(PlanOp plan) {
  llvm::StringMap<LayerOp> layers;
  for (LayerOp layer : plan.lookupModel().getLayers())
    layers[layer.getSymName()] = layer;
  SmallVector<StageOp, 0> stages = plan.getStages();
  for (auto [stage, inputs] : llvm::zip_equal(stages, plan.getInputs())) {
    LayerOp first =
        layers.lookup(cast<FlatSymbolRefAttr>(stage.getLayers()[0]).getValue());
    const runtime::LayerKindRow &row = runtime::rowOf(describeKind(first).kind);
    const int64_t count = inputs.size();
    if (count >= row.minInputs && count <= row.maxInputs)
      continue;
    // A model that begins otherwise is refused when its data are looked for.
    if (plan.isChain())
      continue;
    InFlightDiagnostic error = stage.emitError()
                               << "stage @" << stage.getSymName() << " has "
                               << countOf(count, "input");
    for (auto [k, input] : llvm::enumerate(inputs))
      error << (k == 0 ? ", from @" : " and @")
            << StageOp(stages[input]).getSymName();
    error << "; its first layer @" << first.getSymName() << " takes ";
    if (row.minInputs == row.maxInputs)
      error << row.maxInputs;
    else
      error << row.minInputs << " to " << row.maxInputs;
    error.attachNote(first.getLoc())
        << "layer @" << first.getSymName() << " is here";
    return error;
  }
  return success();
}

/// Only custom layers leave out a part of an input's gradient.
static LogicalResult checkInputGrads(PlanOp plan) {
  SmallVector<LayerOp> ops = plan.lookupModel().getLayers();
  const std::vector<runtime::LayerDesc> layers = describeLayers(plan);
  for (auto [l, inputs] : llvm::enumerate(layerInputs(plan)))
    for (unsigned input : inputs) {
      LayerOp maker = ops[input];
      CustomAttr custom = maker.getCustomAttr();
      const int64_t withoutGrad = layers[input].custom.outputWithoutGradBytes;
      if (!custom || withoutGrad == 0 || ops[l].getCustomAttr())
        continue;
      InFlightDiagnostic error =
          maker.emitError()
          << "layer @" << maker.getSymName()
          << " states output_without_grad_bytes = " << withoutGrad
          << ", but layer @" << ops[l].getSymName()
          << " gives the gradient of all of its input; custom layers alone "
             "leave out a part";
      error.attachNote(ops[l].getLoc())
          << "layer @" << ops[l].getSymName() << " is here";
      return error;
    }
  return success();
}

/// Replicas that divide the samples of a custom layer's input find them one
/// after another.
static LogicalResult checkDividedInputs(PlanOp plan) {
  ModelOp model = plan.lookupModel();
  SmallVector<LayerOp> ops = model.getLayers();
  const std::vector<LayerInputs> inputs = layerInputs(plan);
  for (StageOp stage : plan.getStages()) {
    const int64_t first = firstLayerOf(stage, model);
    if (stage.getRoundRobin() || stage.getRanks().size() == 1 ||
        !ops[first].getCustomAttr())
      continue;
    for (unsigned input : inputs[first]) {
      LayerOp maker = ops[input];
      const CustomAttr custom = maker.getCustomAttr();
      if (!custom || custom.getBySample())
        continue;
      InFlightDiagnostic error =
          stage.emitError()
          << "stage @" << stage.getSymName() << " divides the output of layer @"
          << maker.getSymName()
          << " among its replicas, but the layer does not say that it has the "
             "samples one after another: write by_sample = true and samples = "
             "[...] into the layer if it has, or `round_robin` after the "
             "stage's ranks";
      error.attachNote(maker.getLoc())
          << "layer @" << maker.getSymName() << " is here";
      return error;
    }
  }
  return success();
}

/// Checks that the output of a layer has the size that the next kind takes.
static LogicalResult checkInputs(PlanOp plan) {
  if (failed(checkNumInputs(plan)) || failed(checkInputGrads(plan)) ||
      failed(checkDividedInputs(plan)))
    return failure();
  const std::vector<runtime::LayerDesc> layers = describeLayers(plan);
  SmallVector<LayerOp> ops = plan.lookupModel().getLayers();
  for (auto [l, inputs] : llvm::enumerate(layerInputs(plan))) {
    const int64_t taken = runtime::layerSizes(layers[l]).input;
    int64_t made = 0;
    for (unsigned input : inputs)
      made += runtime::layerSizes(layers[input]).output;
    if (inputs.empty() || taken == made)
      continue;
    LayerOp maker = ops[inputs.front()];
    InFlightDiagnostic error = maker.emitError()
                               << "layer @" << maker.getSymName();
    // `made` has the stated size, rounded up.
    if (auto custom = maker.getCustomAttr(); custom && inputs.size() == 1)
      error << " states output_bytes = " << layers[inputs.front()].outputBytes
            << ", but layer @" << ops[l].getSymName() << " takes " << taken
            << ": write output_bytes = " << taken;
    else
      error << " makes " << made << " bytes of output, but layer @"
            << ops[l].getSymName() << " takes " << taken;
    error.attachNote(ops[l].getLoc())
        << "layer @" << ops[l].getSymName() << " is here";
    return error;
  }
  return success();
}

LogicalResult rondo::pipe::checkTarget(PlanOp plan) {
  if (failed(checkInputs(plan)))
    return failure();
  if (plan.getTargetKind() != Target::Cuda)
    return success();
  int64_t width = 0;
  ModelOp model = plan.lookupModel();
  if (ArchitectureAttrInterface architecture = model.getArchitectureAttr())
    width = architecture.getQueryWidth();
  if (width <= runtime::maxHeadWidthCuda)
    return success();
  InFlightDiagnostic error =
      plan.emitError() << "target cuda takes heads of at most "
                       << runtime::maxHeadWidthCuda << " numbers; these have "
                       << width << ": a model of more heads, or target cpu";
  error.attachNote(model.getLoc()) << "this is the model";
  return error;
}

int64_t rondo::pipe::firstLayerOf(StageOp stage, ModelOp model) {
  // Asked for each stage of a model that may have a thousand.
  const StringAttr name =
      cast<FlatSymbolRefAttr>(stage.getLayers()[0]).getAttr();
  for (auto [k, layer] : llvm::enumerate(model.getBody().getOps<LayerOp>()))
    if (layer.getSymNameAttr() == name)
      return static_cast<int64_t>(k);
  return 0;
}
