//===- VerifyModel.cpp - Local rules of models and their layers -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/SourceRules.h"

#include "kinds/Counts.h"

#include "llvm/ADT/StringExtras.h"

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

LayerOp ModelOp::findLayerOfOneSize() {
  const bool hasSizes = getSizes().has_value();
  for (LayerOp layer : getLayers())
    if (layer.getCustomAttr() || (hasSizes && layer.getSyntheticAttr()))
      return layer;
  return nullptr;
}

LogicalResult rondo::pipe::verifySamples(PlanOp plan, ModelOp model) {
  LayerOp layer = model.findLayerOfOneSize();
  if (!plan.getSamplesAttr() || !layer)
    return success();
  const int64_t samples = plan.getSamplesAttr().getInt();
  const std::optional<ModelSizes> sizes = model.getSizes();
  InFlightDiagnostic error = plan.emitError()
                             << "plan @" << plan.getSymName()
                             << " says how many samples a micro-batch has, but "
                                "layers of model @"
                             << model.getSymName() << " state their sizes for ";
  if (sizes)
    error << "the model's own batch of "
          << rondo::countOf(sizes->batch, "sample");
  else
    error << "a micro-batch of the model's own";
  error << ": leave out `samples(" << samples << ")`";
  if (sizes && sizes->batch != samples)
    error << ", or use a model with batch = " << samples
          << " whose layers state their sizes for it";
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

LogicalResult ModelOp::verify() {
  const std::optional<ModelSizes> sizes = getSizes();
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
  if (sizes && sizes->tied)
    for (LayerOp layer : {layers.front(), layers.back()})
      if (layer.getKind() == LayerKind::Custom)
        return layer.emitError()
                   .append("layer @", layer.getSymName(),
                           " is custom, but its model is tied")
                   .attachNote(getLoc())
               << "the embedding and the head share a weight: leave out tied = "
                  "true";
  for (LayerOp layer : layers)
    if (failed(verifyPlace(*this, layer, layer == layers.front(),
                           layer == layers.back())))
      return failure();
  return success();
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
               {"saved_for_input_grad_bytes", getSavedForInputGradBytes()},
               {"saved_for_weight_grad_bytes", getSavedForWeightGradBytes()},
               {"kept_for_weight_grad_bytes", getKeptForWeightGradBytes()},
               {"output_bytes", getOutputBytes()},
               {"workspace_bytes", getWorkspaceBytes()},
               {"backward_workspace_bytes", getBackwardWorkspaceBytes()},
               {"output_without_grad_bytes", getOutputWithoutGradBytes()},
               {"forward_flops", getForwardFlops()},
               {"input_grad_flops", getInputGradFlops()},
               {"weight_grad_flops", getWeightGradFlops()}})) ||
      failed(
          verifyWithoutGrad(op, getOutputWithoutGradBytes(), getOutputBytes())))
    return failure();
  if (getWeightBytes() % 4 != 0)
    return op->emitError() << "weight_bytes is " << getWeightBytes()
                           << ", not a multiple of the 4 bytes of a weight";
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
