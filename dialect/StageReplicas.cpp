//===- StageReplicas.cpp - Which ranks stages are on ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/SourceRules.h"

#include "kinds/Counts.h"

#include <algorithm>

using namespace mlir;
using namespace rondo::pipe;
using rondo::ReplicaBuffers;
using rondo::Replicas;
using rondo::Share;

std::vector<Share> StageOp::sharesOf(int64_t samples) {
  ArrayRef<int64_t> ranks = getRanks();
  std::vector<Share> shares;
  for (auto [replica, rank] : llvm::enumerate(ranks)) {
    const int64_t own = getRoundRobin() ? samples
                        : getShares()
                            ? (*getShares())[replica]
                            : samples / static_cast<int64_t>(ranks.size());
    shares.push_back({static_cast<int32_t>(rank), static_cast<int32_t>(own)});
  }
  return shares;
}

void StageOp::addTo(Replicas &replicas, int64_t samples) {
  if (getRoundRobin())
    replicas.addRoundRobinStage({getRanks().begin(), getRanks().end()},
                                static_cast<int32_t>(samples));
  else
    replicas.addStage(sharesOf(samples), static_cast<int32_t>(getShards()));
}

/// Shards of what `sharded` names; 1 without it.
static int64_t shardsOf(StageOp stage) {
  auto sharded = stage.getSharded();
  if (!sharded)
    return 1;
  const int64_t all = stage.getRanks().size();
  return sharded->getShards() == 0 ? all : sharded->getShards();
}

bool StageOp::shardsMomentsAlone() {
  auto sharded = getSharded();
  return sharded && sharded->getState() == ShardedState::Moments;
}

int64_t StageOp::getShards() {
  return shardsMomentsAlone() ? 1 : shardsOf(*this);
}

int64_t StageOp::getMomentShards() {
  return shardsMomentsAlone() ? shardsOf(*this) : 1;
}

bool StageOp::recomputes(StringAttr layer) {
  ArrayAttr names = getRecomputeAttr();
  auto name = FlatSymbolRefAttr::get(layer);
  return names && llvm::is_contained(names.empty() ? getLayers() : names, name);
}

void StageOp::setBuffersByReplica(ArrayRef<BuffersAttr> buffers) {
  setBuffersAttr(ArrayAttr::get(
      getContext(), SmallVector<Attribute>(buffers.begin(), buffers.end())));
}

std::string StageOp::describeRanks() {
  std::string text = nounFor(getRanks().size(), "rank");
  for (auto [replica, rank] : llvm::enumerate(getRanks())) {
    const bool isLast = replica + 1 == getRanks().size();
    text += replica == 0 ? " " : isLast ? " and " : ", ";
    text += std::to_string(rank);
  }
  return text;
}

Replicas PlanOp::getReplicas() {
  Replicas replicas;
  const int64_t samples =
      std::clamp<int64_t>(getSamplesOfMicrobatch(), 1, rondo::maxSamples);
  for (StageOp stage : getStages())
    stage.addTo(replicas, samples);
  return replicas;
}

/// Ranks that exist, each once.
static LogicalResult verifyRanks(StageOp stage) {
  if (stage.getRanks().empty())
    return stage.emitError()
           << "stage @" << stage.getSymName() << " is on no rank";
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t rank : stage.getRanks()) {
    if (rank < 0)
      return stage.emitError()
             << "stage @" << stage.getSymName() << " is on rank " << rank
             << "; ranks are numbered from 0";
    if (!seen.insert(rank).second)
      return stage.emitError()
             << "stage @" << stage.getSymName() << " is on rank " << rank
             << " twice; it has one replica on a rank, with all its samples "
                "there";
  }
  return success();
}

LogicalResult rondo::pipe::verifyReplicas(StageOp stage) {
  if (failed(verifyRanks(stage)))
    return failure();
  if (auto shares = stage.getShares())
    for (auto [rank, share] : llvm::zip(stage.getRanks(), *shares))
      if (share < 1 || share > rondo::maxSamples)
        return stage.emitError() << "stage @" << stage.getSymName() << " has "
                                 << share << " samples on rank " << rank
                                 << "; it must be 1 to " << rondo::maxSamples;
  const size_t replicas = stage.getRanks().size();
  if (stage.getRoundRobin() && stage.getShares())
    return stage.emitError() << "stage @" << stage.getSymName()
                             << " both divides the samples of each micro-batch "
                                "over its replicas and "
                                "assigns them whole micro-batches; leave out "
                                "`round_robin`, or the samples "
                                "after its ranks";
  if (stage.getRoundRobin() && replicas == 1)
    return stage.emitError() << "stage @" << stage.getSymName()
                             << " assigns micro-batches to one replica; list "
                                "several ranks, or leave "
                                "out `round_robin`";
  if (stage.getSharded()) {
    if (stage.getRoundRobin() && !stage.shardsMomentsAlone())
      return stage.emitError()
             << "stage @" << stage.getSymName()
             << " is sharded, but assigns whole micro-batches to its replicas; "
                "those of a group gather together, so leave out `round_robin` "
                "or "
                "`sharded`";
    const int64_t shards = shardsOf(stage);
    if (shards < 2 || replicas % shards != 0)
      return stage.emitError()
             << "stage @" << stage.getSymName() << " has its state in "
             << countOf(shards, "shard") << ", but "
             << countOf(replicas, "replica")
             << ": groups of 2 or more must divide them; "
             << (replicas == 1
                     ? "list 2 ranks or more, or leave out `sharded`"
                     : "leave out `shards` for one shard on each rank, or "
                       "write a number that divides them");
  }
  if (ArrayAttr buffers = stage.getBuffersAttr())
    if (buffers.size() != replicas &&
        buffers.size() !=
            replicas * cast<PlanOp>(stage->getParentOp()).getMicrobatches())
      return stage.emitError()
             << "stage @" << stage.getSymName() << " lists buffers of "
             << countOf(buffers.size(), "replica") << ", but it has "
             << replicas;
  return success();
}

/// `[2: 4, 3: 3]`: as equal as samples can be shared.
static std::string nearlyEqual(ArrayRef<int64_t> ranks, int64_t samples) {
  const int64_t replicas = ranks.size();
  std::string text;
  for (auto [replica, rank] : llvm::enumerate(ranks))
    text += (replica > 0 ? ", " : "[") + std::to_string(rank) + ": " +
            std::to_string(samples / replicas +
                           (int64_t(replica) < samples % replicas));
  return text + "]";
}

std::string rondo::pipe::adviceForWholeOnes(StageOp stage, PlanOp plan) {
  const std::string start = stage.getSharded() && !stage.shardsMomentsAlone()
                                ? "leave out `sharded` and "
                                : "";
  if (static_cast<uint64_t>(plan.getMicrobatches()) < stage.getRanks().size())
    return start + "put the stage on one rank";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << start << "write `on [";
  llvm::interleaveComma(stage.getRanks(), os);
  os << "] round_robin`, or put the stage on one rank";
  return text;
}

/// The body of a layer takes whole micro-batches, or states its sizes for each
/// replica's share.
static LogicalResult verifyBody(StageOp stage, PlanOp plan, LayerOp layer) {
  const CustomAttr custom = layer.getCustomAttr();
  const StringRef name = layer.getSymName();
  if (custom.getBySample()) {
    for (const Share &share : stage.sharesOf(plan.getSamplesOfMicrobatch())) {
      if (share.samples < 1 || custom.findSizes(share.samples))
        continue;
      InFlightDiagnostic error =
          stage.emitError()
          << "stage @" << stage.getSymName() << " has a replica that takes "
          << rondo::countOf(share.samples, "sample")
          << " of a micro-batch, but layer @" << name
          << " states its sizes for " << custom.describeSamples()
          << ": give each replica one of these, as in `[RANK: SAMPLES, ...]`, "
             "or "
          << adviceForSize(custom, share.samples);
      error.attachNote(layer.getLoc()) << "layer @" << name << " is here";
      return error;
    }
    return success();
  }
  InFlightDiagnostic error = stage.emitError()
                             << "stage @" << stage.getSymName() << " has "
                             << stage.getRanks().size() << " replicas";
  if (stage.getSharded() && !stage.shardsMomentsAlone())
    error << " that divide the samples of each micro-batch, since it is "
             "sharded";
  error << ", but the body of layer @" << name
        << " takes whole micro-batches only: ";
  if (stage.getLayers().size() > 1)
    error << "put the layer in a stage of its own on one rank, or ";
  error << adviceForWholeOnes(stage, plan)
        << ", or let it divide them by `samples = [...]` and `by_sample = "
           "true` in the layer";
  error.attachNote(layer.getLoc()) << "layer @" << name << " is here";
  return error;
}

/// Shards are equal parts of weights and of gradients, so all weights of a
/// sharded stage have gradients. The place of a shared weight in a custom layer
/// is known to its body alone.
static LogicalResult verifyState(StageOp stage, ModelOp model, LayerOp layer) {
  const CustomAttr custom = layer.getCustomAttr();
  const std::optional<ModelSizes> sizes = model.getSizes();
  const bool isShared =
      sizes && sizes->tied && custom.getData() != LayerData::None;
  // A stage that shards its moments alone keeps weights and gradients whole.
  if (!stage.getSharded() || stage.shardsMomentsAlone() ||
      (custom.getFrozenWeightBytes() == 0 && !isShared))
    return success();
  InFlightDiagnostic error =
      stage.emitError() << "stage @" << stage.getSymName()
                        << " is sharded, but layer @" << layer.getSymName();
  if (isShared)
    error << " is custom and shares a weight with another layer, whose place "
             "only its body knows: ";
  else
    error << " has frozen weights, which have no gradients to shard: ";
  error << "leave out `sharded`";
  if (stage.getLayers().size() > 1)
    error << ", or put the layer in a stage of its own without it";
  error.attachNote(layer.getLoc())
      << "layer @" << layer.getSymName() << " is here";
  return error;
}

/// Checks the custom layers of a stage that divides samples.
static LogicalResult verifyBodies(StageOp stage, PlanOp plan, ModelOp model) {
  if (stage.getRanks().size() == 1 || stage.getRoundRobin())
    return success();
  for (auto name : stage.getLayers().getAsRange<FlatSymbolRefAttr>()) {
    auto layer = cast_or_null<LayerOp>(
        SymbolTable::lookupSymbolIn(model, name.getAttr()));
    if (layer && layer.getCustomAttr() &&
        (failed(verifyBody(stage, plan, layer)) ||
         failed(verifyState(stage, model, layer))))
      return failure();
  }
  return success();
}

/// The next step if a stage has more replicas than a micro-batch has samples.
static std::string adviceForFewSamples(StageOp stage, PlanOp plan,
                                       ModelOp model, int64_t samples) {
  const int64_t replicas = stage.getRanks().size();
  const std::string advice =
      model.findLayerOfOneSize()
          ? "use a model with batch = " + std::to_string(replicas) + " or more"
          : "write samples(" + std::to_string(replicas) + ") or more";
  if (!stage.getSharded())
    return advice + ", or " + adviceForWholeOnes(stage, plan);
  // Groups of shards stay as large as they are, if their size is given.
  const int64_t group = stage.getSharded()->getShards();
  const int64_t most = group > 0 ? samples / group * group : samples;
  if (most < 2)
    return advice + ", or " + adviceForWholeOnes(stage, plan);
  return advice + ", or list " + std::to_string(most) + " ranks" +
         (group > 0 ? "" : " or fewer");
}

LogicalResult rondo::pipe::verifyShares(StageOp stage, PlanOp plan,
                                        ModelOp model) {
  if (failed(verifyBodies(stage, plan, model)))
    return failure();
  // If micro-batches differ, the plan's verifier reports replicas that share
  // samples.
  if (stage.getRoundRobin() || plan.isUneven())
    return success();
  const int64_t replicas = stage.getRanks().size();
  const int64_t samples = plan.getSamplesOfMicrobatch();
  int64_t sum = 0;
  if (auto shares = stage.getShares())
    for (int64_t share : *shares)
      sum += share;
  auto refuse = [&](const Twine &what) {
    InFlightDiagnostic error = stage.emitError() << what;
    error.attachNote(plan.getLoc())
        << "plan @" << plan.getSymName() << " is here";
    return error;
  };
  if (samples >= replicas && stage.getShares() && sum != samples)
    return refuse("the replicas of stage @" + stage.getSymName() + " take " +
                  Twine(sum) +
                  " samples of a micro-batch together, which has " +
                  Twine(samples) + ": write numbers with that sum, as in `on " +
                  nearlyEqual(stage.getRanks(), samples) + "`");
  if (replicas == 1 && !stage.getShares())
    return success();
  if (samples == 0 && model.findLayerOfOneSize())
    return refuse(
        "stage @" + stage.getSymName() +
        " divides the samples of a micro-batch, but layers of model @" +
        model.getSymName() + " state their sizes for whole micro-batches: " +
        adviceForWholeOnes(stage, plan));
  if (samples == 0)
    return refuse(
        "stage @" + stage.getSymName() +
        " divides the samples of a micro-batch, but plan @" +
        plan.getSymName() + " does not say how many these are: write samples(" +
        Twine(std::max(sum, replicas)) + ") after its number of micro-batches");
  if (samples > rondo::maxSamples)
    return refuse("stage @" + stage.getSymName() + " has " + Twine(replicas) +
                  " replicas, which share a micro-batch of " + Twine(samples) +
                  " samples; the maximum is " + Twine(rondo::maxSamples) +
                  ": give an iteration more micro-batches of fewer samples");
  if (samples < replicas)
    return refuse("stage @" + stage.getSymName() + " has " + Twine(replicas) +
                  " replicas, which cannot share a micro-batch of " +
                  countOf(samples, "sample") +
                  ", because each takes at least 1: " +
                  adviceForFewSamples(stage, plan, model, samples));
  if (!stage.getShares() && samples % replicas != 0)
    return refuse("the " + Twine(samples) +
                  " samples of a micro-batch cannot be divided equally over "
                  "the " +
                  Twine(replicas) + " replicas of stage @" +
                  stage.getSymName() +
                  ": write the samples of each, as in `on " +
                  nearlyEqual(stage.getRanks(), samples) + "`");
  return success();
}
