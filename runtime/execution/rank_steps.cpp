//===- rank_steps.cpp - Collectives and optimizer steps of a rank ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/rank.h"

#include "runtime/base/clock.h"
#include "runtime/base/error.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

//===----------------------------------------------------------------------===//
// Collectives.
//===----------------------------------------------------------------------===//

void RunningRank::allReduce(int64_t collective, int64_t step) {
  if (isStepLeftOut(step))
    return;
  collectives.check(ActionKind::AllReduce, collective);
  if (movesState(program.collectives[collective].kind))
    throw Error("the program of rank " + std::to_string(me) +
                " runs all_reduce " + std::to_string(collective) +
                ", which moves the state of a group: it is issued by unshard "
                "or reduce_grad");
  if (isUnused(collective))
    return;
  Action action(*this, ActionKind::AllReduce, collective, step);
  collectives.issueSum(collective, step);
}

void RunningRank::await(int64_t collective, int64_t step) {
  if (isStepLeftOut(step))
    return;
  collectives.check(ActionKind::Await, collective);
  if (isUnused(collective))
    return;
  Action action(*this, ActionKind::Await, collective, step);
  const CollectiveDesc &desc = program.collectives[collective];
  auto shardOf = [&](int32_t i) {
    return replicas[desc.replicas[i]].shard.get();
  };
  if (movesState(desc.kind))
    for (int32_t i = 0; i < desc.numReplicas; ++i)
      if (const ShardedReplica *shard = shardOf(i);
          shard && shard->hasDone(desc.kind, step))
        return;
  const bool isNew = collectives.await(collective, step);
  if (isNew && readsSteps(desc.kind))
    return finishUpdates(desc);
  if (!isNew || !movesState(desc.kind))
    return;
  for (int32_t i = 0; i < desc.numReplicas; ++i)
    if (ShardedReplica *shard = shardOf(i))
      shard->finish(desc.kind, step);
}

void RunningRank::finishUpdates(const CollectiveDesc &desc) {
  std::vector<int32_t> here;
  std::vector<const MomentShard *> group;
  for (int32_t i = 0; i < desc.numReplicas; ++i)
    if (const LocalReplica &replica = replicas[desc.replicas[i]];
        replica.moments) {
      here.push_back(desc.replicas[i]);
      group.push_back(replica.moments.get());
    }
  // A rank that has the whole group, as that of the reference, gathers in its
  // own memory.
  if (static_cast<int32_t>(here.size()) == desc.numReplicas)
    for (int32_t h : here)
      replicas[h].moments->gatherFrom(group);
  for (int32_t h : here) {
    replicas[h].moments->finish(replicas[h].optimized);
    if (span.emulation.history)
      span.emulation.history->add(h);
  }
}

//===----------------------------------------------------------------------===//
// Steps.
//===----------------------------------------------------------------------===//

/// Clips the replica's gradients by their own norm. Copies of a tensor in
/// several stages must stay equal, so such a tensor is clipped, and skipped, by
/// its own norm: the collective has given all of them the same gradients.
void RunningRank::clipByStage(LocalReplica &replica, double *parts) {
  const StageTensors &stage = replica.optimized;
  const ControlView &control = stage.control;
  // A reference's own norm has done so.
  if (clipsByStage() || parts)
    device.addCopies(stage);
  device.sumSquares(stage);
  device.sumAll(&control.header->norm, control.partials, stage.numPartials);
  if (parts) {
    // The norm counts a tensor that stages share once.
    device.copy(parts, control.partials,
                stage.numPartials * int64_t(sizeof(double)));
    for (int32_t t = 0; t < stage.numTensors; ++t)
      if (const ControlHeader *own = stage.ownHeader(t);
          own && stage.tensors[t].sharedWith.empty())
        device.copy(parts + stage.tensors[t].partial, &own->norm,
                    sizeof(double));
  }
  forHeaders(replica, [&](ControlHeader *header, double) {
    device.finishNorm(&header->norm, optimizer.maxNorm, {header});
  });
}

/// The norm of all gradients of an earlier iteration takes the place of the
/// stage's own. Where that iteration is not part of the run, or a gradient of
/// it was not finite, the own one stays. A stage whose own gradients are not
/// finite skips its step in any case.
void RunningRank::clipByEarlier(LocalReplica &replica, int64_t step) {
  const int64_t earlier = step - normDelay(stepped());
  if (earlier < 0)
    return;
  const double *sum = span.emulation.history
                          ? span.emulation.history->sum(earlier)
                          : collectives.lateSum(earlier);
  if (sum)
    forHeaders(replica, [&](ControlHeader *header, double) {
      device.clipBy(sum, optimizer.maxNorm, {header});
    });
}

/// The rate of a step depends on its number in the training and on how late the
/// stage is, never on when it runs.
StepControl RunningRank::controlOf(int64_t step, double delay) const {
  const int64_t number = span.before + step + 1;
  const double rate = learningRate(span.rates, number) *
                      delayFactor(delay, number - 1, optimizer.delayAnneal);
  return {number, static_cast<float>(rate), /*clipFactor=*/1};
}

void RunningRank::prepareStep(LocalReplica &replica, int64_t step) {
  int64_t number = 0;
  const ControlHeader *const ofStage = replica.binding->control.header;
  forHeaders(replica, [&](ControlHeader *header, double delay) {
    // A norm that all stages await has written the stage's alone.
    if (header != ofStage)
      device.copy(header, ofStage, sizeof *header);
    if (replica.tables)
      return replica.tables->writeControl(header, step, number++);
    const StepControl control = controlOf(step, delay);
    header->step.step = control.step;
    header->step.learningRate = control.learningRate;
  });
  const int32_t delay = normDelay(stepped());
  if (clipsByStage() || delay > 0)
    clipByStage(
        replica,
        span.emulation.history || delay == 0
            ? nullptr
            : state.normParts(static_cast<int32_t>(&replica - replicas.data()),
                              static_cast<int32_t>(step % delay)));
  if (delay > 0)
    clipByEarlier(replica, step + span.emulation.iteration);
}

void RunningRank::step(int64_t h, int64_t step) {
  if (isStepLeftOut(step))
    return;
  LocalReplica &replica = local(h, program.shares[h].turn);
  Action action(*this, ActionKind::Step, h, step);
  if (overlap)
    prepareStep(replica, step);
  else if (!computesNorm(program) && !replica.shard)
    device.addCopies(replica.optimized);
  // Writes the version after the newest one; others need none that is older.
  if (program.overlap)
    state.nextVersion(static_cast<int32_t>(h), device);
  if (replica.moments)
    replica.moments->step(replica.optimized, optimizer.rule);
  else
    device.step(replica.optimized, optimizer.rule);
  if (!overlap)
    return;
  // With a shard of the moments, the weights are complete once gathered.
  if (span.emulation.history && !replica.moments)
    span.emulation.history->add(static_cast<int32_t>(h));
  if (replica.stepsBegun != step)
    throw Error("the program of rank " + std::to_string(me) + " runs step " +
                std::to_string(step) + " of stage '" +
                replica.binding->desc->name + "', which has done " +
                std::to_string(replica.stepsBegun) + " of the run");
  ++replica.stepsBegun;
  keepStep(replica, step);
}

void RunningRank::keepStep(LocalReplica &replica, int64_t step) {
  if (RunTables *tables = replica.tables.get()) {
    int64_t number = 0;
    forHeaders(replica, [&](ControlHeader *header, double) {
      tables->readHeader(header, step, number++);
    });
    return tables->readEnd(step);
  }
  ReplicaRecord &record = *replica.record;
  bool isFinite = true;
  forHeaders(replica, [&](const ControlHeader *header, double) {
    isFinite &= header->isFinite != 0;
  });
  record.skipped[step] = !isFinite;
  record.endNs[step] = nowNs();
  record.steps.store(step + 1, std::memory_order_release);
}

//===----------------------------------------------------------------------===//
// Runs whose iterations overlap.
//===----------------------------------------------------------------------===//

void RunningRank::prepare(int32_t h) {
  LocalReplica &replica = replicas[h];
  const ReplicaBinding &binding = *replica.binding;
  ReplicaRecord &record = *replica.record;
  record.steps.store(0, std::memory_order_relaxed);
  replica.stepsBegun = 0;
  const bool makesLoss = std::any_of(
      binding.layers.begin(), binding.layers.end(),
      [](const LayerBinding &layer) { return hasLoss(*layer.desc); });
  const int64_t iterations = overlap ? span.iterations : 0;
  record.losses.assign(makesLoss ? iterations * program.microbatches : 0, 0);
  record.endNs.assign(iterations, 0);
  record.skipped.assign(iterations, 0);
  replica.weights = replica.resident.get();
  if (replica.shard)
    replica.weights = replica.shard.get();
  replica.versions = nullptr;
  replica.moved = nullptr;
  replica.stepsBack = replica.stepsBackAgain = 0;
  replica.ownHeaders.clear();
  replica.optimized.ownHeaders = nullptr;
  replica.optimized.changeDecay = 0;
  if (!overlap)
    return;

  replica.versions = &overlap->versions[h];
  replica.stageForward = replica.stageBackward = 0;
  const Executable &exe = state.executable();
  for (int32_t other = 0; other < exe.numReplicas; ++other)
    if (exe.replicas[other].stage == exe.replicas[h].stage) {
      const VersionDesc &versions = overlap->versions[other];
      replica.stageForward =
          std::max(replica.stageForward, versions.meanForward);
      replica.stageBackward =
          std::max(replica.stageBackward, versions.meanBackward);
    }
  replica.versioned = std::make_unique<VersionedWeights>(
      context, h, replica.place(Buffer::Weights), *overlap, span.emulation);
  if (!replica.shard)
    replica.weights = replica.versioned.get();
  prepareMoves(replica, program.shares[h]);
  findShared(h);
}

/// Sets the number of steps by which weights are moved back, and the memory.
void RunningRank::prepareMoves(LocalReplica &replica, const ShareDesc &share) {
  const VersionDesc &versions = *replica.versions;
  if (!versions.extrapolates)
    return;
  const ReplicaBinding &binding = *replica.binding;
  const double apart = versions.meanForward - versions.meanBackward;
  replica.optimized.changeDecay = static_cast<float>(
      changeDecay(optimizer.extrapolationDecay,
                  replica.stageForward - replica.stageBackward));
  replica.stepsBack = static_cast<float>(apart);
  if (versions.recomputesExtrapolated)
    replica.stepsBackAgain = static_cast<float>(
        std::max(versions.meanForward - versions.meanRecompute, 0.0));
  // A stage whose backward is not after its forward has nothing to correct.
  if (apart <= 0)
    return;
  const int64_t bytes = movedBytes(binding.layers.front().desc,
                                   static_cast<int32_t>(binding.layers.size()));
  if (span.emulation.history) {
    // Tasks run one after another.
    if (!movedWeights || movedWeights->bytes() < bytes)
      movedWeights = device.makeArena(bytes);
    replica.moved = movedWeights->base();
  } else if (char *workspace = replica.place(Buffer::Workspace).at(0)) {
    replica.moved =
        workspace + share.bytes[static_cast<int>(Buffer::Workspace)] - bytes;
  }
}

/// Finds the tensors that other stages have as well.
void RunningRank::findShared(int32_t h) {
  LocalReplica &replica = replicas[h];
  const std::vector<Tensor> &all = state.tensors();
  auto globalName = [](const Tensor &tensor) -> const std::string & {
    return tensor.sharedWith.empty() ? tensor.name : tensor.sharedWith;
  };
  auto stageOf = [&](const Tensor &tensor) {
    return state.executable().replicas[tensor.replica].stage;
  };
  replica.ownHeaders.assign(replica.optimized.numTensors, nullptr);
  replica.ownDelays.assign(replica.optimized.numTensors, 0);
  auto ownHeader = [&](int32_t t) {
    if (!replica.sharedHeaders)
      replica.sharedHeaders = device.makeArena(replica.optimized.numTensors *
                                               int64_t(sizeof(ControlHeader)));
    return reinterpret_cast<ControlHeader *>(replica.sharedHeaders->base()) + t;
  };
  for (const Tensor &other : all) {
    if (other.sharedWith.empty())
      continue;
    // A copy: whose are the others of its name?
    for (int32_t t = 0; t < replica.optimized.numTensors; ++t) {
      const Tensor &mine = replica.optimized.tensors[t];
      if (globalName(mine) != other.sharedWith)
        continue;
      for (const Tensor &same : all) {
        if (globalName(same) != other.sharedWith)
          continue;
        if (stageOf(same) != stageOf(mine))
          replica.ownHeaders[t] = ownHeader(t);
        replica.ownDelays[t] = std::max(
            replica.ownDelays[t], overlap->versions[same.replica].meanForward);
      }
    }
  }
  replica.optimized.ownHeaders = replica.ownHeaders.data();
}

char *RunningRank::movedWeightsOf(const LocalReplica &replica,
                                  const LayerBinding &layer,
                                  const char *weights, const char *changes,
                                  float steps) {
  // A replica with a larger layer may have moved the reference's memory.
  char *moved = span.emulation.history ? movedWeights->base() : replica.moved;
  const int64_t trained = layer.sizes.gradients,
                count = trained / int64_t(sizeof(float));
  device.moveBack(
      count, steps,
      reinterpret_cast<const float *>(weights + layer.weightsOffset),
      reinterpret_cast<const float *>(changes + layer.gradientsOffset),
      reinterpret_cast<float *>(moved));
  // Frozen weights stay, and so do their copies.
  const int64_t frozen = alignedBytes(layer.desc->custom.frozenBytes);
  if (frozen > 0)
    device.copy(moved + trained, weights + layer.weightsOffset + trained,
                layer.sizes.weights - trained);
  if (layer.desc->dtype == DType::Bf16)
    device.toBf16(moved + trained + frozen,
                  reinterpret_cast<const float *>(moved), count);
  return moved;
}

/// A run ends with all of its steps done.
void RunningRank::checkSteps() const {
  if (!program.overlap)
    return;
  for (const LocalReplica &replica : replicas)
    if (replica.binding && replica.stepsBegun != span.iterations)
      throw Error("the program of rank " + std::to_string(me) + " has done " +
                  std::to_string(replica.stepsBegun) + " of the " +
                  std::to_string(span.iterations) + " steps of stage '" +
                  replica.binding->desc->name + "'");
}
