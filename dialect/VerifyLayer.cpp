//===- VerifyLayer.cpp - Local rules of layers and their bodies -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/SourceRules.h"

#include "kinds/Counts.h"
#include "runtime/model/layer.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <limits>

using namespace mlir;
using namespace rondo::pipe;

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
  if (failed(verifyFigureLists(op, getLists())) ||
      failed(verifyFigures(op, {{"weight_bytes", getWeightBytes()}})))
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
  int64_t forInputGrad = at(lists[0].second),
          forWeightGrad = at(lists[1].second);
  // More than any layer may save, so that sums fit.
  constexpr int64_t most = int64_t(1) << 50;
  for (SavedPartAttr part : getSaved())
    (part.getReadBy() == ReadBy::InputGrad ? forInputGrad : forWeightGrad) +=
        rondo::runtime::alignedBytes(std::min(at(part.getBytes()), most));
  return rondo::runtime::CustomSizes{
      samples,
      forInputGrad,
      forWeightGrad,
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

/// A list has a number for each size, or one for all.
static LogicalResult verifyList(Operation *op, CustomAttr custom,
                                const Twine &name, ArrayRef<int64_t> list) {
  const size_t sizes = custom.getSamples().size();
  const std::string what = name.str();
  for (int64_t number : list)
    if (failed(verifyFigures(op, Figure{what.c_str(), number})))
      return failure();
  if (list.size() == 1 || (!list.empty() && list.size() == sizes))
    return success();
  if (sizes == 0)
    return op->emitError()
           << what << " has " << rondo::countOf(list.size(), "number")
           << ", but the layer does not say for which numbers of samples: "
              "add samples = [...]";
  return op->emitError() << what << " has "
                         << rondo::countOf(list.size(), "number") << " for "
                         << rondo::countOf(sizes, "number")
                         << " of samples (samples)";
}

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
  for (auto [name, list] : custom.getListsBySize())
    if (failed(verifyList(op, custom, name, list)))
      return failure();
  for (SavedPartAttr part : custom.getSaved())
    if (failed(verifyList(op, custom, "bytes of part '" + part.getName() + "'",
                          part.getBytes())))
      return failure();
  return success();
}

/// Whether `@layer.name` can be written without quotes.
static bool isNameOfPart(StringRef name) {
  return !name.empty() &&
         (llvm::isAlpha(name.front()) || name.front() == '_') &&
         llvm::all_of(name, [](char c) {
           return llvm::isAlnum(c) || StringRef("_.-$").contains(c);
         });
}

/// Named parts have names of their own, and their sizes are all that F saves.
static LogicalResult verifySaved(Operation *op, CustomAttr custom) {
  const ArrayRef<SavedPartAttr> parts = custom.getSaved();
  if (parts.empty())
    return success();
  if (parts.size() > rondo::runtime::maxLayerParts)
    return op->emitError() << "saved has " << parts.size()
                           << " parts; the maximum is "
                           << rondo::runtime::maxLayerParts;
  const auto lists = custom.getListsBySize();
  for (auto [name, list] : llvm::ArrayRef(lists).take_front(2))
    if (llvm::any_of(list, [](int64_t bytes) { return bytes != 0; }))
      return op->emitError()
             << name << " and saved state the same bytes: leave out " << name;
  llvm::StringSet<> names;
  for (SavedPartAttr part : parts) {
    const StringRef name = part.getName();
    if (!isNameOfPart(name))
      return op->emitError() << "part '" << name
                             << "' of saved needs a name of letters, digits, "
                                "_, ., - and $ that "
                                "begins with a letter or _";
    if (name == "saved_for_input_grad" || name == "saved_for_weight_grad")
      return op->emitError()
             << "part '" << name << "' of saved has the name of all parts that "
             << (name == "saved_for_input_grad" ? "I alone reads" : "W reads")
             << ": give it another";
    if (!names.insert(name).second)
      return op->emitError() << "saved has two parts named '" << name << "'";
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
      failed(verifyLists(op, *this)) || failed(verifySaved(op, *this)))
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
