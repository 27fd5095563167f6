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
  listStarts();
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

/// Starts are at one address for all programs and batches, since recorded
/// iterations read them there.
void RunningRank::listStarts() {
  for (int32_t i = 0;
       device.enqueues() && documentsOf(program, 0) && i < program.microbatches;
       ++i) {
    const DocumentsDesc &row = *documentsOf(program, i);
    firstStart.push_back(static_cast<int64_t>(starts.size()));
    starts.insert(starts.end(), row.starts, row.starts + row.count + 1);
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
  for (size_t h = 0; h < replicas.size(); ++h)
    if (replicas[h].binding && replicas[h].binding->control.starts)
      state.write(static_cast<int32_t>(h), replicas[h].binding->control.starts,
                  starts.data(),
                  static_cast<int64_t>(sizeof(int32_t) * starts.size()));
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
  const bool mayReplay =
      !keepTrace && !span.emulation.history && copies.mayReplay();
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

RunningRank::LocalReplica &RunningRank::local(int64_t replica,
                                              int64_t microbatch) {
  if (replica < 0 || replica >= static_cast<int64_t>(replicas.size()) ||
      !replicas[replica].binding || microbatch < 0 ||
      (!program.overlap && microbatch >= program.microbatches) ||
      !takes(program.shares[replica], microbatch))
    failOnReplica(replica, microbatch);
  return replicas[replica];
}

void RunningRank::failOnReplica(int64_t replica, int64_t microbatch) const {
  throw Error("the program of rank " + std::to_string(me) + " runs replica " +
              std::to_string(replica) + ", micro-batch " +
              std::to_string(microbatch) + ", which it does not hold");
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
