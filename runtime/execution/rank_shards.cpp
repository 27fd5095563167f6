//===- rank_shards.cpp - State that lies sharded on several ranks ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The replicas of a group gather the weights that their tasks read, and add up
// the gradients that these make. A rank that has all replicas of a group, as
// that of the reference, does both in its own memory, with the same bits.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/error.h"
#include "runtime/execution/rank_record.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

using Weights = LocalShard::Weights;
using Gradients = LocalShard::Gradients;

/// The replica's group: its first replica and how many there are.
static std::pair<int32_t, int32_t> groupAround(const ReplicaBinding &binding,
                                               int64_t replica) {
  return {static_cast<int32_t>(replica) - binding.replica->shard,
          binding.replica->shards};
}

void RunningRank::setUpShard(int32_t h) {
  LocalReplica &replica = replicas[h];
  const ReplicaBinding &binding = *replica.binding;
  LocalShard &shard = replica.shard;
  shard.shards = binding.replica->shards;
  shard.elements = binding.shard;
  const auto [first, count] = groupAround(binding, h);
  // State has checked that a rank has one of them or all.
  shard.isGroupHere = program.rankOfReplica[first] == me &&
                      program.rankOfReplica[first + count - 1] == me;
  for (int32_t c = 0; c < program.numCollectives && !shard.isGroupHere; ++c) {
    const CollectiveDesc &desc = program.collectives[c];
    if (desc.replicas[0] != first)
      continue;
    if (desc.kind == CollectiveKind::GatherWeights)
      shard.gather = c;
    else if (desc.kind == CollectiveKind::ScatterGradients)
      shard.scatter = c;
  }
  const Tensor *tensors = replica.optimized.tensors;
  const int32_t numTensors = replica.optimized.numTensors;
  auto isCopyHere = [&](const Tensor &copy) {
    return std::any_of(tensors, tensors + numTensors, [&](const Tensor &other) {
      return !copy.sharedWith.empty() && copy.sharedWith == other.name;
    });
  };
  if (std::any_of(tensors, tensors + numTensors, isCopyHere))
    shard.whole.assign(tensors, tensors + numTensors);
}

void RunningRank::beginShards() {
  for (LocalReplica &replica : replicas) {
    replica.shard.gathers = replica.shard.sums = 0;
    replica.shard.weights = Weights::Freed;
    replica.shard.gradients = Gradients::None;
    replica.shard.isReducing = false;
  }
}

/// An iteration ends with nothing whole.
void RunningRank::checkShards() const {
  for (size_t h = 0; h < replicas.size(); ++h) {
    const LocalShard &shard = replicas[h].shard;
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

RunningRank::LocalReplica &RunningRank::sharded(ActionKind kind, int64_t h,
                                                int64_t unit) {
  const bool isKnown = h >= 0 && h < static_cast<int64_t>(replicas.size());
  if (!isKnown || !replicas[h].binding || !replicas[h].shard.isSharded())
    throw Error(
        "the program of rank " + std::to_string(me) + " runs " +
        actionName(kind, Message::None, isKnown ? stageOf(h) : h, unit) +
        " of replica " + std::to_string(h) +
        (isKnown && replicas[h].binding ? ", which keeps all of its state"
                                        : ", which it does not hold"));
  return replicas[h];
}

//===----------------------------------------------------------------------===//
// Weights.
//===----------------------------------------------------------------------===//

void RunningRank::unshard(int64_t h, int64_t unit) {
  LocalReplica &replica = sharded(ActionKind::Unshard, h, unit);
  LocalShard &shard = replica.shard;
  Action action(*this, ActionKind::Unshard, h, unit);
  if (unit != shard.gathers)
    failOnShard(h, "gathers weights for unit " + std::to_string(unit) +
                       ", but the next one is " +
                       std::to_string(shard.gathers));
  if (shard.weights != Weights::Freed)
    failOnShard(h, "gathers weights for unit " + std::to_string(unit) +
                       " before those of unit " + std::to_string(unit - 1) +
                       " are freed");
  char *whole = replica.place(Buffer::GatheredWeights).at(unit);
  const int64_t bytes = int64_t(sizeof(float)) * shard.elements;
  const auto [first, count] = groupAround(*replica.binding, h);
  for (int32_t p = 0; p < count; ++p)
    if (bytes > 0 && (shard.isGroupHere || first + p == h))
      device.copy(whole + p * bytes,
                  replicas[first + p].binding->weights.front(), bytes);
  ++shard.gathers;
  shard.weights = Weights::Gathered;
  if (shard.isGroupHere)
    return copyGathered(replica, unit);
  shard.weights = Weights::Issued;
  issue(ActionKind::Unshard, h, shard.gather, unit);
  transport.startGather(firstEntry[shard.gather], me,
                        reinterpret_cast<float *>(whole));
}

void RunningRank::copyGathered(const LocalReplica &replica, int64_t unit) {
  char *whole = replica.place(Buffer::GatheredWeights).at(unit);
  for (const LayerBinding &layer : replica.binding->layers)
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
  const LocalShard &shard = replicas[h].shard;
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
  return replicas[h].place(Buffer::GatheredWeights).at(unit);
}

//===----------------------------------------------------------------------===//
// Gradients.
//===----------------------------------------------------------------------===//

char *RunningRank::unreducedGradients(int64_t h) {
  const LocalReplica &replica = replicas[h];
  if (replica.shard.elements == 0)
    return nullptr;
  if (replica.shard.gradients == Gradients::Ended)
    failOnShard(h, "makes gradients of unit " +
                       std::to_string(replica.shard.sums) +
                       ", which another replica of its group has reduced");
  if (replica.shard.gradients == Gradients::None)
    beginGradients(h);
  return replica.place(Buffer::UnreducedGradients).at(replica.shard.sums);
}

/// Padding must be zero as well.
void RunningRank::beginGradients(int64_t h) {
  LocalReplica &replica = replicas[h];
  LocalShard &shard = replica.shard;
  const Place &place = replica.place(Buffer::UnreducedGradients);
  if (!place.base && shard.elements > 0)
    failOnShard(h, "makes gradients, for which the program has no memory");
  const auto [first, count] = groupAround(*replica.binding, h);
  bool isInUse = shard.isReducing;
  for (int32_t p = 0; p < count && shard.isGroupHere; ++p)
    isInUse |= replicas[first + p].shard.sums < shard.sums;
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

/// A tensor and its copy in the stage get the sum of both, before shards of
/// them go to different ranks.
void RunningRank::endGradients(int64_t h) {
  LocalReplica &replica = replicas[h];
  LocalShard &shard = replica.shard;
  if (shard.gradients == Gradients::None)
    beginGradients(h);
  if (shard.gradients == Gradients::Begun && !shard.whole.empty()) {
    char *base = replica.place(Buffer::UnreducedGradients).at(shard.sums);
    for (Tensor &tensor : shard.whole) {
      tensor.first = 0;
      tensor.count = tensor.layout.count;
      tensor.gradients =
          reinterpret_cast<float *>(
              base +
              replica.binding->layers[tensor.layerInStage].gradientsOffset) +
          tensor.layout.offset;
    }
    StageTensors stage = replica.optimized;
    stage.tensors = shard.whole.data();
    device.addCopies(stage);
  }
  shard.gradients = Gradients::Ended;
}

void RunningRank::reduceGrad(int64_t h, int64_t unit) {
  LocalReplica &replica = sharded(ActionKind::ReduceGrad, h, unit);
  LocalShard &shard = replica.shard;
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
            replica.place(Buffer::UnreducedGradients).at(unit)));
    shard.isReducing = true;
  }
  ++shard.sums;
  shard.gradients = Gradients::None;
}

/// The same sum as a transport's, of the replica's shard, in the first
/// replica's memory: each replica has a shard of its own there, and nobody else
/// reads it.
void RunningRank::reduceHere(int64_t h) {
  const LocalReplica &replica = replicas[h];
  const int64_t unit = replica.shard.sums,
                bytes = int64_t(sizeof(float)) * replica.shard.elements;
  const auto [first, count] = groupAround(*replica.binding, h);
  std::vector<char *> parts;
  for (int32_t p = 0; p < count; ++p) {
    const LocalReplica &other = replicas[first + p];
    if (other.shard.sums == unit)
      endGradients(first + p);
    else if (other.shard.sums < unit)
      failOnShard(h, "reduces gradients of unit " + std::to_string(unit) +
                         ", but replica " + std::to_string(first + p) +
                         " of its group those of unit " +
                         std::to_string(other.shard.sums) + " next");
    parts.push_back(other.place(Buffer::UnreducedGradients).at(unit));
  }
  if (bytes == 0)
    return;
  const int64_t offset = replica.binding->replica->shard * bytes;
  for (int32_t p = 1; p < count; ++p)
    device.addTo(parts[0] + offset, parts[p] + offset, bytes, DType::Fp32);
  device.addTo(replica.binding->gradients, parts[0] + offset, bytes,
               DType::Fp32);
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
  if (!movesState(desc.kind) || !replicas[desc.replicas[0]].shard.isGroupHere)
    return false;
  return std::any_of(desc.replicas, desc.replicas + desc.numReplicas,
                     [&](int32_t h) {
                       const LocalShard &shard = replicas[h].shard;
                       return unit < (desc.kind == CollectiveKind::GatherWeights
                                          ? shard.gathers
                                          : shard.sums);
                     });
}

void RunningRank::finishShard(int32_t collective) {
  const CollectiveDesc &desc = program.collectives[collective];
  for (int32_t i = 0; i < desc.numReplicas; ++i) {
    LocalReplica &replica = replicas[desc.replicas[i]];
    if (!replica.binding)
      continue;
    LocalShard &shard = replica.shard;
    if (desc.kind == CollectiveKind::GatherWeights) {
      shard.weights = Weights::Gathered;
      copyGathered(replica, progress[firstEntry[collective]].step);
      continue;
    }
    const int64_t bytes = int64_t(sizeof(float)) * shard.elements;
    device.addTo(replica.binding->gradients,
                 replica.place(Buffer::UnreducedGradients)
                         .at(progress[firstEntry[collective]].step) +
                     replica.binding->replica->shard * bytes,
                 bytes, DType::Fp32);
    shard.isReducing = false;
  }
}

void RunningRank::failOnShard(int64_t replica, const std::string &what) const {
  throw Error("the program of rank " + std::to_string(me) + ": stage '" +
              replicas[replica].binding->desc->name + "' " + what);
}
