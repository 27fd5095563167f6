//===- VerifyModel.cpp - Local rules of models ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/SourceRules.h"

#include "kinds/Counts.h"

#include "llvm/ADT/StringExtras.h"

#include <limits>

using namespace mlir;
using namespace rondo::pipe;

SmallVector<LayerOp, 0> ModelOp::getLayers() {
  return opsOf<LayerOp>(getBody());
}

std::optional<ModelSizes> ModelOp::getSizes() {
  if (ArchitectureAttrInterface architecture = getArchitectureAttr())
    return architecture.getSizes();
  return std::nullopt;
}

int64_t ModelOp::getStatedSamples() {
  if (IntegerAttr samples = getSamplesAttr())
    return samples.getInt();
  const std::optional<ModelSizes> sizes = getSizes();
  return sizes ? sizes->batch : 0;
}

LayerOp ModelOp::findLayerOfOneSize() {
  const bool hasSizes = getSizes().has_value();
  for (LayerOp layer : getLayers())
    if (CustomAttr custom = layer.getCustomAttr();
        (custom && custom.getSamples().empty()) ||
        (hasSizes && layer.getSyntheticAttr()))
      return layer;
  return nullptr;
}

LayerOp ModelOp::findLayerWithoutSize(int64_t samples) {
  for (LayerOp layer : getLayers())
    if (CustomAttr custom = layer.getCustomAttr();
        custom && !custom.getSamples().empty() && !custom.findSizes(samples))
      return layer;
  return nullptr;
}

std::string rondo::pipe::adviceForSize(CustomAttr custom, int64_t samples) {
  SmallVector<int64_t> all(custom.getSamples());
  all.insert(llvm::lower_bound(all, samples), samples);
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "add " << samples << " to `samples` of the layer, which in an exported "
     << "model is `export_stages(..., samples=[";
  llvm::interleaveComma(all, os);
  os << "])`";
  return text;
}

/// Layers that state several sizes have that of the plan's micro-batches.
static LogicalResult verifyStatedSize(PlanOp plan, ModelOp model) {
  const int64_t samples = plan.getSamplesOfMicrobatch();
  LayerOp layer = model.findLayerWithoutSize(samples);
  if (!layer)
    return success();
  const std::string stated = layer.getCustomAttr().describeSamples();
  InFlightDiagnostic error = plan.emitError()
                             << "a micro-batch of plan @" << plan.getSymName()
                             << " has " << rondo::countOf(samples, "sample")
                             << ", but layer @" << layer.getSymName()
                             << " states its sizes for " << stated
                             << ": write samples(N) with one of these after "
                                "the number of micro-batches, or "
                             << adviceForSize(layer.getCustomAttr(), samples);
  error.attachNote(layer.getLoc())
      << "layer @" << layer.getSymName() << " states its sizes";
  return error;
}

LogicalResult rondo::pipe::verifySamples(PlanOp plan, ModelOp model) {
  LayerOp layer = model.findLayerOfOneSize();
  if (!plan.getSamplesAttr() || !layer)
    return verifyStatedSize(plan, model);
  const int64_t samples = plan.getSamplesAttr().getInt();
  const int64_t stated = model.getStatedSamples();
  InFlightDiagnostic error = plan.emitError()
                             << "plan @" << plan.getSymName()
                             << " says how many samples a micro-batch has, but "
                                "layers of model @"
                             << model.getSymName() << " state their sizes for ";
  if (stated > 0)
    error << "the model's own batch of " << rondo::countOf(stated, "sample");
  else
    error << "a micro-batch of the model's own";
  error << ": leave out `samples(" << samples << ")`";
  if (stated > 0 && stated != samples)
    error << ", or use a model with "
          << (model.getSamplesAttr() ? "samples(" : "batch = ") << samples
          << (model.getSamplesAttr() ? ")" : "")
          << " whose layers state their sizes for it";
  if (layer.getCustomAttr())
    error << ", or let the layer state them for several numbers by `samples = "
             "[...]`";
  error.attachNote(layer.getLoc())
      << "layer @" << layer.getSymName() << " states its sizes";
  return error;
}

LogicalResult rondo::pipe::verifySize(Operation *model, int64_t size) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (size <= most)
    return success();
  return model->emitError()
         << "size " << size << " is too large; the maximum is " << most;
}

LogicalResult rondo::pipe::verifyHeads(Operation *model,
                                       const ModelSizes &sizes) {
  if (sizes.hidden % sizes.heads == 0)
    return success();
  return model->emitError()
         << "hidden is " << sizes.hidden << ", not a multiple of the "
         << sizes.heads << " heads";
}

/// Only custom layers alone leave the number of samples open.
static LogicalResult verifyStatedSamples(ModelOp model, int64_t samples) {
  if (samples < 1)
    return model.emitError()
           << "samples is " << samples << "; it must be 1 or more";
  if (model.getSizes())
    return model.emitError() << "samples(" << samples
                             << ") and batch = " << model.getSizes()->batch
                             << " both say how many samples a "
                             << "micro-batch has: leave out samples";
  return verifySize(model, samples);
}

LogicalResult ModelOp::verify() {
  const std::optional<ModelSizes> sizes = getSizes();
  if (IntegerAttr samples = getSamplesAttr())
    if (failed(verifyStatedSamples(*this, samples.getInt())))
      return failure();
  if (!sizes)
    return success();
  if (failed(verifyFigures(*this,
                           {{"vocab", sizes->vocab},
                            {"sequence", sizes->sequence},
                            {"hidden", sizes->hidden},
                            {"heads", sizes->heads},
                            {"ffn", sizes->ffn},
                            {"batch", sizes->batch}},
                           1)))
    return failure();
  for (int64_t size : {sizes->vocab, sizes->sequence, sizes->hidden,
                       sizes->heads, sizes->ffn, sizes->batch})
    if (failed(verifySize(*this, size)))
      return failure();
  return getArchitecture()->verifyModel(*this);
}

/// A layer that states several sizes has that of the model's own micro-batches.
static LogicalResult verifyOwnSize(ModelOp model, LayerOp layer,
                                   CustomAttr custom) {
  const int64_t samples = model.getStatedSamples();
  if (custom.getSamples().empty() || (samples > 0 && custom.findSizes(samples)))
    return success();
  InFlightDiagnostic error = layer.emitError()
                             << "layer @" << layer.getSymName()
                             << " states its sizes for "
                             << custom.describeSamples() << ", but its model ";
  if (samples > 0)
    error << "has micro-batches of " << rondo::countOf(samples, "sample")
          << ": " << adviceForSize(custom, samples);
  else
    error << "does not say how many samples a micro-batch has: write "
             "samples(N) after @"
          << model.getSymName();
  error.attachNote(model.getLoc())
      << "model @" << model.getSymName() << " is here";
  return error;
}

/// Only models that state their samples have streams, and all layers that read
/// a stream declare it alike.
static LogicalResult verifyStreams(ModelOp model) {
  llvm::StringMap<std::pair<LayerOp, StreamAttr>> declared;
  for (LayerOp layer : model.getLayers()) {
    const bool isTimed = layer.getSyntheticAttr() != nullptr;
    if (isTimed && model.getSamplesAttr())
      return layer.emitError()
                 .append("layer @", layer.getSymName(),
                         " is synthetic, but its model states its samples")
                 .attachNote(model.getLoc())
             << "only custom layers state their sizes for a number of samples: "
                "leave out samples";
    const CustomAttr custom = layer.getCustomAttr();
    if (custom && failed(verifyOwnSize(model, layer, custom)))
      return failure();
    if (!custom || custom.getStreams().empty())
      continue;
    if (!model.getSamplesAttr())
      return layer.emitError()
                 .append("layer @", layer.getSymName(), " reads stream '",
                         custom.getStreams().front().getName(), "', but ",
                         model.getSizes()
                             ? "the data of its model are tokens"
                             : "its model does not say how many samples a "
                               "micro-batch has")
                 .attachNote(model.getLoc())
             << "write samples(N) after @" << model.getSymName()
             << (model.getSizes() ? ", and leave out the architecture" : "");
    for (StreamAttr stream : custom.getStreams()) {
      auto [it, isNew] = declared.try_emplace(stream.getName(), layer, stream);
      if (!isNew && it->second.second != stream)
        return layer.emitError()
                   .append("layer @", layer.getSymName(), " reads ", stream,
                           ", another stream of the same name")
                   .attachNote(it->second.first.getLoc())
               << "layer @" << it->second.first.getSymName() << " reads "
               << it->second.second;
    }
  }
  return success();
}

/// Which kinds a model may have, and where.
static LogicalResult verifyPlace(ModelOp model, LayerOp layer, bool isFirst,
                                 bool isLast) {
  const LayerKind kind = layer.getKind();
  const bool isSynthetic = kind == LayerKind::Synthetic;
  const bool hasSizes = model.getSizes().has_value();
  const StringRef family = hasSizes ? model.getArchitecture()->getWord() : "";
  if (isSynthetic && hasSizes)
    return layer.emitError()
               .append("layer @", layer.getSymName(),
                       " is synthetic, but its model is a ", family)
               .attachNote(model.getLoc())
           << "a model is either a " << family << " or all synthetic";
  if (layer.hasLoss() && !isLast)
    return layer.emitError()
               .append("layer @", layer.getSymName(),
                       " writes the loss, but is not the last")
               .attachNote(model.getLoc())
           << "layers after it would have nothing to do";
  if (!isSynthetic && !hasSizes &&
      (kind != LayerKind::Custom || layer.getData() != LayerData::None))
    return layer.emitError()
               .append("layer @", layer.getSymName(), " ",
                       kind == LayerKind::Custom ? "reads " : "is of kind ",
                       kind == LayerKind::Custom
                           ? stringifyLayerData(layer.getData())
                           : stringifyLayerKind(kind),
                       ", but its model gives no sizes")
               .attachNote(model.getLoc())
           << "add gpt<vocab = ..., sequence = ..., hidden = ..., heads = "
              "..., ffn = ..., batch = ...> after @"
           << model.getSymName();
  if (hasSizes && kind != LayerKind::Custom) {
    const bool needsEmbedding = isFirst && layer.getData() != LayerData::Tokens;
    const bool needsHead = isLast && layer.getData() != LayerData::Targets;
    if (needsEmbedding || needsHead)
      return layer.emitError()
                 .append(needsEmbedding ? "an embedding is missing before"
                                        : "a head is missing after",
                         " layer @", layer.getSymName(), " of kind ",
                         stringifyLayerKind(kind))
                 .attachNote(model.getLoc())
             << "a " << family
             << " is one embedding, then blocks, then one head";
  }
  if (hasSizes && (isFirst != (layer.getData() == LayerData::Tokens) ||
                   isLast != (layer.getData() == LayerData::Targets)))
    return layer.emitError()
               .append("layer @", layer.getSymName(), " of kind ",
                       stringifyLayerKind(kind), " is not allowed here")
               .attachNote(model.getLoc())
           << (kind == LayerKind::Custom
                   ? "only the first layer of a " + family +
                         " has data = tokens, and only the last one data = "
                         "targets"
                   : "a " + family +
                         " is one embedding, then blocks, then one head");
  return success();
}

LogicalResult ModelOp::verifyRegions() {
  if (failed(verifyBody<LayerOp>(*this, getBody(), "pipe.layer")))
    return failure();
  SmallVector<LayerOp> layers = getLayers();
  if (layers.empty())
    return emitError() << "model @" << getSymName() << " has no layers";
  auto sizes = getSizes();
  // Custom layers know the shared weight by the name that a gpt gives it.
  if (sizes && sizes->tied && !isa<GptAttr>(getArchitectureAttr()))
    for (LayerOp layer : {layers.front(), layers.back()})
      if (layer.getKind() == LayerKind::Custom)
        return layer.emitError()
                   .append("layer @", layer.getSymName(),
                           " is custom, but its model is a tied ",
                           getArchitecture()->getWord())
                   .attachNote(getLoc())
               << "the embedding and the head share a weight: leave out tied = "
                  "true, or write a gpt<...>";
  for (LayerOp layer : layers)
    if (failed(verifyPlace(*this, layer, layer == layers.front(),
                           layer == layers.back())))
      return failure();
  return verifyStreams(*this);
}
