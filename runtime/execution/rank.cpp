//===- rank.cpp - Runs the actions of one rank of a program ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/rank.h"

#include "runtime/base/error.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

Rank::~Rank() = default;

//===----------------------------------------------------------------------===//
// Tables of the actions.
//===----------------------------------------------------------------------===//

RunningRank::RunningRank(const RankContext &context,
                         const OptimizerConfig &optimizer, ActionRing &ring,
                         FaultPoint *fault, HostLinks *links)
    : RankLog(context, ring, fault), context(context), state(context.state),
      program(context.program), device(context.device()),
      transport(context.transport), me(context.rank), optimizer(optimizer),
      messages(context, *this), copies(context, messages, links),
      collectives(context, optimizer.maxNorm),
      replicas(state.replicas().size()) {
  placeDocuments();
  for (int32_t h = 0; h < static_cast<int32_t>(replicas.size()); ++h)
    if (program.rankOfReplica[h] == me)
      addReplica(h);
  // All replicas of a group, if this rank has them.
  for (ShardedReplica *shard : shards) {
    std::vector<ShardedReplica *> group;
    for (ShardedReplica *other : shards)
      if (shard->isOfGroup(*other))
        group.push_back(other);
    shard->setGroup(group);
  }
}

/// The starts of a micro-batch follow those of the one before.
void RunningRank::placeDocuments() {
  const Arena *memory = state.documentStarts(me);
  for (int32_t i = 0; documentsOf(program, 0) && i < program.microbatches;
       ++i) {
    const DocumentsDesc &row = *documentsOf(program, i);
    documentStarts.push_back(
        memory ? reinterpret_cast<const int32_t *>(memory->base()) +
                     writtenStarts.size()
               : row.starts);
    if (memory)
      writtenStarts.insert(writtenStarts.end(), row.starts,
                           row.starts + row.count + 1);
  }
}

void RunningRank::addReplica(int32_t h) {
  LocalReplica &replica = replicas[h];
  replica.binding = &state.replicas(program)[h];
  replica.places = &messages.place(h, static_cast<Buffer>(0));
  replica.tensors = &messages.tensorsOf(h);
  replica.optimized = replica.binding->optimized;
  replica.record = std::make_unique<ReplicaRecord>();
  // The iteration's loss is the mean over all of its samples.
  replica.lossScale =
      program.shares[h].samples /
      (static_cast<double>(samplesOf(program)) * program.microbatches);
  if (replica.tensors->inputs.size() > maxLayerInputs)
    throw Error("stage '" + std::string(replica.binding->desc->name) +
                "' has " + std::to_string(replica.tensors->inputs.size()) +
                " inputs; a layer takes " + std::to_string(maxLayerInputs) +
                " at most");
  replica.resident = std::make_unique<ResidentWeights>(
      *replica.binding, replica.place(Buffer::Weights));
  if (replica.binding->replica->shards > 1) {
    replica.shard = std::make_unique<ShardedReplica>(
        context, *this, collectives, h, replica.place(Buffer::GatheredWeights),
        replica.place(Buffer::UnreducedGradients));
    shards.push_back(replica.shard.get());
  }
  if (replica.binding->momentShard > 0)
    replica.moments = std::make_unique<MomentShard>(device, *replica.binding);
  replica.sizes.resize(program.uneven ? program.uneven->numSizes : 1);
  for (size_t k = 0; k < replica.sizes.size(); ++k) {
    replica.sizes[k].binding =
        &state.replicas(program, static_cast<int32_t>(k))[h];
    makeCalls(replica, replica.sizes[k]);
  }
}

/// Writes the fields that all calls of a layer's task have in common.
void RunningRank::makeCalls(LocalReplica &replica, SizedCalls &sized) const {
  const ReplicaBinding &binding = *sized.binding;
  const size_t last = binding.layers.size() - 1;
  LayerArgs common{};
  common.lossScale = replica.lossScale;
  common.stream = device.stream();
  // Activations between layers of the stage come before the scratch, and are
  // used in turn.
  char *workspace = replica.place(Buffer::Workspace).at(0);
  auto inner = [&](size_t border) {
    return workspace + (border % 2) * binding.innerBytes;
  };
  if (workspace)
    common.workspace = workspace + binding.numInner * binding.innerBytes;
  common.iterationOnDevice =
      program.overlap || !binding.control.header ||
              binding.layers.front().desc->target == Target::Cpu
          ? nullptr
          : &binding.control.header->before;
  sized.calls.assign(binding.layers.size(), {common, common, common, common});
  for (size_t l = 0; l <= last; ++l) {
    LayerCalls &calls = sized.calls[l];
    if (l > 0)
      calls.forward.inputs[0] = calls.recompute.inputs[0] =
          calls.inputGrad.inputGrads[0] = inner(l - 1);
    if (l < last)
      calls.inputGrad.outputGrad = calls.forward.output =
          calls.recompute.output = inner(l);
    const LayerBinding &layer = binding.layers[l];
    for (LayerArgs *args : {&calls.forward, &calls.inputGrad, &calls.weightGrad,
                            &calls.recompute})
      args->state = layer.state;
    replica.hasBackward |= layer.body.backward != nullptr;
    if (layer.isRunning && !replica.running)
      replica.running = layer.desc;
    if (hasLoss(*layer.desc))
      calls.forward.logits = binding.logits;
    if (!layer.desc->recomputes || !workspace)
      continue;
    // Nobody reads what F saves here, nor the stage's output a second time.
    char *unkept = workspace + binding.unkeptOffset;
    calls.forward.savedForInputGrad = unkept;
    calls.forward.savedForWeightGrad = unkept + layer.sizes.savedForInputGrad;
    if (l == last)
      calls.recompute.output = unkept;
  }
}

//===----------------------------------------------------------------------===//
// A run.
//===----------------------------------------------------------------------===//

bool RunningRank::begin(const Span &next) {
  span = next;
  beginRun(span);
  overlap = span.emulation.overlap ? span.emulation.overlap : program.overlap;
  collectives.beginRun(span);
  if (!writtenStarts.empty()) {
    Arena &memory = *state.documentStarts(me);
    memory.write(memory.base(), writtenStarts.data(),
                 static_cast<int64_t>(sizeof(int32_t) * writtenStarts.size()));
  }
  bool isElsewhere = false;
  for (size_t h = 0; h < replicas.size(); ++h) {
    if (!replicas[h].binding)
      continue;
    const auto replica = static_cast<int32_t>(h);
    prepare(replica);
    if (overlap && device.enqueues())
      isElsewhere |= fillTables(replica);
  }
  return isElsewhere;
}

void RunningRank::run() {
  const size_t firstEvent = trace.size();
  ring.begin(ActionRing::Begin);
  // A history has each version at another place.
  const bool mayReplay = !keepTrace && !span.emulation.history;
  transport.iterate(me, {mayReplay, variant}, [this] { act(); }, program.id);
  ring.begin(ActionRing::Idle);
  for (size_t i = firstEvent; i < trace.size(); ++i) {
    trace[i].startNs = device.timeOf(trace[i].startNs);
    trace[i].endNs = device.timeOf(trace[i].endNs);
  }
}

void RunningRank::act() {
  const RankDesc &desc = program.ranks[me];
  beginTrace();
  messages.beginIteration();
  copies.begin(keepTrace && span.tracedIterations > 0);
  collectives.beginIteration();
  for (ShardedReplica *shard : shards)
    shard->beginIteration();
  for (LocalReplica &replica : replicas)
    replica.nextForward = 0;
  desc.run(*this, desc.row);
  collectives.checkEnd();
  ring.begin(ActionRing::Drain);
  messages.awaitSends();
  copies.finish(trace, span.before + 1);
  if (program.overlap && device.enqueues())
    for (size_t h = 0; h < replicas.size(); ++h)
      if (replicas[h].binding)
        state.returnToFirstSlot(static_cast<int32_t>(h), device);
  endTrace();
  checkSteps();
  if (program.overlap)
    messages.checkEnd();
  for (const ShardedReplica *shard : shards)
    shard->checkEnd();
}

int64_t RunningRank::repetitions() {
  if (!program.overlap)
    return 1;
  const int64_t each = program.overlap->iterationsEach;
  return (span.iterations + each - 1) / each;
}

//===----------------------------------------------------------------------===//
// Tasks.
//===----------------------------------------------------------------------===//

RunningRank::LocalReplica &RunningRank::local(int64_t replica,
                                              int64_t microbatch) {
  if (replica < 0 || replica >= static_cast<int64_t>(replicas.size()) ||
      !replicas[replica].binding || microbatch < 0 ||
      (!program.overlap && microbatch >= program.microbatches) ||
      !takes(program.shares[replica], microbatch))
    failOnReplica(replica, microbatch);
  return replicas[replica];
}

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
  // Without copies, what could be copied may share slots with messages.
  for (Buffer buffer :
       {Buffer::Output, Buffer::SavedForInputGrad, Buffer::SavedForWeightGrad,
        Buffer::Checkpoints, Buffer::OffloadedForInputGrad,
        Buffer::OffloadedForWeightGrad})
    messages.acquire(replica.place(buffer), microbatch, action);
  messages.await(replica.tensors->inputs, microbatch, action);
  char *data = replica.place(Buffer::Data).at(microbatch);
  if (data && span.writeData)
    writeData(static_cast<int32_t>(h), microbatch);
  copies.await(ActionKind::Forward, h, microbatch);
  action.restart();
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
    char *checkpoint = checkpoints + layer.checkpointOffset;
    for (int32_t k = 0;
         layer.checkpointOffset >= 0 && k < layer.desc->numInputs;
         checkpoint += alignedBytes(layer.desc->inputBytes[k++]))
      if (l == 0)
        device.copy(checkpoint, args.inputs[k],
                    alignedBytes(layer.desc->inputBytes[k]));
      else
        args.inputs[k] = checkpoint;
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
  messages.await(replica.tensors->recomputedInputs, microbatch, action);
  char *data = replica.place(Buffer::Data).at(microbatch);
  if (data && span.writeData)
    writeData(static_cast<int32_t>(h), microbatch);
  copies.await(ActionKind::Recompute, h, microbatch);
  action.restart();
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
    char *checkpoint = checkpoints + layer.checkpointOffset;
    for (int32_t k = 0;
         layer.checkpointOffset >= 0 && k < layer.desc->numInputs;
         checkpoint += alignedBytes(layer.desc->inputBytes[k++]))
      args.inputs[k] = checkpoint;
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

//===----------------------------------------------------------------------===//
// Messages and sharded state.
//===----------------------------------------------------------------------===//

void RunningRank::save(int64_t h, int64_t microbatch) {
  copies.reach(ActionKind::Save, h, microbatch);
}

void RunningRank::load(int64_t h, int64_t microbatch) {
  copies.reach(ActionKind::Load, h, microbatch);
}

void RunningRank::send(Message message, int64_t h, int64_t to,
                       int64_t microbatch) {
  if (isLeftOut(microbatch))
    return;
  local(h, microbatch);
  messages.send(message, h, to, microbatch);
}

void RunningRank::receive(Message message, int64_t h, int64_t to,
                          int64_t microbatch) {
  if (isLeftOut(microbatch))
    return;
  const int32_t edge = messages.edgeOf(message, h, to, microbatch);
  local(messages.receiverOf(edge), microbatch);
  messages.receive(edge, microbatch);
}

ShardedReplica &RunningRank::sharded(ActionKind kind, int64_t h, int64_t unit) {
  const bool isKnown = h >= 0 && h < static_cast<int64_t>(replicas.size());
  if (!isKnown || !replicas[h].shard)
    throw Error("the program of rank " + std::to_string(me) + " runs " +
                actionName(kind, Message::None,
                           isKnown ? context.stageOf(h) : h, unit) +
                " of replica " + std::to_string(h) +
                (isKnown && replicas[h].binding
                     ? ", which keeps all of its state"
                     : ", which it does not hold"));
  return *replicas[h].shard;
}

void RunningRank::unshard(int64_t h, int64_t unit) {
  ShardedReplica &replica = sharded(ActionKind::Unshard, h, unit);
  copies.await(ActionKind::Unshard, h, unit);
  replica.unshard(unit);
}

void RunningRank::reshard(int64_t h, int64_t unit) {
  sharded(ActionKind::Reshard, h, unit).reshard(unit);
  copies.ended(ActionKind::Reshard, h, unit);
}

void RunningRank::reduceGrad(int64_t h, int64_t unit) {
  sharded(ActionKind::ReduceGrad, h, unit).reduceGrad(unit);
  copies.ended(ActionKind::ReduceGrad, h, unit);
}

void RunningRank::failOnReplica(int64_t replica, int64_t microbatch) const {
  throw Error("the program of rank " + std::to_string(me) + " runs replica " +
              std::to_string(replica) + ", micro-batch " +
              std::to_string(microbatch) + ", which it does not hold");
}
