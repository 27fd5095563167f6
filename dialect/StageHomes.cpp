//===- StageHomes.cpp - Where stages are at home --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/SourceRules.h"

#include "kinds/Counts.h"

#include <algorithm>

using namespace mlir;
using namespace rondo::pipe;
using rondo::HomeBuffers;
using rondo::Homes;
using rondo::Share;

std::vector<Share> StageOp::sharesOf(int64_t samples) {
  ArrayRef<int64_t> ranks = getRanks();
  std::vector<Share> shares;
  for (auto [home, rank] : llvm::enumerate(ranks)) {
    const int64_t own = getDeals() ? samples
                        : getShares()
                            ? (*getShares())[home]
                            : samples / static_cast<int64_t>(ranks.size());
    shares.push_back({static_cast<int32_t>(rank), static_cast<int32_t>(own)});
  }
  return shares;
}

void StageOp::addTo(Homes &homes, int64_t samples) {
  if (getDeals())
    homes.addDealtStage({getRanks().begin(), getRanks().end()},
                        static_cast<int32_t>(samples));
  else
    homes.addStage(sharesOf(samples), static_cast<int32_t>(getPieces()));
}

int64_t StageOp::getPieces() {
  auto sharded = getSharded();
  if (!sharded)
    return 1;
  const int64_t all = getRanks().size();
  return sharded->getPieces() == 0 ? all : sharded->getPieces();
}

bool StageOp::recomputes(StringAttr layer) {
  ArrayAttr names = getRecomputeAttr();
  auto name = FlatSymbolRefAttr::get(layer);
  return names && llvm::is_contained(names.empty() ? getLayers() : names, name);
}

std::vector<HomeBuffers> StageOp::buffersByHome() {
  std::vector<HomeBuffers> result;
  if (ArrayAttr buffers = getBuffersAttr())
    for (auto one : buffers.getAsRange<BuffersAttr>())
      result.push_back(one.getBytes());
  return result;
}

void StageOp::setBuffersByHome(ArrayRef<BuffersAttr> buffers) {
  setBuffersAttr(ArrayAttr::get(
      getContext(), SmallVector<Attribute>(buffers.begin(), buffers.end())));
}

std::string StageOp::describeRanks() {
  std::string text = nounFor(getRanks().size(), "rank");
  for (auto [home, rank] : llvm::enumerate(getRanks())) {
    const bool isLast = home + 1 == getRanks().size();
    text += home == 0 ? " " : isLast ? " and " : ", ";
    text += std::to_string(rank);
  }
  return text;
}

Homes PlanOp::getHomes() {
  Homes homes;
  const int64_t samples =
      std::clamp<int64_t>(getSamplesOfMicrobatch(), 1, rondo::maxSamples);
  for (StageOp stage : getStages())
    stage.addTo(homes, samples);
  return homes;
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
             << " twice; it has one home on a rank, with all its samples there";
  }
  return success();
}

LogicalResult rondo::pipe::verifyHomes(StageOp stage) {
  if (failed(verifyRanks(stage)))
    return failure();
  if (auto shares = stage.getShares())
    for (auto [rank, share] : llvm::zip(stage.getRanks(), *shares))
      if (share < 1 || share > rondo::maxSamples)
        return stage.emitError() << "stage @" << stage.getSymName() << " has "
                                 << share << " samples on rank " << rank
                                 << "; it must be 1 to " << rondo::maxSamples;
  const size_t homes = stage.getRanks().size();
  if (stage.getDeals() && stage.getShares())
    return stage.emitError() << "stage @" << stage.getSymName()
                             << " both divides the samples of each micro-batch "
                                "over its homes and "
                                "deals them whole micro-batches; leave out "
                                "`deal`, or the samples "
                                "behind its ranks";
  if (stage.getDeals() && homes == 1)
    return stage.emitError()
           << "stage @" << stage.getSymName()
           << " deals micro-batches to one home; list several ranks, or leave "
              "out `deal`";
  if (auto sharded = stage.getSharded()) {
    if (stage.getDeals())
      return stage.emitError()
             << "stage @" << stage.getSymName()
             << " is sharded, but deals whole micro-batches to its replicas; "
                "those of a group gather together, so leave out `deal` or "
                "`sharded`";
    const int64_t pieces = stage.getPieces();
    if (pieces < 2 || homes % pieces != 0)
      return stage.emitError()
             << "stage @" << stage.getSymName() << " has its state in "
             << countOf(pieces, "shard") << ", but "
             << countOf(homes, "replica")
             << ": groups of 2 or more must divide them; "
             << (homes == 1
                     ? "list 2 ranks or more, or leave out `sharded`"
                     : "leave out `pieces` for one shard on each rank, or "
                       "write a number that divides them");
  }
  if (ArrayAttr buffers = stage.getBuffersAttr())
    if (buffers.size() != homes)
      return stage.emitError()
             << "stage @" << stage.getSymName() << " lists buffers of "
             << countOf(buffers.size(), "home") << ", but it has " << homes;
  return success();
}

/// `[2: 4, 3: 3]`: as equal as samples can be shared.
static std::string nearlyEqual(ArrayRef<int64_t> ranks, int64_t samples) {
  const int64_t homes = ranks.size();
  std::string text;
  for (auto [home, rank] : llvm::enumerate(ranks))
    text += (home > 0 ? ", " : "[") + std::to_string(rank) + ": " +
            std::to_string(samples / homes + (int64_t(home) < samples % homes));
  return text + "]";
}

/// Advice to take whole micro-batches: `deal`, if there is one for each
/// replica, and one rank.
static std::string adviceForWholeOnes(StageOp stage, PlanOp plan) {
  const std::string start =
      stage.getSharded() ? "leave out `sharded` and " : "";
  if (static_cast<uint64_t>(plan.getMicrobatches()) < stage.getRanks().size())
    return start + "put the stage on one rank";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << start << "write `on [";
  llvm::interleaveComma(stage.getRanks(), os);
  os << "] deal`, or put the stage on one rank";
  return text;
}

/// A body from outside takes whole micro-batches.
static LogicalResult verifyBodies(StageOp stage, PlanOp plan, ModelOp model) {
  const size_t homes = stage.getRanks().size();
  if (homes == 1 || stage.getDeals())
    return success();
  for (auto name : stage.getLayers().getAsRange<FlatSymbolRefAttr>()) {
    auto layer = cast_or_null<LayerOp>(
        SymbolTable::lookupSymbolIn(model, name.getAttr()));
    if (!layer || !layer.getCustomAttr())
      continue;
    InFlightDiagnostic error = stage.emitError()
                               << "stage @" << stage.getSymName() << " has "
                               << homes << " replicas";
    if (stage.getSharded())
      error << " that divide the samples of each micro-batch, since it is "
               "sharded";
    error << ", but the body of layer " << name
          << " takes whole micro-batches only: ";
    if (stage.getLayers().size() > 1)
      error << "put the layer in a stage of its own on one rank, or ";
    error << adviceForWholeOnes(stage, plan);
    error.attachNote(layer.getLoc()) << "layer " << name << " is here";
    return error;
  }
  return success();
}

/// The next step if a stage has more replicas than a micro-batch has samples.
static std::string adviceForFewSamples(StageOp stage, PlanOp plan,
                                       ModelOp model, int64_t samples) {
  const int64_t homes = stage.getRanks().size();
  const std::string advice =
      model.findLayerOfOneSize()
          ? "use a model with batch = " + std::to_string(homes) + " or more"
          : "write samples(" + std::to_string(homes) + ") or more";
  if (!stage.getSharded())
    return advice + ", or " + adviceForWholeOnes(stage, plan);
  // Groups of shards stay as large as they are, if their size is given.
  const int64_t group = stage.getSharded()->getPieces();
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
  if (stage.getDeals())
    return success();
  const int64_t homes = stage.getRanks().size();
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
  if (samples >= homes && stage.getShares() && sum != samples)
    return refuse("the replicas of stage @" + stage.getSymName() + " take " +
                  Twine(sum) +
                  " samples of a micro-batch together, which has " +
                  Twine(samples) + ": write numbers with that sum, as in `on " +
                  nearlyEqual(stage.getRanks(), samples) + "`");
  if (homes == 1 && !stage.getShares())
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
        Twine(std::max(sum, homes)) + ") after its number of micro-batches");
  if (samples > rondo::maxSamples)
    return refuse("stage @" + stage.getSymName() + " has " + Twine(homes) +
                  " replicas, which share a micro-batch of " + Twine(samples) +
                  " samples; the maximum is " + Twine(rondo::maxSamples) +
                  ": give an iteration more micro-batches of fewer samples");
  if (samples < homes)
    return refuse("stage @" + stage.getSymName() + " has " + Twine(homes) +
                  " replicas, which cannot share a micro-batch of " +
                  countOf(samples, "sample") +
                  ", because each takes at least 1: " +
                  adviceForFewSamples(stage, plan, model, samples));
  if (!stage.getShares() && samples % homes != 0)
    return refuse("the " + Twine(samples) +
                  " samples of a micro-batch cannot be divided equally over "
                  "the " +
                  Twine(homes) + " replicas of stage @" + stage.getSymName() +
                  ": write the samples of each, as in `on " +
                  nearlyEqual(stage.getRanks(), samples) + "`");
  return success();
}
