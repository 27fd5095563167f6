//===- rank_setup.cpp - What a rank's actions look up ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/error.h"
#include "runtime/execution/rank.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

RunningRank::RunningRank(State &state, const ProgramDesc &program,
                         const Wiring &wiring, Transport &transport,
                         int32_t rank, const OptimizerConfig &optimizer,
                         ActionRing &ring, FaultPoint *fault)
    : state(state), program(program), device(state.device(rank)),
      transport(transport), me(rank), optimizer(optimizer),
      stream(device.stream()), replicas(state.replicas().size()),
      edgeDescs(program.edges), edges(state.executable().numEdges),
      firstFence(program.numPools, -1), progress(wiring.collectives.size()),
      firstEntry(wiring.firstEntry), lateSums(wiring.collectives.size()),
      ring(ring), fault(fault), records(replicas.size()),
      sharedHeaders(replicas.size()) {
  for (int32_t h = 0; h < static_cast<int32_t>(replicas.size()); ++h) {
    replicas[h].stage = state.executable().replicas[h].stage;
    if (program.rankOfReplica[h] != me)
      continue;
    replicas[h].binding = &state.replicas(program)[h];
    replicas[h].optimized = replicas[h].binding->optimized;
    records[h] = std::make_unique<ReplicaRecord>();
    // The iteration's loss is the mean over all of its samples.
    replicas[h].lossScale =
        program.shares[h].samples /
        (static_cast<double>(samplesOf(program)) * program.microbatches);
    for (int b = 0; b < numBuffers; ++b)
      replicas[h].places[b] = placeOf(state, h * numBuffers + b);
  }
  for (size_t h = 0; h < replicas.size(); ++h)
    if (replicas[h].binding && replicas[h].binding->replica->shards > 1)
      setUpShard(static_cast<int32_t>(h));
  edgesFrom.resize(numMessageKinds * replicas.size());
  for (int32_t e = 0; e < static_cast<int32_t>(edges.size()); ++e)
    addEdge(e, wiring);
  for (const LocalReplica &replica : replicas) {
    if (replica.inputs.size() > maxLayerInputs)
      throw Error("stage '" + std::string(replica.binding->desc->name) +
                  "' has " + std::to_string(replica.inputs.size()) +
                  " inputs; a layer takes " + std::to_string(maxLayerInputs) +
                  " at most");
    // All sends of an activation, or of what R makes, read one slot, those of a
    // gradient their tensor's.
    int32_t activations = 0;
    auto sends = [&](const std::vector<int32_t> &parts) {
      return static_cast<int32_t>(
          std::count_if(parts.begin(), parts.end(), [&](int32_t edge) {
            return edges[edge].channel >= 0;
          }));
    };
    for (Message message : {Message::Activation, Message::Recomputed})
      if (replica.binding)
        activations = std::max(
            activations,
            sends(edgesFrom[numMessageKinds * (&replica - replicas.data()) +
                            static_cast<int>(message)]));
    fencesPerSlot = std::max(fencesPerSlot, activations);
    for (const LocalTensor &tensor : replica.inputGrads)
      fencesPerSlot = std::max(fencesPerSlot, sends(tensor.edges));
  }
  fences.resize(fences.size() * fencesPerSlot);
  for (LocalReplica &replica : replicas)
    if (replica.binding)
      makeCalls(replica);
}

void RunningRank::addEdge(int32_t number, const Wiring &wiring) {
  const EdgeDesc &desc = edgeDescs[number];
  LocalEdge &edge = edges[number];
  const int32_t fromRank = program.rankOfReplica[desc.from],
                toRank = program.rankOfReplica[desc.to];
  edgesFrom[numMessageKinds * desc.from + static_cast<int>(desc.message)]
      .push_back(number);
  if (fromRank == me) {
    edge.sent = placeOf(state, desc.sent);
    if (desc.message == Message::Gradient)
      addPart(replicas[desc.from].inputGrads, desc.sent, number);
  }
  if (toRank == me) {
    edge.received = placeOf(state, desc.received);
    LocalReplica &to = replicas[desc.to];
    addPart(desc.message == Message::Activation   ? to.inputs
            : desc.message == Message::Recomputed ? to.recomputedInputs
                                                  : to.outputGrads,
            desc.received, number);
  }
  const ShareDesc &from = program.shares[desc.from],
                  &to = program.shares[desc.to];
  edge.isRoundRobin = from.turns > 1 || to.turns > 1;
  if (fromRank == toRank) {
    edge.isCopied = from.firstSample != to.firstSample ||
                    from.samples != to.samples || from.turn != to.turn ||
                    from.turns != to.turns;
    return;
  }
  edge.channel = wiring.channelOf[fromRank * program.numRanks + toRank];
  if (toRank == me)
    edge.tickets.assign(edge.received.base && program.overlap
                            ? edge.received.slots.period
                            : maxAtOnce(program),
                        -1);
}

/// Parts that leave or enter one place are of one tensor.
void RunningRank::addPart(std::vector<LocalTensor> &tensors, int32_t place,
                          int32_t edge) {
  auto same = std::find_if(
      tensors.begin(), tensors.end(),
      [&](const LocalTensor &other) { return other.number == place; });
  if (same == tensors.end())
    same = tensors.insert(same, {place, placeOf(state, place), {}});
  same->edges.push_back(edge);
}

RunningRank::Place RunningRank::placeOf(const State &state, int32_t number) {
  const PlaceDesc &place = program.places[number];
  if (place.pool < 0)
    return {};
  const PoolDesc &pool = program.pools[place.pool];
  if (firstFence[place.pool] < 0) {
    firstFence[place.pool] = static_cast<int32_t>(fences.size());
    fences.resize(fences.size() + pool.slots);
  }
  return {state.address(pool, 0), pool.slotBytes, place,
          firstFence[place.pool]};
}

/// Writes the fields that all calls of a layer's task have in common.
void RunningRank::makeCalls(LocalReplica &replica) const {
  const ReplicaBinding &binding = *replica.binding;
  const size_t last = binding.layers.size() - 1;
  LayerArgs common{};
  common.lossScale = replica.lossScale;
  common.stream = stream;
  // Activations between layers of the stage come before the scratch, and are
  // used in turn.
  char *workspace = replica.place(Buffer::Workspace).at(0);
  auto inner = [&](size_t border) {
    return workspace + (border % 2) * binding.innerBytes;
  };
  if (workspace)
    common.workspace = workspace + binding.numInner * binding.innerBytes;
  replica.calls.assign(binding.layers.size(), {common, common, common, common});
  for (size_t l = 0; l <= last; ++l) {
    LayerCalls &calls = replica.calls[l];
    if (l > 0)
      calls.forward.inputs[0] = calls.recompute.inputs[0] =
          calls.inputGrad.inputGrads[0] = inner(l - 1);
    if (l < last)
      calls.inputGrad.outputGrad = calls.forward.output =
          calls.recompute.output = inner(l);
    const LayerBinding &layer = binding.layers[l];
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
