//===- rank_shards.cpp - State that lies in pieces on several ranks -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The homes of a group gather the weights that their tasks read, and add up the
// gradients that these make. A rank that has all homes of a group, as that of
// the reference, does both in its own memory, with the same bits.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/error.h"
#include "runtime/execution/rank_record.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

using Weights = LocalShard::Weights;
using Gradients = LocalShard::Gradients;

/// The home's group: its first home and how many there are.
static std::pair<int32_t, int32_t> groupAround(const HomeBinding &binding,
                                               int64_t home) {
  return {static_cast<int32_t>(home) - binding.home->piece,
          binding.home->pieces};
}

void RunningRank::setUpShard(int32_t h) {
  LocalHome &home = homes[h];
  const HomeBinding &binding = *home.binding;
  LocalShard &shard = home.shard;
  shard.pieces = binding.home->pieces;
  shard.elements = binding.shard;
  const auto [first, count] = groupAround(binding, h);
  // State has checked that a rank has one of them or all.
  shard.isGroupHere = program.rankOfHome[first] == me &&
                      program.rankOfHome[first + count - 1] == me;
  for (int32_t c = 0; c < program.numCollectives && !shard.isGroupHere; ++c) {
    const CollectiveDesc &desc = program.collectives[c];
    if (desc.homes[0] != first)
      continue;
    if (desc.kind == CollectiveKind::GatherWeights)
      shard.gather = c;
    else if (desc.kind == CollectiveKind::ScatterGradients)
      shard.scatter = c;
  }
  const Tensor *tensors = home.optimized.tensors;
  const int32_t numTensors = home.optimized.numTensors;
  auto isCopyHere = [&](const Tensor &copy) {
    return std::any_of(tensors, tensors + numTensors, [&](const Tensor &other) {
      return !copy.sharedWith.empty() && copy.sharedWith == other.name;
    });
  };
  if (std::any_of(tensors, tensors + numTensors, isCopyHere))
    shard.whole.assign(tensors, tensors + numTensors);
}

void RunningRank::beginShards() {
  for (LocalHome &home : homes) {
    home.shard.gathers = home.shard.sums = 0;
    home.shard.weights = Weights::Freed;
    home.shard.gradients = Gradients::None;
    home.shard.isReducing = false;
  }
}

/// An iteration ends with nothing whole.
void RunningRank::checkShards() const {
  for (size_t h = 0; h < homes.size(); ++h) {
    const LocalShard &shard = homes[h].shard;
    if (shard.weights != Weights::Freed)
      failOnShard(static_cast<int64_t>(h),
                  "does not free the weights that unit " +
                      std::to_string(shard.gathers - 1) + " has gathered");
    if (shard.gradients != Gradients::None)
      failOnShard(static_cast<int64_t>(h),
                  "does not reduce the gradients of unit " +
                      std::to_string(shard.sums));
  }
}

RunningRank::LocalHome &RunningRank::sharded(ActionKind kind, int64_t h,
                                             int64_t unit) {
  const bool isKnown = h >= 0 && h < static_cast<int64_t>(homes.size());
  if (!isKnown || !homes[h].binding || !homes[h].shard.isSharded())
    throw Error(
        "the program of rank " + std::to_string(me) + " runs " +
        actionName(kind, Message::None, isKnown ? stageOf(h) : h, unit) +
        " of home " + std::to_string(h) +
        (isKnown && homes[h].binding ? ", which keeps all of its state"
                                     : ", which it does not hold"));
  return homes[h];
}

//===----------------------------------------------------------------------===//
// Weights.
//===----------------------------------------------------------------------===//

void RunningRank::unshard(int64_t h, int64_t unit) {
  LocalHome &home = sharded(ActionKind::Unshard, h, unit);
  LocalShard &shard = home.shard;
  Action action(*this, ActionKind::Unshard, h, unit);
  if (unit != shard.gathers)
    failOnShard(h, "gathers weights for unit " + std::to_string(unit) +
                       ", but the next one is " +
                       std::to_string(shard.gathers));
  if (shard.weights != Weights::Freed)
    failOnShard(h, "gathers weights for unit " + std::to_string(unit) +
                       " before those of unit " + std::to_string(unit - 1) +
                       " are freed");
  char *whole = home.place(Buffer::GatheredWeights).at(unit);
  const int64_t bytes = int64_t(sizeof(float)) * shard.elements;
  const auto [first, count] = groupAround(*home.binding, h);
  for (int32_t p = 0; p < count; ++p)
    if (bytes > 0 && (shard.isGroupHere || first + p == h))
      device.copy(whole + p * bytes, homes[first + p].binding->weights.front(),
                  bytes);
  ++shard.gathers;
  shard.weights = Weights::Gathered;
  if (shard.isGroupHere)
    return copyGathered(home, unit);
  shard.weights = Weights::Issued;
  issue(ActionKind::Unshard, h, shard.gather, unit);
  transport.startGather(firstEntry[shard.gather], me,
                        reinterpret_cast<float *>(whole));
}

void RunningRank::copyGathered(const LocalHome &home, int64_t unit) {
  char *whole = home.place(Buffer::GatheredWeights).at(unit);
  for (const LayerBinding &layer : home.binding->layers)
    if (layer.copyOffset >= 0)
      device.toBf16(
          whole + layer.copyOffset,
          reinterpret_cast<const float *>(whole + layer.weightsOffset),
          layer.sizes.gradients / int64_t(sizeof(float)));
}

void RunningRank::reshard(int64_t h, int64_t unit) {
  LocalShard &shard = sharded(ActionKind::Reshard, h, unit).shard;
  Action action(*this, ActionKind::Reshard, h, unit);
  if (unit != shard.gathers - 1 || shard.weights != Weights::Gathered)
    failOnShard(h, "frees weights of unit " + std::to_string(unit) +
                       ", which are not gathered");
  shard.weights = Weights::Freed;
}

char *RunningRank::gatheredWeights(int64_t h, ActionKind kind,
                                   int64_t microbatch) const {
  const LocalShard &shard = homes[h].shard;
  // Without weights there is nothing to gather.
  if (shard.elements == 0)
    return nullptr;
  const int64_t unit = shard.gathers - 1;
  if (shard.weights != Weights::Gathered)
    failOnShard(h, "runs " +
                       actionName(kind, Message::None, stageOf(h), microbatch) +
                       (unit < 0 ? " before the weights of unit 0 are gathered"
                        : shard.weights == Weights::Issued
                            ? " before the weights of unit " +
                                  std::to_string(unit) + " are awaited"
                            : " after the weights of unit " +
                                  std::to_string(unit) + " were freed"));
  return homes[h].place(Buffer::GatheredWeights).at(unit);
}

//===----------------------------------------------------------------------===//
// Gradients.
//===----------------------------------------------------------------------===//

char *RunningRank::unreducedGradients(int64_t h) {
  const LocalHome &home = homes[h];
  if (home.shard.elements == 0)
    return nullptr;
  if (home.shard.gradients == Gradients::Ended)
    failOnShard(h, "makes gradients of unit " +
                       std::to_string(home.shard.sums) +
                       ", which another home of its group has reduced");
  if (home.shard.gradients == Gradients::None)
    beginGradients(h);
  return home.place(Buffer::UnreducedGradients).at(home.shard.sums);
}

/// Padding must be zero as well.
void RunningRank::beginGradients(int64_t h) {
  LocalHome &home = homes[h];
  LocalShard &shard = home.shard;
  const Place &place = home.place(Buffer::UnreducedGradients);
  if (!place.base && shard.elements > 0)
    failOnShard(h, "makes gradients, for which the program has no memory");
  const auto [first, count] = groupAround(*home.binding, h);
  bool isInUse = shard.isReducing;
  for (int32_t p = 0; p < count && shard.isGroupHere; ++p)
    isInUse |= homes[first + p].shard.sums < shard.sums;
  if (isInUse && place.base &&
      place.slot(shard.sums) == place.slot(shard.sums - 1))
    failOnShard(h, "makes gradients of unit " + std::to_string(shard.sums) +
                       " where those of unit " +
                       std::to_string(shard.sums - 1) +
                       " are still being reduced");
  if (place.base)
    device.clear(place.at(shard.sums),
                 int64_t(sizeof(float)) * count * shard.elements);
  shard.gradients = Gradients::Begun;
}

/// A tensor and its copy in the stage get the sum of both, before pieces of
/// them go to different ranks.
void RunningRank::endGradients(int64_t h) {
  LocalHome &home = homes[h];
  LocalShard &shard = home.shard;
  if (shard.gradients == Gradients::None)
    beginGradients(h);
  if (shard.gradients == Gradients::Begun && !shard.whole.empty()) {
    char *base = home.place(Buffer::UnreducedGradients).at(shard.sums);
    for (Tensor &tensor : shard.whole) {
      tensor.first = 0;
      tensor.count = tensor.layout.count;
      tensor.gradients =
          reinterpret_cast<float *>(
              base +
              home.binding->layers[tensor.layerInStage].gradientsOffset) +
          tensor.layout.offset;
    }
    StageTensors stage = home.optimized;
    stage.tensors = shard.whole.data();
    device.addCopies(stage);
  }
  shard.gradients = Gradients::Ended;
}

void RunningRank::reduceGrad(int64_t h, int64_t unit) {
  LocalHome &home = sharded(ActionKind::ReduceGrad, h, unit);
  LocalShard &shard = home.shard;
  Action action(*this, ActionKind::ReduceGrad, h, unit);
  if (unit != shard.sums)
    failOnShard(h, "reduces gradients of unit " + std::to_string(unit) +
                       ", but the next one is " + std::to_string(shard.sums));
  if (shard.isGroupHere) {
    reduceHere(h);
  } else {
    endGradients(h);
    issue(ActionKind::ReduceGrad, h, shard.scatter, unit);
    transport.startScatter(
        firstEntry[shard.scatter], me,
        reinterpret_cast<float *>(
            home.place(Buffer::UnreducedGradients).at(unit)));
    shard.isReducing = true;
  }
  ++shard.sums;
  shard.gradients = Gradients::None;
}

/// The same sum as a transport's, of the home's piece, in the first home's
/// memory: each home has a piece of its own there, and nobody else reads it.
void RunningRank::reduceHere(int64_t h) {
  const LocalHome &home = homes[h];
  const int64_t unit = home.shard.sums,
                bytes = int64_t(sizeof(float)) * home.shard.elements;
  const auto [first, count] = groupAround(*home.binding, h);
  std::vector<char *> parts;
  for (int32_t p = 0; p < count; ++p) {
    const LocalHome &other = homes[first + p];
    if (other.shard.sums == unit)
      endGradients(first + p);
    else if (other.shard.sums < unit)
      failOnShard(h, "reduces gradients of unit " + std::to_string(unit) +
                         ", but home " + std::to_string(first + p) +
                         " of its group those of unit " +
                         std::to_string(other.shard.sums) + " next");
    parts.push_back(other.place(Buffer::UnreducedGradients).at(unit));
  }
  if (bytes == 0)
    return;
  const int64_t offset = home.binding->home->piece * bytes;
  for (int32_t p = 1; p < count; ++p)
    device.addTo(parts[0] + offset, parts[p] + offset, bytes, DType::Fp32);
  device.addTo(home.binding->gradients, parts[0] + offset, bytes, DType::Fp32);
}

//===----------------------------------------------------------------------===//
// Collectives.
//===----------------------------------------------------------------------===//

void RunningRank::issue(ActionKind kind, int64_t h, int32_t collective,
                        int64_t unit) {
  if (collective < 0)
    failOnShard(h, "runs " + actionName(kind, Message::None, stageOf(h), unit) +
                       ", for which the program has no collective");
  Progress &last = progress[firstEntry[collective]];
  if (last.state == Progress::Issued)
    failOnShard(h, "runs " + actionName(kind, Message::None, stageOf(h), unit) +
                       " before it awaits collective " +
                       std::to_string(collective) + " of unit " +
                       std::to_string(last.step));
  last.state = Progress::Issued;
  last.step = unit;
}

/// Whether an awaited collective has been done by this rank alone.
bool RunningRank::isHere(int64_t collective, int64_t unit) const {
  const CollectiveDesc &desc = program.collectives[collective];
  if (!movesState(desc.kind) || !homes[desc.homes[0]].shard.isGroupHere)
    return false;
  return std::any_of(desc.homes, desc.homes + desc.numHomes, [&](int32_t h) {
    const LocalShard &shard = homes[h].shard;
    return unit < (desc.kind == CollectiveKind::GatherWeights ? shard.gathers
                                                              : shard.sums);
  });
}

void RunningRank::finishShard(int32_t collective) {
  const CollectiveDesc &desc = program.collectives[collective];
  for (int32_t i = 0; i < desc.numHomes; ++i) {
    LocalHome &home = homes[desc.homes[i]];
    if (!home.binding)
      continue;
    LocalShard &shard = home.shard;
    if (desc.kind == CollectiveKind::GatherWeights) {
      shard.weights = Weights::Gathered;
      copyGathered(home, progress[firstEntry[collective]].step);
      continue;
    }
    const int64_t bytes = int64_t(sizeof(float)) * shard.elements;
    device.addTo(home.binding->gradients,
                 home.place(Buffer::UnreducedGradients)
                         .at(progress[firstEntry[collective]].step) +
                     home.binding->home->piece * bytes,
                 bytes, DType::Fp32);
    shard.isReducing = false;
  }
}

void RunningRank::failOnShard(int64_t home, const std::string &what) const {
  throw Error("the program of rank " + std::to_string(me) + ": stage '" +
              homes[home].binding->desc->name + "' " + what);
}
