//===- VerifyModel.cpp - Local rules of models and their layers -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/SourceRules.h"

#include "kinds/Counts.h"
#include "runtime/model/layer.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

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

/// What layers read of streams: only models that state their samples have them,
/// and layers that read the same one declare the same.
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

//===----------------------------------------------------------------------===//
// Bodies of layers
//===----------------------------------------------------------------------===//

LogicalResult RoleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               LayerKind role) {
  if (role <= LayerKind::Head)
    return success();
  return emitError() << "a layer of kind " << stringifyLayerKind(role)
                     << " states its own figures";
}

LayerKind RoleAttr::getKind() const { return getRole(); }

LayerData RoleAttr::getDataRead() const {
  if (getRole() == LayerKind::Embedding)
    return LayerData::Tokens;
  return getRole() == LayerKind::Head ? LayerData::Targets : LayerData::None;
}

bool RoleAttr::hasLoss() const { return getRole() == LayerKind::Head; }

LogicalResult RoleAttr::verifyLayer(Operation *) const { return success(); }

LayerKind SyntheticAttr::getKind() const { return LayerKind::Synthetic; }

LayerData SyntheticAttr::getDataRead() const { return LayerData::None; }

bool SyntheticAttr::hasLoss() const { return false; }

LogicalResult SyntheticAttr::verifyLayer(Operation *op) const {
  if (failed(verifyFigures(
          op, {{"forward_ns", getForwardNs()},
               {"input_grad_ns", getInputGradNs()},
               {"weight_grad_ns", getWeightGradNs()},
               {"activation_bytes", getActivationBytes()},
               {"input_grad_frees_bytes", getInputGradFreesBytes()},
               {"output_bytes", getOutputBytes()},
               {"weight_bytes", getWeightBytes()},
               {"input_grad_keeps_bytes", getInputGradKeepsBytes()}})))
    return failure();
  return verifyFrees(op, getInputGradFreesBytes(), getActivationBytes());
}

LayerKind CustomAttr::getKind() const { return LayerKind::Custom; }

LayerData CustomAttr::getDataRead() const { return getData(); }

bool CustomAttr::hasLoss() const { return getLoss(); }

/// Bytes of what a layer reads of one sample stay below this.
static constexpr int64_t maxRowBytes = int64_t(1) << 40;

static LogicalResult verifyStream(Operation *op, StreamAttr stream) {
  const StringRef name = stream.getName();
  auto fail = [&] { return op->emitError() << "stream '" << name << "' "; };
  if (name.empty())
    return op->emitError() << "a stream has no name";
  if (stream.getSizes().size() > rondo::runtime::maxStreamDims)
    return fail() << "has " << stream.getSizes().size()
                  << " sizes; the maximum is " << rondo::runtime::maxStreamDims;
  int64_t count = 1;
  for (int64_t size : stream.getSizes()) {
    if (size < 1)
      return fail() << "has a size of " << size << "; the minimum is 1";
    if (size > maxRowBytes / 4 / count)
      return fail() << "has more than " << maxRowBytes / 4
                    << " numbers for each sample";
    count *= size;
  }
  const bool isReal = stream.getDtype() == StreamType::Fp32;
  if (isReal && (stream.getBelow() != 0 || stream.getIgnored()))
    return fail() << "is fp32, of which any number is allowed: leave out below "
                     "and ignored";
  if (stream.getBelow() < 0)
    return fail() << "has below = " << stream.getBelow()
                  << "; the minimum is 1";
  const bool isByte = stream.getDtype() == StreamType::Uint8;
  const int64_t least = isByte ? 0 : std::numeric_limits<int32_t>::min(),
                most = isByte ? 255 : std::numeric_limits<int32_t>::max();
  if (stream.getBelow() > most + 1)
    return fail() << "has below = " << stream.getBelow()
                  << "; its numbers are at most " << most;
  if (std::optional<int64_t> ignored = stream.getIgnored();
      ignored && (*ignored < least || *ignored > most))
    return fail() << "has ignored = " << *ignored << "; its numbers are from "
                  << least << " to " << most;
  return success();
}

static LogicalResult verifyStreamsOfLayer(Operation *op, CustomAttr custom) {
  const ArrayRef<StreamAttr> streams = custom.getStreams();
  if (streams.size() > rondo::runtime::maxLayerStreams)
    return op->emitError() << "the layer reads " << streams.size()
                           << " streams; the maximum is "
                           << rondo::runtime::maxLayerStreams;
  if (!streams.empty() && custom.getData() != LayerData::None)
    return op->emitError() << "data = " << stringifyLayerData(custom.getData())
                           << " and streams are of two models: leave out one";
  llvm::StringSet<> names;
  for (StreamAttr stream : streams) {
    if (failed(verifyStream(op, stream)))
      return failure();
    if (!names.insert(stream.getName()).second)
      return op->emitError()
             << "the layer reads stream '" << stream.getName() << "' twice";
  }
  return success();
}

/// The frozen weights follow the others, at a multiple of 16 elements.
static LogicalResult verifyFrozen(Operation *op, CustomAttr custom) {
  const int64_t frozen = custom.getFrozenWeightBytes(),
                trained = custom.getWeightBytes() - frozen;
  if (frozen == 0 ||
      (trained >= 0 && trained % rondo::runtime::bufferAlignment == 0))
    return success();
  return op->emitError() << "frozen_weight_bytes is " << frozen << " of "
                         << custom.getWeightBytes()
                         << "; what lies before it must be a multiple of "
                         << rondo::runtime::bufferAlignment
                         << " bytes, or nothing";
}

std::array<std::pair<const char *, ArrayRef<int64_t>>, 10>
CustomAttr::getListsBySize() const {
  return {{{"saved_for_input_grad_bytes", getSavedForInputGradBytes()},
           {"saved_for_weight_grad_bytes", getSavedForWeightGradBytes()},
           {"kept_for_weight_grad_bytes", getKeptForWeightGradBytes()},
           {"output_bytes", getOutputBytes()},
           {"output_without_grad_bytes", getOutputWithoutGradBytes()},
           {"workspace_bytes", getWorkspaceBytes()},
           {"backward_workspace_bytes", getBackwardWorkspaceBytes()},
           {"forward_flops", getForwardFlops()},
           {"input_grad_flops", getInputGradFlops()},
           {"weight_grad_flops", getWeightGradFlops()}}};
}

std::optional<rondo::runtime::CustomSizes>
CustomAttr::findSizes(int64_t samples) const {
  const ArrayRef<int64_t> all = getSamples();
  const size_t place = llvm::find(all, samples) - all.begin();
  if (!all.empty() && place == all.size())
    return std::nullopt;
  auto at = [&](ArrayRef<int64_t> list) {
    return list.size() == 1 ? list.front() : list[place];
  };
  const auto lists = getListsBySize();
  return rondo::runtime::CustomSizes{
      samples,
      at(lists[0].second),
      at(lists[1].second),
      at(lists[2].second),
      at(lists[3].second),
      at(lists[4].second),
      at(lists[5].second),
      at(lists[6].second),
      {at(lists[7].second), at(lists[8].second), at(lists[9].second)}};
}

std::string CustomAttr::describeSamples() const {
  const ArrayRef<int64_t> all = getSamples();
  std::string text;
  for (auto [k, samples] : llvm::enumerate(all))
    text += (k == 0                ? ""
             : k + 1 == all.size() ? " and "
                                   : ", ") +
            std::to_string(samples);
  return text + (all.size() == 1 && all.front() == 1 ? " sample" : " samples");
}

/// Each list has a number for each size, or one for all.
static LogicalResult verifyLists(Operation *op, CustomAttr custom) {
  const ArrayRef<int64_t> samples = custom.getSamples();
  if (samples.size() > rondo::runtime::maxLayerSizes)
    return op->emitError() << "samples has " << samples.size()
                           << " numbers; the maximum is "
                           << rondo::runtime::maxLayerSizes;
  if (!samples.empty() &&
      (samples.front() < 1 ||
       !llvm::is_sorted(samples, std::less_equal<int64_t>())))
    return op->emitError() << "samples must be numbers from 1 on, ascending";
  for (auto [name, list] : custom.getListsBySize()) {
    for (int64_t number : list)
      if (failed(verifyFigures(op, Figure{name, number})))
        return failure();
    if (list.size() == 1 || (!list.empty() && list.size() == samples.size()))
      continue;
    if (samples.empty())
      return op->emitError()
             << name << " has " << rondo::countOf(list.size(), "number")
             << ", but the layer does not say for which numbers of samples: "
                "add samples = [...]";
    return op->emitError() << name << " has "
                           << rondo::countOf(list.size(), "number") << " for "
                           << rondo::countOf(samples.size(), "number")
                           << " of samples (samples)";
  }
  return success();
}

/// Replicas divide outputs sample by sample.
static LogicalResult verifyBySample(Operation *op, CustomAttr custom) {
  if (!custom.getBySample())
    return success();
  if (custom.getSamples().empty())
    return op->emitError()
           << "by_sample = true lets replicas divide micro-batches, but the "
              "layer states its sizes for whole ones alone: add samples = "
              "[...]";
  int64_t ofOne = -1;
  for (int64_t samples : custom.getSamples()) {
    const rondo::runtime::CustomSizes sizes = *custom.findSizes(samples);
    if (sizes.outputWithoutGrad != 0)
      return op->emitError()
             << "by_sample = true needs an output that has the samples one "
                "after another, but its last "
             << sizes.outputWithoutGrad
             << " bytes have no gradient: leave out one";
    if (sizes.output % samples == 0 &&
        (ofOne < 0 || sizes.output / samples == ofOne)) {
      ofOne = sizes.output / samples;
      continue;
    }
    InFlightDiagnostic error = op->emitError()
                               << "by_sample = true needs an output of equal "
                                  "size for each sample, but output_bytes is "
                               << sizes.output << " for "
                               << rondo::countOf(samples, "sample");
    if (ofOne >= 0)
      error << ", not " << ofOne << " for each";
    return error;
  }
  return success();
}

LogicalResult CustomAttr::verifyLayer(Operation *op) const {
  const StringRef body = getBody();
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (body.empty() || llvm::isDigit(body.front()) ||
      !llvm::all_of(body, isPart))
    return op->emitError() << "body '" << body
                           << "' is not a C name: letters, digits and _, not "
                              "beginning with a digit";
  if (failed(verifyFigures(
          op, {{"weight_bytes", getWeightBytes()},
               {"tensors", getTensors()},
               {"frozen_weight_bytes", getFrozenWeightBytes()}})) ||
      failed(verifyLists(op, *this)))
    return failure();
  for (size_t k = 0; k < getNumSizes(); ++k) {
    const rondo::runtime::CustomSizes sizes =
        *findSizes(getSamples().empty() ? 0 : getSamples()[k]);
    if (failed(verifyWithoutGrad(op, sizes.outputWithoutGrad, sizes.output)))
      return failure();
  }
  if (failed(verifyBySample(op, *this)))
    return failure();
  if (failed(verifyStreamsOfLayer(op, *this)))
    return failure();
  if (getTensors() > rondo::runtime::maxLayerTensors)
    return op->emitError() << "tensors is " << getTensors()
                           << "; the maximum is "
                           << rondo::runtime::maxLayerTensors;
  if (getWeightBytes() % 4 != 0)
    return op->emitError() << "weight_bytes is " << getWeightBytes()
                           << ", not a multiple of the 4 bytes of a weight";
  if (failed(verifyFrozen(op, *this)))
    return failure();
  if (getData() == LayerData::Targets && !getLoss())
    return op->emitError()
           << "only a layer that writes the loss reads targets: "
              "add loss = true";
  return success();
}

/// Each time is a list by size, of one without `samples`.
static LogicalResult verifyCosts(LayerOp op, LayerCostsAttr costs) {
  const ArrayRef<int64_t> samples = costs.getSamples();
  const size_t count = costs.areOfModelSize() ? 1 : samples.size();
  constexpr std::array names = {"forward_ns", "input_grad_ns",
                                "weight_grad_ns"};
  const std::array<ArrayRef<int64_t>, 3> times = costs.getTimes();
  for (auto [name, list] : llvm::zip_equal(names, times)) {
    if (list.size() != count && costs.areOfModelSize())
      return op.emitError()
             << name << " has " << rondo::countOf(list.size(), "time")
             << ", but the costs do not say for which numbers "
                "of samples: add samples = [...]";
    if (list.size() != count)
      return op.emitError()
             << name << " has " << rondo::countOf(list.size(), "time")
             << " for " << rondo::countOf(count, "number")
             << " of samples (samples)";
    for (int64_t ns : list)
      if (failed(verifyFigures(op, Figure{name, ns})))
        return failure();
  }
  if (!samples.empty() &&
      (samples.front() < 1 ||
       !llvm::is_sorted(samples, std::less_equal<int64_t>())))
    return op.emitError() << "samples must be numbers from 1 on, ascending";
  return success();
}

LogicalResult LayerOp::verify() {
  if (LayerCostsAttr costs = getCostsAttr())
    if (failed(verifyCosts(*this, costs)))
      return failure();
  return getBody().verifyLayer(*this);
}
