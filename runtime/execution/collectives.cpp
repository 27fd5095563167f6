//===- collectives.cpp - A rank's collectives -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/collectives.h"

#include "runtime/base/error.h"
#include "runtime/execution/weights.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

Collectives::Collectives(const RankContext &context, double maxNorm)
    : context(context), program(context.program), maxNorm(maxNorm),
      firstEntry(context.wiring.firstEntry),
      progress(context.wiring.collectives.size()) {
  if (normDelay(program) > 0)
    lateSums = context.device().makeArena(
        int64_t(sizeof(double)) * static_cast<int64_t>(progress.size()));
  const std::vector<ReplicaBinding> &all = context.state.replicas(program);
  for (size_t h = 0; h < all.size(); ++h)
    if (program.rankOfReplica[h] == context.rank) {
      replicas.push_back(static_cast<int32_t>(h));
      headers.push_back(all[h].control.header);
    }
}

void Collectives::beginRun(const Span &span) { emulation = span.emulation; }

void Collectives::beginIteration() {
  progress.assign(progress.size(), Progress());
}

void Collectives::checkEnd() const {
  const auto open =
      std::find_if(progress.begin(), progress.end(), [](const Progress &last) {
        return last.state == Progress::Issued;
      });
  if (open != progress.end())
    throw Error("the program of rank " + std::to_string(context.rank) +
                " does not await collective " +
                std::to_string(collectiveOf(open - progress.begin())));
}

void Collectives::check(ActionKind kind, int64_t collective) const {
  if (collective < 0 || collective >= program.numCollectives)
    throw Error("the program of rank " + std::to_string(context.rank) +
                " runs " + actionName(kind, Message::None, collective, 0) +
                ", which the program does not have");
}

int32_t Collectives::entryOf(int64_t collective, int64_t step) const {
  const int64_t delay = program.collectives[collective].delay;
  return firstEntry[collective] +
         (delay > 0 ? static_cast<int32_t>(step % delay) : 0);
}

int64_t Collectives::collectiveOf(int64_t entry) const {
  return std::upper_bound(firstEntry.begin(), firstEntry.end(), entry) -
         firstEntry.begin() - 1;
}

void Collectives::issueSum(int64_t collective, int64_t step) {
  Progress &last = progress[entryOf(collective, step)];
  if (last.state == Progress::Issued ||
      (last.state == Progress::Awaited && last.step == step))
    throw Error("the program of rank " + std::to_string(context.rank) +
                " issues collective " + std::to_string(collective) + " twice");
  start(collective, step);
  last = {Progress::Issued, step};
}

bool Collectives::await(int64_t collective, int64_t step) {
  Progress &last = progress[entryOf(collective, step)];
  if (last.state == Progress::Awaited && last.step == step)
    return false;
  if (last.state != Progress::Issued || last.step != step)
    throw Error("the program of rank " + std::to_string(context.rank) +
                " awaits collective " + std::to_string(collective) +
                ", which it has not issued");
  finish(collective, step);
  last.state = Progress::Awaited;
  return true;
}

bool Collectives::isGatheredHere(const CollectiveDesc &desc) const {
  return readsSteps(desc.kind) &&
         std::all_of(desc.replicas, desc.replicas + desc.numReplicas,
                     [&](int32_t h) {
                       return program.rankOfReplica[h] == context.rank;
                     });
}

void Collectives::start(int64_t collective, int64_t step) {
  const CollectiveDesc &desc = program.collectives[collective];
  const int32_t entry = entryOf(collective, step);
  if (isGatheredHere(desc))
    return;
  if (readsSteps(desc.kind)) {
    const auto *own = std::find_if(
        desc.replicas, desc.replicas + desc.numReplicas,
        [&](int32_t h) { return program.rankOfReplica[h] == context.rank; });
    return context.transport.startGather(
        numberOf(entry), context.rank,
        reinterpret_cast<float *>(
            context.state.replicas(program)[*own].gradients));
  }
  if (desc.kind != CollectiveKind::GradientNorm)
    return context.transport.startSumParts(numberOf(entry), context.rank);
  if (headers.empty())
    throw Error("the program of rank " + std::to_string(context.rank) +
                " runs all_reduce " + std::to_string(collective) +
                " without a replica");
  // Steps have made the parts of a norm that is awaited later.
  if (desc.delay > 0)
    return context.transport.startAddAll(numberOf(entry), context.rank,
                                         lateSumOf(entry));
  Device &device = context.device();
  for (int32_t h : replicas) {
    const ReplicaBinding &replica = context.state.replicas(program)[h];
    // Copies in a shard have been added before the reduction.
    if (replica.shard == 0)
      device.addCopies(replica.optimized);
    if (context.state.isOwner(h))
      device.sumSquares(replica.optimized);
  }
  // Memory that every kind of device can reach; the norm replaces it.
  context.transport.startAddAll(numberOf(entry), context.rank,
                                &headers.front()->norm);
}

void Collectives::startShards(int64_t collective, float *whole) {
  const int32_t number = numberOf(firstEntry[collective]);
  if (program.collectives[collective].kind == CollectiveKind::GatherWeights)
    context.transport.startGather(number, context.rank, whole);
  else
    context.transport.startScatter(number, context.rank, whole);
}

/// A norm also gives the clip factor and the finite flag of all gradients.
void Collectives::finish(int64_t collective, int64_t step) {
  const CollectiveDesc &desc = program.collectives[collective];
  const int32_t entry = entryOf(collective, step);
  if (isGatheredHere(desc))
    return;
  context.transport.waitCollective(numberOf(entry), context.rank);
  if (desc.kind != CollectiveKind::GradientNorm || desc.delay > 0)
    return;
  // The norm replaces the sum.
  if (emulation.history)
    emulation.history->addSum(&headers.front()->norm);
  context.device().finishNorm(&headers.front()->norm, maxNorm, headers);
}

const double *Collectives::lateSum(int64_t step) const {
  const CollectiveDesc *norm = findNorm(program);
  if (!norm)
    return nullptr;
  const int32_t entry = entryOf(norm - program.collectives, step);
  const Progress &last = progress[entry];
  return last.state == Progress::Awaited && last.step == step ? lateSumOf(entry)
                                                              : nullptr;
}

//===----------------------------------------------------------------------===//
// Sharded state.
//===----------------------------------------------------------------------===//

/// State has checked that a rank has one replica of a group or all.
static bool hasGroup(const RankContext &context, int32_t replica) {
  const ReplicaDesc &desc = context.state.executable().replicas[replica];
  const int32_t first = replica - desc.shard;
  const int32_t *rankOf = context.program.rankOfReplica;
  return rankOf[first] == context.rank &&
         rankOf[first + desc.shards - 1] == context.rank;
}

ShardedReplica::ShardedReplica(const RankContext &context, RankLog &log,
                               Collectives &collectives, int32_t replica,
                               BufferPlace gathered, BufferPlace unreduced)
    : context(context), log(log), collectives(collectives), replica(replica),
      binding(context.state.replicas(context.program)[replica]),
      device(context.device()), gathered(gathered), unreduced(unreduced),
      group{this}, elements(binding.shard),
      bytes(int64_t(sizeof(float)) * elements),
      isGroupHere(hasGroup(context, replica)) {
  const int32_t first = replica - binding.replica->shard;
  const ProgramDesc &program = context.program;
  for (int32_t c = 0; c < program.numCollectives && !isGroupHere; ++c) {
    const CollectiveDesc &desc = program.collectives[c];
    if (desc.replicas[0] != first)
      continue;
    if (desc.kind == CollectiveKind::GatherWeights)
      gather = c;
    else if (desc.kind == CollectiveKind::ScatterGradients)
      scatter = c;
  }
  const Tensor *tensors = binding.optimized.tensors;
  const int32_t numTensors = binding.optimized.numTensors;
  auto isCopyHere = [&](const Tensor &copy) {
    return std::any_of(tensors, tensors + numTensors, [&](const Tensor &other) {
      return !copy.sharedWith.empty() && copy.sharedWith == other.name;
    });
  };
  if (std::any_of(tensors, tensors + numTensors, isCopyHere))
    whole.assign(tensors, tensors + numTensors);
}

void ShardedReplica::beginIteration() {
  gathers = sums = 0;
  weightState = Weights::Freed;
  gradientState = Gradients::None;
  isReducing = false;
}

void ShardedReplica::checkEnd() const {
  if (weightState != Weights::Freed)
    fail("does not free the weights that unit " + std::to_string(gathers - 1) +
         " has gathered");
  if (gradientState != Gradients::None)
    fail("does not reduce the gradients of unit " + std::to_string(sums));
}

//===----------------------------------------------------------------------===//
// Weights.
//===----------------------------------------------------------------------===//

void ShardedReplica::unshard(int64_t unit) {
  Action action(log, ActionKind::Unshard, replica, unit);
  if (unit != gathers)
    fail("gathers weights for unit " + std::to_string(unit) +
         ", but the next one is " + std::to_string(gathers));
  if (weightState != Weights::Freed)
    fail("gathers weights for unit " + std::to_string(unit) +
         " before those of unit " + std::to_string(unit - 1) + " are freed");
  char *all = gathered.at(unit);
  for (const ShardedReplica *part : group)
    if (bytes > 0)
      device.copy(all + part->binding.replica->shard * bytes,
                  part->binding.weights.front(), bytes);
  ++gathers;
  weightState = Weights::Gathered;
  if (isGroupHere)
    return copyGathered(unit);
  weightState = Weights::Issued;
  issue(ActionKind::Unshard, gather, unit, all);
}

void ShardedReplica::copyGathered(int64_t unit) {
  char *all = gathered.at(unit);
  for (const LayerBinding &layer : binding.layers)
    if (layer.copyOffset >= 0)
      device.toBf16(all + layer.copyOffset,
                    reinterpret_cast<const float *>(all + layer.weightsOffset),
                    layer.sizes.gradients / int64_t(sizeof(float)));
}

void ShardedReplica::reshard(int64_t unit) {
  Action action(log, ActionKind::Reshard, replica, unit);
  if (unit != gathers - 1 || weightState != Weights::Gathered)
    fail("frees weights of unit " + std::to_string(unit) +
         ", which are not gathered");
  weightState = Weights::Freed;
}

char *ShardedReplica::weights(ActionKind kind, int64_t microbatch) {
  // Without weights there is nothing to gather.
  if (elements == 0)
    return nullptr;
  const int64_t unit = gathers - 1;
  if (weightState != Weights::Gathered)
    fail("runs " +
         actionName(kind, Message::None, context.stageOf(replica), microbatch) +
         (unit < 0 ? " before the weights of unit 0 are gathered"
          : weightState == Weights::Issued
              ? " before the weights of unit " + std::to_string(unit) +
                    " are awaited"
              : " after the weights of unit " + std::to_string(unit) +
                    " were freed"));
  return gathered.at(unit);
}

//===----------------------------------------------------------------------===//
// Gradients.
//===----------------------------------------------------------------------===//

char *ShardedReplica::gradients() {
  if (elements == 0)
    return nullptr;
  if (gradientState == Gradients::Ended)
    fail("makes gradients of unit " + std::to_string(sums) +
         ", which another replica of its group has reduced");
  if (gradientState == Gradients::None)
    beginGradients();
  return unreduced.at(sums);
}

/// Padding must be zero as well.
void ShardedReplica::beginGradients() {
  if (!unreduced.base && elements > 0)
    fail("makes gradients, for which the program has no memory");
  bool isInUse = isReducing;
  for (const ShardedReplica *other : group)
    isInUse |= other->sums < sums;
  if (isInUse && unreduced.base &&
      unreduced.slot(sums) == unreduced.slot(sums - 1))
    fail("makes gradients of unit " + std::to_string(sums) +
         " where those of unit " + std::to_string(sums - 1) +
         " are still being reduced");
  if (unreduced.base)
    device.clear(unreduced.at(sums), binding.replica->shards * bytes);
  gradientState = Gradients::Begun;
}

/// A tensor and its copy in the stage get the sum of both, before shards of
/// them go to different ranks.
void ShardedReplica::endGradients() {
  if (gradientState == Gradients::None)
    beginGradients();
  if (gradientState == Gradients::Begun && !whole.empty()) {
    char *base = unreduced.at(sums);
    for (Tensor &tensor : whole) {
      tensor.first = 0;
      tensor.count = tensor.layout.count;
      tensor.gradients =
          reinterpret_cast<float *>(
              base + binding.layers[tensor.layerInStage].gradientsOffset) +
          tensor.layout.offset;
    }
    StageTensors stage = binding.optimized;
    stage.tensors = whole.data();
    device.addCopies(stage);
  }
  gradientState = Gradients::Ended;
}

void ShardedReplica::reduceGrad(int64_t unit) {
  Action action(log, ActionKind::ReduceGrad, replica, unit);
  if (unit != sums)
    fail("reduces gradients of unit " + std::to_string(unit) +
         ", but the next one is " + std::to_string(sums));
  if (isGroupHere) {
    reduceHere();
  } else {
    endGradients();
    issue(ActionKind::ReduceGrad, scatter, unit, unreduced.at(unit));
    isReducing = true;
  }
  ++sums;
  gradientState = Gradients::None;
}

/// The same sum as a transport's, of the replica's shard, in the first
/// replica's memory: each replica has a shard of its own there, and no other
/// one reads it.
void ShardedReplica::reduceHere() {
  std::vector<char *> parts;
  for (ShardedReplica *other : group) {
    if (other->sums == sums)
      other->endGradients();
    else if (other->sums < sums)
      fail("reduces gradients of unit " + std::to_string(sums) +
           ", but replica " + std::to_string(other->replica) +
           " of its group those of unit " + std::to_string(other->sums) +
           " next");
    parts.push_back(other->unreduced.at(sums));
  }
  if (bytes == 0)
    return;
  const int64_t offset = binding.replica->shard * bytes;
  for (size_t p = 1; p < parts.size(); ++p)
    device.addTo(parts[0] + offset, parts[p] + offset, bytes, DType::Fp32);
  device.addTo(binding.gradients, parts[0] + offset, bytes, DType::Fp32);
}

void ShardedReplica::issue(ActionKind kind, int32_t collective, int64_t unit,
                           char *all) {
  auto runs = [&] {
    return "runs " +
           actionName(kind, Message::None, context.stageOf(replica), unit);
  };
  if (collective < 0)
    fail(runs() + ", for which the program has no collective");
  collectives.issueShards(
      collective, unit, reinterpret_cast<float *>(all), [&](int64_t open) {
        fail(runs() + " before it awaits collective " +
             std::to_string(collective) + " of unit " + std::to_string(open));
      });
}

void ShardedReplica::finish(CollectiveKind kind, int64_t unit) {
  if (kind == CollectiveKind::GatherWeights) {
    weightState = Weights::Gathered;
    copyGathered(unit);
    return;
  }
  device.addTo(binding.gradients,
               unreduced.at(unit) + binding.replica->shard * bytes, bytes,
               DType::Fp32);
  isReducing = false;
}

void ShardedReplica::fail(const std::string &what) const {
  throw Error("the program of rank " + std::to_string(context.rank) +
              ": stage '" + binding.desc->name + "' " + what);
}
