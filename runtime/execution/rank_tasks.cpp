//===- rank_tasks.cpp - The tasks of a rank: F, R, I, W, B ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/rank.h"

#include "runtime/base/error.h"

using namespace rondo;
using namespace rondo::runtime;

/// Values that F replaces depend on the order of micro-batches.
void RunningRank::checkOrder(LocalReplica &replica, int64_t microbatch) const {
  if (!replica.running)
    return;
  if (microbatch != replica.nextForward)
    throw Error("program '" + std::string(program.name) +
                "' runs F of stage '" + replica.binding->desc->name +
                "' for micro-batch " + std::to_string(microbatch) +
                " before micro-batch " + std::to_string(replica.nextForward) +
                ", and F of layer '" + replica.running->name +
                "' replaces some of its weights, which depend on that order: "
                "choose a schedule with F in the order of micro-batches");
  ++replica.nextForward;
}

/// The weights that a task of a layer reads, of its replica's.
static inline void setWeights(const LayerBinding &layer, LayerArgs &args,
                              char *weights) {
  args.weights = weights + layer.weightsOffset;
  args.weightsInDtype =
      layer.copyOffset < 0 ? nullptr : weights + layer.copyOffset;
}

/// Calls each(k, its checkpoint) for the inputs of a layer that has them among
/// the checkpoints.
template <typename Each>
static inline void forCheckpoints(const LayerBinding &layer, char *checkpoints,
                                  Each each) {
  if (layer.checkpointOffset < 0)
    return;
  char *checkpoint = checkpoints + layer.checkpointOffset;
  for (int32_t k = 0; k < layer.desc->numInputs; ++k) {
    each(k, checkpoint);
    checkpoint += alignedBytes(layer.desc->inputBytes[k]);
  }
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

char *RunningRank::awaitInputs(ActionKind kind, int64_t h, int64_t microbatch,
                               const std::vector<LocalTensor> &inputs,
                               Action &action) {
  messages.await(inputs, microbatch, action);
  char *data = replicas[h].place(Buffer::Data).at(microbatch);
  if (data && span.writeData)
    writeData(static_cast<int32_t>(h), microbatch);
  copies.await(kind, h, microbatch);
  action.restart();
  return data;
}

void RunningRank::forward(int64_t h, int64_t microbatch) {
  if (isLeftOut(microbatch))
    return;
  LocalReplica &replica = local(h, microbatch);
  Action action(*this, ActionKind::Forward, h, microbatch);
  // Without copies, what could be copied may share slots with messages.
  for (Buffer buffer :
       {Buffer::Output, Buffer::SavedForInputGrad, Buffer::SavedForWeightGrad,
        Buffer::Checkpoints, Buffer::OffloadedForInputGrad,
        Buffer::OffloadedForWeightGrad})
    messages.acquire(replica.place(buffer), microbatch, action);
  char *data = awaitInputs(ActionKind::Forward, h, microbatch,
                           replica.tensors->inputs, action);
  checkOrder(replica, microbatch);
  SizedCalls &sized = sizedOf(replica, microbatch);
  const ReplicaBinding &binding = *sized.binding;
  const Saved saved{replica, microbatch};
  char *weights = replica.weights->weights(ActionKind::Forward, microbatch);
  char *checkpoints = saved.checkpoints();
  const int64_t number = microbatch % program.microbatches;
  for (size_t k = 0; k < replica.tensors->inputs.size(); ++k)
    sized.calls.front().forward.inputs[k] =
        replica.tensors->inputs[k].place.at(microbatch);
  sized.calls.back().forward.output =
      replica.place(Buffer::Output).at(microbatch);
  for (size_t l = 0; l < sized.calls.size(); ++l) {
    const LayerBinding &layer = binding.layers[l];
    LayerArgs &args = sized.calls[l].forward;
    if (!layer.desc->recomputes) {
      saved.setForInputGrad(layer, args);
      saved.setForWeightGrad(layer, args);
    }
    // The layer before the one with which R begins writes the checkpoint.
    // A stage's checkpoints are a copy of its inputs, whose buffers end with F.
    forCheckpoints(layer, checkpoints, [&](int32_t k, char *checkpoint) {
      if (l == 0)
        device.copy(checkpoint, args.inputs[k],
                    alignedBytes(layer.desc->inputBytes[k]));
      else
        args.inputs[k] = checkpoint;
    });
    if (l + 1 < sized.calls.size())
      if (int64_t offset = binding.layers[l + 1].checkpointOffset; offset >= 0)
        args.output = checkpoints + offset;
    setWeights(layer, args, weights);
    args.runningWeights =
        layer.isRunning && program.kind != ProgramKind::Evaluation
            ? weights + layer.weightsOffset
            : nullptr;
    setTime(replica, args, microbatch);
    runForward(binding, layer, args, data, number);
  }
  if (!replica.record->losses.empty())
    keepLoss(replica, microbatch);
  copies.ended(ActionKind::Forward, h, microbatch);
}

void RunningRank::recompute(int64_t h, int64_t microbatch) {
  if (isLeftOut(microbatch))
    return;
  LocalReplica &replica = local(h, microbatch);
  Action action(*this, ActionKind::Recompute, h, microbatch);
  messages.acquire(replica.place(Buffer::RecomputedForInputGrad), microbatch,
                   action);
  messages.acquire(replica.place(Buffer::RecomputedForWeightGrad), microbatch,
                   action);
  const BufferPlace &output = replica.place(Buffer::RecomputedOutput);
  messages.acquire(output, microbatch, action);
  char *data = awaitInputs(ActionKind::Recompute, h, microbatch,
                           replica.tensors->recomputedInputs, action);
  SizedCalls &sized = sizedOf(replica, microbatch);
  const ReplicaBinding &binding = *sized.binding;
  const Saved saved = savedOf(h, microbatch);
  char *weights = replica.weights->weights(ActionKind::Recompute, microbatch);
  const char *changes =
      replica.stepsBackAgain > 0
          ? replica.weights->changes(ActionKind::Recompute, microbatch)
          : nullptr;
  char *checkpoints = saved.checkpoints();
  const int64_t number = microbatch % program.microbatches;
  const std::vector<LocalTensor> &inputs =
      replica.tensors->recomputedInputs.empty()
          ? replica.tensors->inputs
          : replica.tensors->recomputedInputs;
  for (size_t k = 0; k < inputs.size(); ++k)
    sized.calls.front().recompute.inputs[k] = inputs[k].place.at(microbatch);
  if (output.base)
    sized.calls.back().recompute.output = output.at(microbatch);
  for (size_t l = 0; l < sized.calls.size(); ++l) {
    const LayerBinding &layer = binding.layers[l];
    if (!layer.desc->recomputes)
      continue;
    LayerArgs &args = sized.calls[l].recompute;
    saved.setForInputGrad(layer, args);
    saved.setForWeightGrad(layer, args);
    forCheckpoints(layer, checkpoints, [&](int32_t k, char *checkpoint) {
      args.inputs[k] = checkpoint;
    });
    setWeights(layer, args, weights);
    if (changes)
      args.weights = movedWeightsOf(replica, layer, weights, changes,
                                    replica.stepsBackAgain);
    setTime(replica, args, microbatch);
    runForward(binding, layer, args, data, number);
  }
  copies.ended(ActionKind::Recompute, h, microbatch);
}

void RunningRank::beginInputGrad(int64_t h, int64_t microbatch,
                                 Action &action) {
  LocalReplica &replica = replicas[h];
  for (const LocalTensor &tensor : replica.tensors->inputGrads)
    messages.acquire(tensor.place, microbatch, action);
  messages.acquire(replica.place(Buffer::KeptForWeightGrad), microbatch,
                   action);
  messages.await(replica.tensors->outputGrads, microbatch, action);
  action.restart();
  messages.addOutputGrads(static_cast<int32_t>(h), microbatch,
                          replica.binding->layers.back().desc->dtype);
  SizedCalls &sized = sizedOf(replica, microbatch);
  for (size_t k = 0; k < replica.tensors->inputGrads.size(); ++k)
    sized.calls.front().inputGrad.inputGrads[k] =
        replica.tensors->inputGrads[k].place.at(microbatch);
  sized.calls.back().inputGrad.outputGrad =
      replica.place(Buffer::OutputGrad).at(microbatch);
}

LayerArgs &RunningRank::inputGradArgs(LocalReplica &replica, SizedCalls &sized,
                                      size_t l, const Saved &saved,
                                      int64_t microbatch) {
  const LayerBinding &layer = sized.binding->layers[l];
  LayerArgs &args = sized.calls[l].inputGrad;
  saved.setForInputGrad(layer, args);
  saved.setForWeightGrad(layer, args);
  args.keptForWeightGrad = saved.keptByInputGrad(layer);
  setTime(replica, args, microbatch);
  args.microbatch = microbatch % program.microbatches;
  return args;
}

LayerArgs &RunningRank::weightGradArgs(LocalReplica &replica, SizedCalls &sized,
                                       size_t l, const Saved &saved,
                                       int64_t microbatch) {
  const LayerBinding &layer = sized.binding->layers[l];
  LayerArgs &args = sized.calls[l].weightGrad;
  args.gradients = (replica.shard ? replica.shard->gradients()
                                  : replica.binding->gradients) +
                   layer.gradientsOffset;
  saved.setForWeightGrad(layer, args);
  args.keptForWeightGrad = saved.keptByInputGrad(layer);
  setTime(replica, args, microbatch);
  args.microbatch = microbatch % program.microbatches;
  return args;
}

void RunningRank::inputGrad(int64_t h, int64_t microbatch) {
  if (isLeftOut(microbatch))
    return;
  LocalReplica &replica = local(h, microbatch);
  Action action(*this, ActionKind::InputGrad, h, microbatch);
  awaitCopies(h, microbatch, ActionKind::InputGrad, action);
  beginInputGrad(h, microbatch, action);
  const Saved saved = savedOf(h, microbatch);
  SizedCalls &sized = sizedOf(replica, microbatch);
  char *weights = replica.weights->weights(ActionKind::InputGrad, microbatch);
  const char *changes =
      replica.moved
          ? replica.weights->changes(ActionKind::InputGrad, microbatch)
          : nullptr;
  for (size_t l = sized.calls.size(); l-- > 0;) {
    const LayerBinding &layer = sized.binding->layers[l];
    LayerArgs &args = inputGradArgs(replica, sized, l, saved, microbatch);
    setWeights(layer, args, weights);
    if (changes)
      args.weights =
          movedWeightsOf(replica, layer, weights, changes, replica.stepsBack);
    layer.body.inputGrad(layer.desc, &args);
  }
  copies.ended(ActionKind::InputGrad, h, microbatch);
}

void RunningRank::weightGrad(int64_t h, int64_t microbatch) {
  if (isLeftOut(microbatch))
    return;
  LocalReplica &replica = local(h, microbatch);
  Action action(*this, ActionKind::WeightGrad, h, microbatch);
  awaitCopies(h, microbatch, ActionKind::WeightGrad, action);
  const Saved saved = savedOf(h, microbatch);
  SizedCalls &sized = sizedOf(replica, microbatch);
  char *weights = replica.weights->weights(ActionKind::WeightGrad, microbatch);
  for (size_t l = sized.calls.size(); l-- > 0;) {
    const LayerBinding &layer = sized.binding->layers[l];
    LayerArgs &args = weightGradArgs(replica, sized, l, saved, microbatch);
    setWeights(layer, args, weights);
    layer.body.weightGrad(layer.desc, &args);
  }
  copies.ended(ActionKind::WeightGrad, h, microbatch);
}

void RunningRank::backward(int64_t h, int64_t microbatch) {
  if (isLeftOut(microbatch))
    return;
  LocalReplica &replica = local(h, microbatch);
  // I reads weights of its own if they are moved.
  if (!replica.hasBackward || splitsBackward || keepTimes || replica.moved) {
    copies.await(ActionKind::Backward, h, microbatch);
    inputGrad(h, microbatch);
    weightGrad(h, microbatch);
    copies.ended(ActionKind::Backward, h, microbatch);
    return;
  }
  Action action(*this, ActionKind::Backward, h, microbatch);
  awaitCopies(h, microbatch, ActionKind::Backward, action);
  beginInputGrad(h, microbatch, action);
  const Saved saved = savedOf(h, microbatch);
  SizedCalls &sized = sizedOf(replica, microbatch);
  char *forInput = replica.weights->weights(ActionKind::InputGrad, microbatch);
  for (size_t l = sized.calls.size(); l-- > 0;) {
    const LayerBinding &layer = sized.binding->layers[l];
    LayerArgs &args = inputGradArgs(replica, sized, l, saved, microbatch);
    setWeights(layer, args, forInput);
    LayerArgs &later = weightGradArgs(replica, sized, l, saved, microbatch);
    if (layer.body.backward) {
      LayerArgs both = args;
      both.gradients = later.gradients;
      layer.body.backward(layer.desc, &both);
      continue;
    }
    layer.body.inputGrad(layer.desc, &args);
    setWeights(layer, later,
               replica.weights->weights(ActionKind::WeightGrad, microbatch));
    layer.body.weightGrad(layer.desc, &later);
  }
  copies.ended(ActionKind::Backward, h, microbatch);
}
