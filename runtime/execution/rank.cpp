//===- rank.cpp - Runs the actions of one rank of a program ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/rank.h"

#include "runtime/base/error.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

/// Records an action for the watchdog, and for the trace if there is one.
class Rank::Action {
public:
  Action(Rank &rank, ActionKind kind, int64_t stage, int64_t microbatch,
         Message message = Message::Activation)
      : rank(rank), kind(kind), message(message), stage(stage),
        microbatch(microbatch) {
    rank.current.store((static_cast<uint64_t>(kind) << 58) |
                           (static_cast<uint64_t>(message) << 56) |
                           (static_cast<uint64_t>(stage) << 32) |
                           static_cast<uint64_t>(microbatch),
                       std::memory_order_relaxed);
    rank.begun.store(rank.begun.load(std::memory_order_relaxed) + 1,
                     std::memory_order_relaxed);
    restart();
  }
  /// Called when the waits are over.
  void restart() {
    if (rank.keepTrace)
      startNs = rank.device.stamp();
  }
  ~Action() {
    if (rank.keepTrace)
      rank.trace.push_back({kind, message, static_cast<int32_t>(stage),
                            static_cast<int32_t>(microbatch), startNs,
                            rank.device.stamp()});
  }

private:
  Rank &rank;
  const ActionKind kind;
  const Message message;
  const int64_t stage, microbatch;
  int64_t startNs = 0;
};

Rank::Rank(State &state, const ProgramDesc &program, const Wiring &wiring,
           Transport &transport, int32_t rank, const OptimizerConfig &optimizer)
    : state(state), program(program), device(state.device(rank)),
      transport(transport), me(rank), optimizer(optimizer),
      lossScale(1.0 / program.microbatches), stream(device.stream()),
      stages(state.homes().size()), edgeDescs(program.edges),
      edges(state.executable().numEdges), firstFence(program.numPools, -1) {
  for (int32_t h = 0; h < static_cast<int32_t>(stages.size()); ++h) {
    if (program.rankOfHome[h] != me)
      continue;
    stages[h].binding = &state.homes(program)[h];
    for (int b = 0; b < numBuffers; ++b)
      stages[h].places[b] = placeOf(state, h * numBuffers + b);
  }
  edgesFrom.resize(numMessageKinds * state.executable().numStages);
  std::vector<int32_t> sends(stages.size(), 0);
  for (size_t e = 0; e < edges.size(); ++e) {
    const EdgeDesc &desc = edgeDescs[e];
    LocalEdge &edge = edges[e];
    const int32_t number = static_cast<int32_t>(e),
                  from = state.ownerOf(desc.from), to = state.ownerOf(desc.to);
    edge.fromHome = from;
    edge.toHome = to;
    const int32_t fromRank = program.rankOfHome[from],
                  toRank = program.rankOfHome[to];
    const bool isActivation = desc.message == Message::Activation;
    edgesFrom[numMessageKinds * desc.from + static_cast<int>(desc.message)]
        .push_back(number);
    if (fromRank == me) {
      edge.sent = placeOf(state, desc.sent);
      if (!isActivation)
        stages[from].inputGrads.push_back(number);
    }
    if (toRank == me) {
      edge.received = placeOf(state, desc.received);
      (isActivation ? stages[to].inputs : stages[to].outputGrads)
          .push_back(number);
    }
    if (fromRank == toRank)
      continue;
    edge.channel = wiring.channelOf[fromRank * program.numRanks + toRank];
    if (toRank == me)
      edge.tickets.assign(program.microbatches, -1);
    if (fromRank == me && isActivation)
      fencesPerSlot = std::max(fencesPerSlot, ++sends[from]);
  }
  for (const LocalStage &stage : stages)
    if (stage.inputs.size() > maxLayerInputs)
      throw Error("stage '" + std::string(stage.binding->desc->name) +
                  "' has " + std::to_string(stage.inputs.size()) +
                  " inputs; a layer takes " + std::to_string(maxLayerInputs) +
                  " at most");
  fences.resize(fences.size() * fencesPerSlot);
  for (LocalStage &stage : stages)
    if (stage.binding)
      makeCalls(stage);
}

Rank::Place Rank::placeOf(const State &state, int32_t number) {
  const PlacementDesc &placement = program.placements[number];
  if (placement.pool < 0)
    return {};
  const PoolDesc &pool = program.pools[placement.pool];
  if (firstFence[placement.pool] < 0) {
    firstFence[placement.pool] = static_cast<int32_t>(fences.size());
    fences.resize(fences.size() + pool.slots);
  }
  return {state.address(pool, 0), pool.slotBytes, placement.slotOf,
          static_cast<uint32_t>(placement.period), firstFence[placement.pool]};
}

void Rank::runIteration() {
  const size_t firstEvent = trace.size();
  transport.iterate(me, !keepTrace, [this] {
    const RankDesc &desc = program.ranks[me];
    progress.assign(program.numCollectives, Progress::NotIssued);
    desc.run(*this, desc.row);
    const auto open =
        std::find(progress.begin(), progress.end(), Progress::Issued);
    if (open != progress.end())
      throw Error("the program of rank " + std::to_string(me) +
                  " does not await collective " +
                  std::to_string(open - progress.begin()));
    for (Fence &fence : fences) {
      if (fence.channel >= 0)
        transport.waitSent(fence.channel, fence.ticket);
      fence.channel = -1;
    }
  });
  for (size_t i = firstEvent; i < trace.size(); ++i) {
    trace[i].startNs = device.timeOf(trace[i].startNs);
    trace[i].endNs = device.timeOf(trace[i].endNs);
  }
}

Rank::LocalStage &Rank::local(int64_t stage, int64_t microbatch) {
  if (stage < 0 || stage >= static_cast<int64_t>(stages.size()) ||
      !stages[stage].binding || microbatch < 0 ||
      microbatch >= program.microbatches)
    failOnStage(stage, microbatch);
  return stages[stage];
}

/// Waits for sends that still read the slot.
void Rank::acquire(const Place &place, int64_t microbatch) {
  if (!place.base)
    return;
  Fence *fence =
      &fences[(place.firstFence + place.slot(microbatch)) * fencesPerSlot];
  for (int32_t k = 0; k < fencesPerSlot && fence[k].channel >= 0; ++k) {
    transport.waitSent(fence[k].channel, fence[k].ticket);
    fence[k].channel = -1;
  }
}

MessageName Rank::nameOfMessage(int32_t edge, int64_t microbatch) const {
  return {edge, static_cast<int32_t>(microbatch), edges[edge].fromHome,
          edges[edge].toHome};
}

void Rank::awaitMessage(int32_t number, int64_t microbatch) {
  LocalEdge &edge = edges[number];
  if (edge.channel < 0)
    return;
  int64_t ticket = edge.tickets[microbatch];
  if (ticket < 0)
    failOnUnposted(number, microbatch);
  edge.tickets[microbatch] = -1;
  transport.waitReceived(edge.channel, static_cast<Transport::Ticket>(ticket));
}

/// Adds the gradients of all edges into the first one's buffer, one edge after
/// another, so that the bits do not depend on when they came.
void Rank::addOutputGrads(const LocalStage &stage, int64_t microbatch) {
  for (size_t k = 1; k < stage.outputGrads.size(); ++k) {
    const int32_t edge = stage.outputGrads[k];
    device.addTo(edges[stage.outputGrads[0]].received.at(microbatch),
                 edges[edge].received.at(microbatch), edgeDescs[edge].bytes,
                 stage.binding->layers.back().desc->dtype);
  }
}

/// Writes the fields that all calls of a layer's task have in common.
void Rank::makeCalls(LocalStage &stage) const {
  const HomeBinding &binding = *stage.binding;
  const size_t last = binding.layers.size() - 1;
  LayerArgs common{};
  common.lossScale = lossScale;
  common.stream = stream;
  // Activations between layers of the stage come before the scratch, and are
  // used in turn.
  char *workspace = stage.place(Buffer::Workspace).at(0);
  auto inner = [&](size_t border) {
    return workspace + (border % 2) * binding.innerBytes;
  };
  if (workspace)
    common.workspace = workspace + binding.numInner * binding.innerBytes;
  stage.calls.assign(binding.layers.size(), {common, common, common});
  for (size_t l = 0; l <= last; ++l) {
    LayerCalls &calls = stage.calls[l];
    calls.weightGrad.gradients =
        binding.gradients + binding.layers[l].gradientsOffset;
    if (l > 0)
      calls.forward.inputs[0] = calls.inputGrad.inputGrads[0] = inner(l - 1);
    if (l < last)
      calls.inputGrad.outputGrad = calls.forward.output = inner(l);
  }
}

/// Null if the buffer is.
static char *at(char *buffer, int64_t offset) {
  return buffer ? buffer + offset : nullptr;
}

void Rank::forward(int64_t s, int64_t microbatch) {
  LocalStage &stage = local(s, microbatch);
  Action action(*this, ActionKind::Forward, s, microbatch);
  acquire(stage.place(Buffer::Output), microbatch);
  acquire(stage.place(Buffer::SavedForInputGrad), microbatch);
  acquire(stage.place(Buffer::SavedForWeightGrad), microbatch);
  for (int32_t edge : stage.inputs)
    awaitMessage(edge, microbatch);
  action.restart();
  const HomeBinding &binding = *stage.binding;
  char *weights = stage.place(Buffer::Weights).at(binding.version);
  char *forI = stage.place(Buffer::SavedForInputGrad).at(microbatch);
  char *forW = stage.place(Buffer::SavedForWeightGrad).at(microbatch);
  char *data = stage.place(Buffer::Data).at(microbatch);
  for (size_t k = 0; k < stage.inputs.size(); ++k)
    stage.calls.front().forward.inputs[k] =
        edges[stage.inputs[k]].received.at(microbatch);
  stage.calls.back().forward.output =
      stage.place(Buffer::Output).at(microbatch);
  for (size_t l = 0; l < stage.calls.size(); ++l) {
    const LayerBinding &layer = binding.layers[l];
    LayerArgs &args = stage.calls[l].forward;
    args.weights = weights + layer.weightsOffset;
    args.savedForInputGrad = at(forI, layer.savedForInputGradOffset);
    args.savedForWeightGrad = at(forW, layer.savedForWeightGradOffset);
    args.data = reinterpret_cast<const int32_t *>(at(data, layer.dataOffset));
    if (hasLoss(*layer.desc))
      args.loss = binding.control.losses + microbatch;
    args.microbatch = microbatch;
    layer.body.forward(layer.desc, &args);
  }
}

void Rank::inputGrad(int64_t s, int64_t microbatch) {
  LocalStage &stage = local(s, microbatch);
  Action action(*this, ActionKind::InputGrad, s, microbatch);
  for (int32_t edge : stage.inputGrads)
    acquire(edges[edge].sent, microbatch);
  for (int32_t edge : stage.outputGrads)
    awaitMessage(edge, microbatch);
  action.restart();
  addOutputGrads(stage, microbatch);
  const HomeBinding &binding = *stage.binding;
  char *weights = stage.place(Buffer::Weights).at(binding.version);
  char *forI = stage.place(Buffer::SavedForInputGrad).at(microbatch);
  char *forW = stage.place(Buffer::SavedForWeightGrad).at(microbatch);
  for (size_t k = 0; k < stage.inputGrads.size(); ++k)
    stage.calls.front().inputGrad.inputGrads[k] =
        edges[stage.inputGrads[k]].sent.at(microbatch);
  stage.calls.back().inputGrad.outputGrad =
      stage.place(Buffer::OutputGrad).at(microbatch);
  for (size_t l = stage.calls.size(); l-- > 0;) {
    const LayerBinding &layer = binding.layers[l];
    LayerArgs &args = stage.calls[l].inputGrad;
    args.weights = weights + layer.weightsOffset;
    args.savedForInputGrad = at(forI, layer.savedForInputGradOffset);
    args.savedForWeightGrad = at(forW, layer.savedForWeightGradOffset);
    args.microbatch = microbatch;
    layer.body.inputGrad(layer.desc, &args);
  }
}

void Rank::weightGrad(int64_t s, int64_t microbatch) {
  LocalStage &stage = local(s, microbatch);
  Action action(*this, ActionKind::WeightGrad, s, microbatch);
  const HomeBinding &binding = *stage.binding;
  char *weights = stage.place(Buffer::Weights).at(binding.version);
  char *forW = stage.place(Buffer::SavedForWeightGrad).at(microbatch);
  for (size_t l = stage.calls.size(); l-- > 0;) {
    const LayerBinding &layer = binding.layers[l];
    LayerArgs &args = stage.calls[l].weightGrad;
    args.weights = weights + layer.weightsOffset;
    args.savedForWeightGrad = at(forW, layer.savedForWeightGradOffset);
    args.microbatch = microbatch;
    layer.body.weightGrad(layer.desc, &args);
  }
}

/// The edge that a message belongs to.
int32_t Rank::edgeOf(Message message, int64_t stage, int64_t to,
                     int64_t microbatch) const {
  const size_t row =
      static_cast<size_t>(numMessageKinds * stage + static_cast<int>(message));
  if (stage >= 0 && row < edgesFrom.size()) {
    const std::vector<int32_t> &candidates = edgesFrom[row];
    if (to < 0 && candidates.size() == 1)
      return candidates.front();
    for (int32_t edge : candidates)
      if (edgeDescs[edge].to == to)
        return edge;
  }
  failOnMessage("names", message, stage, microbatch, "no other stage needs");
}

void Rank::send(Message message, int64_t s, int64_t to, int64_t microbatch) {
  local(s, microbatch);
  Action action(*this, ActionKind::Send, s, microbatch, message);
  const int32_t number = edgeOf(message, s, to, microbatch);
  LocalEdge &edge = edges[number];
  const MessageName name = nameOfMessage(number, microbatch);
  if (edge.channel < 0)
    failOnMessage("sends", message, s, microbatch, "no other rank needs");
  Transport::Ticket ticket = transport.send(
      edge.channel, name, edge.sent.at(microbatch), edgeDescs[number].bytes);
  if (!edge.sent.base)
    return;
  Fence *fence = &fences[(edge.sent.firstFence + edge.sent.slot(microbatch)) *
                         fencesPerSlot];
  while (fence->channel >= 0)
    ++fence;
  *fence = {edge.channel, ticket};
}

void Rank::receive(Message message, int64_t s, int64_t to, int64_t microbatch) {
  const int32_t number = edgeOf(message, s, to, microbatch);
  local(edgeDescs[number].to, microbatch);
  Action action(*this, ActionKind::Recv, s, microbatch, message);
  LocalEdge &edge = edges[number];
  const MessageName name = nameOfMessage(number, microbatch);
  if (edge.channel < 0)
    failOnMessage("receives", message, s, microbatch, "it makes itself");
  acquire(edge.received, microbatch);
  edge.tickets[microbatch] =
      transport.receive(edge.channel, name, edge.received.at(microbatch),
                        edgeDescs[number].bytes);
}

void Rank::checkCollective(ActionKind kind, int64_t collective) const {
  if (collective < 0 || collective >= program.numCollectives)
    throw Error("the program of rank " + std::to_string(me) + " runs " +
                actionName(kind, Message::None, collective, 0) +
                ", which the program does not have");
}

void Rank::allReduce(int64_t collective) {
  checkCollective(ActionKind::AllReduce, collective);
  Action action(*this, ActionKind::AllReduce, collective, 0);
  if (progress[collective] != Progress::NotIssued)
    throw Error("the program of rank " + std::to_string(me) +
                " issues collective " + std::to_string(collective) + " twice");
  startCollective(static_cast<int32_t>(collective));
  progress[collective] = Progress::Issued;
}

void Rank::await(int64_t collective) {
  checkCollective(ActionKind::Await, collective);
  Action action(*this, ActionKind::Await, collective, 0);
  if (progress[collective] == Progress::Awaited)
    return;
  if (progress[collective] == Progress::NotIssued)
    throw Error("the program of rank " + std::to_string(me) +
                " awaits collective " + std::to_string(collective) +
                ", which it has not issued");
  finishCollective(static_cast<int32_t>(collective));
  progress[collective] = Progress::Awaited;
}

void Rank::step(int64_t s) {
  LocalStage &stage = local(s, 0);
  Action action(*this, ActionKind::Step, s, 0);
  if (!computesNorm(program))
    device.addCopies(stage.binding->optimized);
  // Writes the version after the one that tasks have read.
  state.nextVersion(static_cast<int32_t>(s));
  device.step(stage.binding->optimized, optimizer.adamw);
}
