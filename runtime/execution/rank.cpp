//===- rank.cpp - Runs the actions of one rank of a program ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/rank_record.h"

#include "runtime/base/error.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

Rank::~Rank() = default;

void RunningRank::run() {
  const size_t firstEvent = trace.size();
  ring.begin(ActionRing::Begin);
  transport.iterate(me, !keepTrace, [this] {
    const RankDesc &desc = program.ranks[me];
    const bool keepsRun = keepTrace && span.tracedIterations > 0;
    const int64_t begunNs = keepsRun ? device.stamp() : 0;
    progress.assign(progress.size(), Progress());
    beginShards();
    desc.run(*this, desc.row);
    const auto open = std::find_if(
        progress.begin(), progress.end(),
        [](const Progress &last) { return last.state == Progress::Issued; });
    if (open != progress.end())
      throw Error("the program of rank " + std::to_string(me) +
                  " does not await collective " +
                  std::to_string(collectiveOf(open - progress.begin())));
    ring.begin(ActionRing::Drain);
    for (Fence &fence : fences) {
      if (fence.channel >= 0)
        transport.waitSent(fence.channel, fence.ticket);
      fence.channel = -1;
    }
    if (keepsRun)
      trace.push_back({Traced::Run, ActionKind::Step, Message::None, program.id,
                       -1, -1, static_cast<int32_t>(span.iterations), -1, -1,
                       span.before + 1, begunNs, device.stamp()});
    checkEnd();
    checkShards();
  });
  ring.begin(ActionRing::Idle);
  for (size_t i = firstEvent; i < trace.size(); ++i) {
    trace[i].startNs = device.timeOf(trace[i].startNs);
    trace[i].endNs = device.timeOf(trace[i].endNs);
  }
}

RunningRank::LocalReplica &RunningRank::local(int64_t replica,
                                              int64_t microbatch) {
  if (replica < 0 || replica >= static_cast<int64_t>(replicas.size()) ||
      !replicas[replica].binding || microbatch < 0 ||
      (!program.overlap && microbatch >= program.microbatches) ||
      !takes(program.shares[replica], microbatch))
    failOnReplica(replica, microbatch);
  return replicas[replica];
}

/// The weights that a task of a layer reads, of its replica's.
static inline void setWeights(const LayerBinding &layer, LayerArgs &args,
                              char *weights) {
  args.weights = weights + layer.weightsOffset;
  args.weightsInDtype =
      layer.copyOffset < 0 ? nullptr : weights + layer.copyOffset;
}

/// F of a layer, also where R runs it again, with the weights that `args` has.
static inline void runForward(const ReplicaBinding &binding,
                              const LayerBinding &layer, LayerArgs &args,
                              char *data, int64_t microbatch) {
  args.data = reinterpret_cast<const int32_t *>(at(data, layer.dataOffset));
  if (hasLoss(*layer.desc))
    args.loss = binding.control.losses + microbatch;
  args.microbatch = microbatch;
  layer.body.forward(layer.desc, &args);
}

void RunningRank::forward(int64_t h, int64_t microbatch) {
  if (isLeftOut(microbatch))
    return;
  LocalReplica &replica = local(h, microbatch);
  Action action(*this, ActionKind::Forward, h, microbatch);
  acquire(replica.place(Buffer::Output), microbatch, action);
  acquire(replica.place(Buffer::SavedForInputGrad), microbatch, action);
  acquire(replica.place(Buffer::SavedForWeightGrad), microbatch, action);
  acquire(replica.place(Buffer::Checkpoints), microbatch, action);
  awaitTensors(replica.inputs, microbatch, action);
  char *data = replica.place(Buffer::Data).at(microbatch);
  if (data && span.writeData)
    span.writeData(static_cast<int32_t>(h), microbatch);
  action.restart();
  const ReplicaBinding &binding = *replica.binding;
  const Saved saved(replica, microbatch);
  char *weights = weightsOf(h, ActionKind::Forward, microbatch);
  char *checkpoints = replica.place(Buffer::Checkpoints).at(microbatch);
  const int64_t number = microbatch % program.microbatches;
  for (size_t k = 0; k < replica.inputs.size(); ++k)
    replica.calls.front().forward.inputs[k] =
        replica.inputs[k].place.at(microbatch);
  replica.calls.back().forward.output =
      replica.place(Buffer::Output).at(microbatch);
  for (size_t l = 0; l < replica.calls.size(); ++l) {
    const LayerBinding &layer = binding.layers[l];
    LayerArgs &args = replica.calls[l].forward;
    if (!layer.desc->recomputes) {
      args.savedForInputGrad = saved.forInputGrad(layer);
      args.savedForWeightGrad = saved.forWeightGrad(layer);
    }
    // Where R begins, the layer before writes the checkpoint.
    if (layer.checkpointOffset >= 0)
      args.inputs[0] = checkpoints + layer.checkpointOffset;
    if (l + 1 < replica.calls.size())
      if (int64_t offset = binding.layers[l + 1].checkpointOffset; offset >= 0)
        args.output = checkpoints + offset;
    setWeights(layer, args, weights);
    runForward(binding, layer, args, data, number);
  }
  if (ReplicaRecord &record = *records[h]; !record.losses.empty())
    record.losses[microbatch] = binding.control.losses[number];
}

void RunningRank::recompute(int64_t h, int64_t microbatch) {
  if (isLeftOut(microbatch))
    return;
  LocalReplica &replica = local(h, microbatch);
  Action action(*this, ActionKind::Recompute, h, microbatch);
  acquire(replica.place(Buffer::RecomputedForInputGrad), microbatch, action);
  acquire(replica.place(Buffer::RecomputedForWeightGrad), microbatch, action);
  const Place &output = replica.place(Buffer::RecomputedOutput);
  acquire(output, microbatch, action);
  awaitTensors(replica.recomputedInputs, microbatch, action);
  char *data = replica.place(Buffer::Data).at(microbatch);
  if (data && span.writeData)
    span.writeData(static_cast<int32_t>(h), microbatch);
  action.restart();
  const ReplicaBinding &binding = *replica.binding;
  const Saved saved(replica, microbatch);
  char *weights = weightsOf(h, ActionKind::Recompute, microbatch);
  const char *changes = replica.stepsBackAgain > 0
                            ? changesOf(h, ActionKind::Recompute, microbatch)
                            : nullptr;
  char *checkpoints = replica.place(Buffer::Checkpoints).at(microbatch);
  const int64_t number = microbatch % program.microbatches;
  const std::vector<LocalTensor> &inputs = replica.recomputedInputs.empty()
                                               ? replica.inputs
                                               : replica.recomputedInputs;
  for (size_t k = 0; k < inputs.size(); ++k)
    replica.calls.front().recompute.inputs[k] = inputs[k].place.at(microbatch);
  if (output.base)
    replica.calls.back().recompute.output = output.at(microbatch);
  for (size_t l = 0; l < replica.calls.size(); ++l) {
    const LayerBinding &layer = binding.layers[l];
    if (!layer.desc->recomputes)
      continue;
    LayerArgs &args = replica.calls[l].recompute;
    args.savedForInputGrad = saved.forInputGrad(layer);
    args.savedForWeightGrad = saved.forWeightGrad(layer);
    if (layer.checkpointOffset >= 0)
      args.inputs[0] = checkpoints + layer.checkpointOffset;
    setWeights(layer, args, weights);
    if (changes)
      args.weights = movedWeightsOf(replica, layer, weights, changes,
                                    replica.stepsBackAgain);
    runForward(binding, layer, args, data, number);
  }
}

void RunningRank::inputGrad(int64_t h, int64_t microbatch) {
  if (isLeftOut(microbatch))
    return;
  LocalReplica &replica = local(h, microbatch);
  Action action(*this, ActionKind::InputGrad, h, microbatch);
  for (const LocalTensor &tensor : replica.inputGrads)
    acquire(tensor.place, microbatch, action);
  awaitTensors(replica.outputGrads, microbatch, action);
  action.restart();
  addOutputGrads(replica, microbatch);
  const ReplicaBinding &binding = *replica.binding;
  const Saved saved(replica, microbatch);
  char *weights = weightsOf(h, ActionKind::InputGrad, microbatch);
  const char *changes =
      replica.moved ? changesOf(h, ActionKind::InputGrad, microbatch) : nullptr;
  for (size_t k = 0; k < replica.inputGrads.size(); ++k)
    replica.calls.front().inputGrad.inputGrads[k] =
        replica.inputGrads[k].place.at(microbatch);
  replica.calls.back().inputGrad.outputGrad =
      replica.place(Buffer::OutputGrad).at(microbatch);
  for (size_t l = replica.calls.size(); l-- > 0;) {
    const LayerBinding &layer = binding.layers[l];
    LayerArgs &args = replica.calls[l].inputGrad;
    setWeights(layer, args, weights);
    if (changes)
      args.weights =
          movedWeightsOf(replica, layer, weights, changes, replica.stepsBack);
    args.savedForInputGrad = saved.forInputGrad(layer);
    args.savedForWeightGrad = saved.forWeightGrad(layer);
    args.microbatch = microbatch % program.microbatches;
    layer.body.inputGrad(layer.desc, &args);
  }
}

void RunningRank::weightGrad(int64_t h, int64_t microbatch) {
  if (isLeftOut(microbatch))
    return;
  LocalReplica &replica = local(h, microbatch);
  Action action(*this, ActionKind::WeightGrad, h, microbatch);
  const ReplicaBinding &binding = *replica.binding;
  const Saved saved(replica, microbatch);
  char *weights = weightsOf(h, ActionKind::WeightGrad, microbatch);
  char *gradients =
      replica.shard.isSharded() ? unreducedGradients(h) : binding.gradients;
  for (size_t l = replica.calls.size(); l-- > 0;) {
    const LayerBinding &layer = binding.layers[l];
    LayerArgs &args = replica.calls[l].weightGrad;
    setWeights(layer, args, weights);
    args.gradients = gradients + layer.gradientsOffset;
    args.savedForWeightGrad = saved.forWeightGrad(layer);
    args.microbatch = microbatch % program.microbatches;
    layer.body.weightGrad(layer.desc, &args);
  }
}
