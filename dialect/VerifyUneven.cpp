//===- VerifyUneven.cpp - Micro-batches that differ -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/SourceRules.h"
#include "kinds/Counts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace rondo::pipe;
using rondo::countOf;
using rondo::ReplicaBuffers;

//===----------------------------------------------------------------------===//
// Figures by micro-batch
//===----------------------------------------------------------------------===//

static int64_t entryOf(ArrayRef<int64_t> list, int64_t microbatch) {
  return list.size() == 1 ? list.front() : list[microbatch];
}

std::array<std::pair<const char *, ArrayRef<int64_t>>, 7>
SyntheticAttr::getLists() const {
  return {{{"forward_ns", getForwardNs()},
           {"input_grad_ns", getInputGradNs()},
           {"weight_grad_ns", getWeightGradNs()},
           {"activation_bytes", getActivationBytes()},
           {"input_grad_frees_bytes", getInputGradFreesBytes()},
           {"output_bytes", getOutputBytes()},
           {"input_grad_keeps_bytes", getInputGradKeepsBytes()}}};
}

SyntheticCosts SyntheticAttr::of(int64_t i) const {
  return {
      entryOf(getForwardNs(), i),           entryOf(getInputGradNs(), i),
      entryOf(getWeightGradNs(), i),        entryOf(getActivationBytes(), i),
      entryOf(getInputGradFreesBytes(), i), entryOf(getOutputBytes(), i),
      entryOf(getInputGradKeepsBytes(), i)};
}

std::array<std::pair<const char *, ArrayRef<int64_t>>, 12>
StageCostsAttr::getLists() const {
  return {{{"forward_ns", getForwardNs()},
           {"input_grad_ns", getInputGradNs()},
           {"weight_grad_ns", getWeightGradNs()},
           {"activation_bytes", getActivationBytes()},
           {"input_grad_frees_bytes", getInputGradFreesBytes()},
           {"output_bytes", getOutputBytes()},
           {"recompute_ns", getRecomputeNs()},
           {"recomputed_bytes", getRecomputedBytes()},
           {"checkpoint_bytes", getCheckpointBytes()},
           {"input_grad_keeps_bytes", getInputGradKeepsBytes()},
           {"output_without_grad_bytes", getOutputWithoutGradBytes()},
           {"offload_bytes", getOffloadBytes()}}};
}

StageCosts StageCostsAttr::of(int64_t i) const {
  StageCosts costs;
  costs.forwardNs = entryOf(getForwardNs(), i);
  costs.inputGradNs = entryOf(getInputGradNs(), i);
  costs.weightGradNs = entryOf(getWeightGradNs(), i);
  costs.activationBytes = entryOf(getActivationBytes(), i);
  costs.inputGradFreesBytes = entryOf(getInputGradFreesBytes(), i);
  costs.outputBytes = entryOf(getOutputBytes(), i);
  costs.stepNs = getStepNs();
  costs.recomputeNs = entryOf(getRecomputeNs(), i);
  costs.recomputedBytes = entryOf(getRecomputedBytes(), i);
  costs.checkpointBytes = entryOf(getCheckpointBytes(), i);
  costs.inputGradKeepsBytes = entryOf(getInputGradKeepsBytes(), i);
  costs.outputWithoutGradBytes = entryOf(getOutputWithoutGradBytes(), i);
  if (!getOffloadBytes().empty())
    costs.offloadBytes = entryOf(getOffloadBytes(), i);
  return costs;
}

/// A figure of all micro-batches; one entry if it is the same for all.
template <typename Costs>
static SmallVector<int64_t> figureList(ArrayRef<Costs> costs,
                                       int64_t Costs::*figure) {
  SmallVector<int64_t> all;
  for (const Costs &each : costs)
    all.push_back(each.*figure);
  if (llvm::all_equal(all))
    all.resize(1);
  return all;
}

SyntheticAttr SyntheticAttr::get(MLIRContext *context,
                                 ArrayRef<SyntheticCosts> costs,
                                 int64_t weightBytes) {
  auto list = [&](int64_t SyntheticCosts::*figure) {
    return figureList(costs, figure);
  };
  return get(context, list(&SyntheticCosts::forwardNs),
             list(&SyntheticCosts::inputGradNs),
             list(&SyntheticCosts::weightGradNs),
             list(&SyntheticCosts::activationBytes),
             list(&SyntheticCosts::inputGradFreesBytes),
             list(&SyntheticCosts::outputBytes), weightBytes,
             list(&SyntheticCosts::inputGradKeepsBytes));
}

StageCostsAttr StageCostsAttr::get(MLIRContext *context,
                                   ArrayRef<StageCosts> costs) {
  auto list = [&](int64_t StageCosts::*figure) {
    return figureList(costs, figure);
  };
  SmallVector<int64_t> offloaded;
  for (const StageCosts &each : costs)
    if (each.offloadBytes)
      offloaded.push_back(*each.offloadBytes);
  if (!offloaded.empty() && llvm::all_equal(offloaded))
    offloaded.resize(1);
  return get(
      context, list(&StageCosts::forwardNs), list(&StageCosts::inputGradNs),
      list(&StageCosts::weightGradNs), list(&StageCosts::activationBytes),
      list(&StageCosts::inputGradFreesBytes), list(&StageCosts::outputBytes),
      costs.front().stepNs, list(&StageCosts::recomputeNs),
      list(&StageCosts::recomputedBytes), list(&StageCosts::checkpointBytes),
      list(&StageCosts::inputGradKeepsBytes),
      list(&StageCosts::outputWithoutGradBytes), offloaded);
}

std::vector<ReplicaBuffers> StageOp::buffersByMicrobatch() {
  std::vector<ReplicaBuffers> result;
  ArrayAttr buffers = getBuffersAttr();
  if (!buffers || buffers.size() == getRanks().size())
    return result;
  for (auto one : buffers.getAsRange<BuffersAttr>())
    result.push_back(one.getBytes());
  return result;
}

std::vector<ReplicaBuffers> StageOp::buffersByReplica() {
  std::vector<ReplicaBuffers> result;
  if (ArrayAttr buffers = getBuffersAttr())
    for (auto one : buffers.getAsRange<BuffersAttr>())
      result.push_back(one.getBytes());
  const size_t replicas = getRanks().size();
  if (result.size() <= replicas)
    return result;
  const size_t each = result.size() / replicas;
  for (auto [k, other] : llvm::enumerate(result))
    for (auto [most, bytes] : llvm::zip_equal(result[k / each * each], other))
      most = std::max(most, bytes);
  for (size_t replica = 1; replica < replicas; ++replica)
    result[replica] = result[replica * each];
  result.resize(replicas);
  return result;
}

//===----------------------------------------------------------------------===//
// Documents
//===----------------------------------------------------------------------===//

ArrayRef<int64_t> PlanOp::getDocumentsOf(int64_t microbatch) {
  if (getTokensAttr())
    return longestRow(*this);
  if (!getDocumentsAttr())
    return {};
  return cast<DenseI64ArrayAttr>(getDocumentsAttr()[microbatch]).asArrayRef();
}

int64_t PlanOp::getTokensOf(int64_t microbatch) {
  int64_t tokens = 0;
  for (int64_t length : getDocumentsOf(microbatch))
    tokens += length;
  return tokens;
}

int64_t PlanOp::getLargestMicrobatch() {
  int64_t largest = 0;
  for (int64_t i = 1; getDocumentsAttr() && i < int64_t(getMicrobatches()); ++i)
    if (getTokensOf(i) > getTokensOf(largest))
      largest = i;
  return largest;
}

template <typename Attr> static bool listsFigures(Attr attr) {
  return attr && llvm::any_of(attr.getLists(), [](const auto &list) {
           return list.second.size() > 1;
         });
}

bool PlanOp::isUneven() {
  if (hasDocuments())
    return true;
  for (StageOp stage : getBody().getOps<StageOp>())
    if (listsFigures(stage.getCostsAttr()) ||
        !stage.buffersByMicrobatch().empty())
      return true;
  ModelOp model = lookupModel();
  return model && llvm::any_of(model.getLayers(), [](LayerOp layer) {
           return listsFigures(layer.getSyntheticAttr());
         });
}

LogicalResult rondo::pipe::verifyDocuments(PlanOp plan) {
  ArrayAttr documents = plan.getDocumentsAttr();
  if (!documents)
    return success();
  const int64_t microbatches = plan.getMicrobatches();
  if (plan.getSamplesAttr())
    return plan.emitError() << "plan @" << plan.getSymName()
                            << " has both samples and documents: a micro-batch "
                               "is one row of documents; leave out samples";
  if (int64_t(documents.size()) != microbatches)
    return plan.emitError()
           << "documents has lists for "
           << countOf(documents.size(), "micro-batch") << "; microbatches is "
           << microbatches << ": write one list for each";
  for (int64_t i = 0; i < microbatches; ++i) {
    if (plan.getDocumentsOf(i).empty())
      return plan.emitError() << "micro-batch " << i
                              << " has no documents; it must have 1 or more";
    for (int64_t length : plan.getDocumentsOf(i))
      if (length < 1)
        return plan.emitError() << "a document of micro-batch " << i << " has "
                                << length << " tokens; it must have 1 or more";
    // Rows are sized in 32 bits.
    constexpr int64_t most = int64_t(1) << 30;
    int64_t tokens = 0;
    for (int64_t length : plan.getDocumentsOf(i))
      tokens += std::min(length, most + 1);
    if (tokens > most)
      return plan.emitError()
             << "micro-batch " << i << " has more than " << most << " tokens";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Plans of micro-batches that differ
//===----------------------------------------------------------------------===//

template <typename Op>
static InFlightDiagnostic noteAt(InFlightDiagnostic error, Op other,
                                 StringRef what) {
  error.attachNote(other.getLoc())
      << what << " @" << other.getSymName() << " is here";
  return error;
}

LogicalResult rondo::pipe::verifyTakeDocuments(PlanOp plan, ModelOp model) {
  const StringRef verb = plan.getTokensAttr() ? "draws" : "lists";
  if (!model.getSizes()) {
    InFlightDiagnostic error =
        plan.emitError() << "plan @" << plan.getSymName() << " " << verb
                         << " documents, but the layers of its model take no "
                            "tokens: write gpt<...> or llama<...> after the "
                            "model's name";
    if (!plan.getTokensAttr())
      error << ", or lists of figures in its layers";
    return noteAt(std::move(error), model, "model");
  }
  for (LayerOp layer : model.getLayers())
    if (CustomAttr custom = layer.getCustomAttr();
        custom && !custom.getDocuments())
      return noteAt(plan.emitError()
                        << "plan @" << plan.getSymName() << " " << verb
                        << " documents, but layer @" << layer.getSymName()
                        << " does not say that its body takes rows of "
                           "documents: write documents = true into the layer "
                           "if it does",
                    layer, "layer");
  return success();
}

/// Documents fit their model.
static LogicalResult verifyDocumentsOf(PlanOp plan, ModelOp model) {
  if (failed(verifyTakeDocuments(plan, model)))
    return failure();
  const auto sizes = model.getSizes();
  for (int64_t i = 0; i < int64_t(plan.getMicrobatches()); ++i)
    for (int64_t length : plan.getDocumentsOf(i))
      if (length > sizes->sequence)
        return noteAt(plan.emitError()
                          << "a document of micro-batch " << i << " has "
                          << length << " tokens; the model's sequence is "
                          << sizes->sequence
                          << ": cut the document, or raise sequence",
                      model, "model");
  return success();
}

/// A list has an entry for each micro-batch.
template <typename Op, typename Attr>
static LogicalResult verifyEntries(Op op, StringRef what, Attr attr,
                                   PlanOp plan) {
  const int64_t microbatches = plan.getMicrobatches();
  if (attr)
    for (auto [key, list] : attr.getLists())
      if (list.size() > 1 && int64_t(list.size()) != microbatches)
        return noteAt(op.emitError()
                          << key << " of " << what << " @" << op.getSymName()
                          << " has " << list.size() << " entries; plan @"
                          << plan.getSymName() << " has "
                          << countOf(microbatches, "micro-batch")
                          << ": write one entry for each",
                      plan, "plan");
  return success();
}

/// Replicas take whole micro-batches: a share of samples is no share of tokens.
static LogicalResult verifyUnevenStage(StageOp stage, PlanOp plan) {
  if (stage.getRanks().size() == 1 || stage.getRoundRobin())
    return success();
  return noteAt(stage.emitError()
                    << "the micro-batches of plan @" << plan.getSymName()
                    << " differ, but stage @" << stage.getSymName()
                    << " divides the samples of each over its replicas: "
                    << adviceForWholeOnes(stage, plan),
                plan, "plan");
}

LogicalResult rondo::pipe::verifyUneven(PlanOp plan, ModelOp model) {
  if ((plan.getDocumentsAttr() && failed(verifyDocumentsOf(plan, model))) ||
      (plan.getTokensAttr() && failed(verifyTokensOf(plan, model))))
    return failure();
  for (LayerOp layer : model.getLayers())
    if (failed(verifyEntries(layer, "layer", layer.getSyntheticAttr(), plan)))
      return failure();
  const bool isUneven = plan.isUneven();
  for (StageOp stage : plan.getStages())
    if (failed(verifyEntries(stage, "stage", stage.getCostsAttr(), plan)) ||
        (isUneven && failed(verifyUnevenStage(stage, plan))))
      return failure();
  return success();
}
