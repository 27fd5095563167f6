//===- rank.cpp - Runs the actions of one rank of a program ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/rank.h"

#include "runtime/base/error.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

Rank::~Rank() = default;

/// Records an action for the watchdog, and for the trace if there is one.
class RunningRank::Action {
public:
  Action(RunningRank &rank, ActionKind kind, int64_t subject,
         int64_t microbatch, Message message = Message::Activation)
      : rank(rank), kind(kind), message(message),
        home(traitsOf(kind).subject == Subject::Collective ? -1 : subject),
        number(home < 0 ? subject : rank.stageOf(home)),
        microbatch(microbatch) {
    rank.current.store((static_cast<uint64_t>(kind) << 58) |
                           (static_cast<uint64_t>(message) << 56) |
                           (static_cast<uint64_t>(number) << 32) |
                           static_cast<uint64_t>(microbatch),
                       std::memory_order_relaxed);
    rank.begun.store(rank.begun.load(std::memory_order_relaxed) + 1,
                     std::memory_order_relaxed);
    restart();
  }
  /// Called when the waits are over.
  void restart() {
    if (rank.keepTrace || rank.keepTimes)
      startNs = rank.device.stamp();
  }
  ~Action() {
    if (!rank.keepTrace && !rank.keepTimes)
      return;
    const int64_t endNs = rank.device.stamp();
    if (rank.keepTrace)
      rank.trace.push_back({kind, message, static_cast<int32_t>(home),
                            static_cast<int32_t>(number),
                            static_cast<int32_t>(microbatch), startNs, endNs});
    if (rank.keepTimes && traitsOf(kind).hasCost())
      rank.workTimes.push_back(
          {static_cast<int32_t>(home), kind, endNs - startNs});
  }

private:
  RunningRank &rank;
  const ActionKind kind;
  const Message message;
  const int64_t home, number, microbatch;
  int64_t startNs = 0;
};

void RunningRank::runIteration() {
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

RunningRank::LocalHome &RunningRank::local(int64_t home, int64_t microbatch) {
  if (home < 0 || home >= static_cast<int64_t>(homes.size()) ||
      !homes[home].binding || microbatch < 0 ||
      microbatch >= program.microbatches ||
      !takes(program.shares[home], microbatch))
    failOnHome(home, microbatch);
  return homes[home];
}

/// Waits for sends that still read the slot.
void RunningRank::acquire(const Place &place, int64_t microbatch) {
  if (!place.base)
    return;
  Fence *fence =
      &fences[(place.firstFence + place.slot(microbatch)) * fencesPerSlot];
  for (int32_t k = 0; k < fencesPerSlot && fence[k].channel >= 0; ++k) {
    transport.waitSent(fence[k].channel, fence[k].ticket);
    fence[k].channel = -1;
  }
}

MessageName RunningRank::nameOfMessage(int32_t edge, int64_t microbatch) const {
  return {edge, static_cast<int32_t>(microbatch), edgeDescs[edge].from,
          edgeDescs[edge].to};
}

void RunningRank::awaitMessage(int32_t number, int64_t microbatch) {
  LocalEdge &edge = edges[number];
  if (edge.channel < 0) {
    const EdgeDesc &desc = edgeDescs[number];
    if (edge.isCopied && edge.received.base)
      device.copy(edge.received.at(microbatch) + desc.receivedOffset,
                  edge.sent.at(microbatch) + desc.sentOffset, desc.bytes);
    return;
  }
  int64_t ticket = edge.tickets[microbatch];
  if (ticket < 0)
    failOnUnposted(number, microbatch);
  edge.tickets[microbatch] = -1;
  transport.waitReceived(edge.channel, static_cast<Transport::Ticket>(ticket));
}

/// Waits for all parts, or copies them.
void RunningRank::awaitTensors(const std::vector<LocalTensor> &tensors,
                               int64_t microbatch) {
  for (const LocalTensor &tensor : tensors) {
    if (edges[tensor.edges.front()].isCopied)
      acquire(tensor.place, microbatch);
    for (int32_t edge : tensor.edges)
      if (carries(edge, microbatch))
        awaitMessage(edge, microbatch);
  }
}

/// Adds the gradients from all stages into the first one's buffer, one stage
/// after another, so that the bits do not depend on when they came.
void RunningRank::addOutputGrads(const LocalHome &home, int64_t microbatch) {
  for (size_t k = 1; k < home.outputGrads.size(); ++k) {
    int64_t bytes = 0;
    for (int32_t edge : home.outputGrads[k].edges)
      if (carries(edge, microbatch))
        bytes += edgeDescs[edge].bytes;
    device.addTo(home.outputGrads[0].place.at(microbatch),
                 home.outputGrads[k].place.at(microbatch), bytes,
                 home.binding->layers.back().desc->dtype);
  }
}

/// Null if the buffer is.
static char *at(char *buffer, int64_t offset) {
  return buffer ? buffer + offset : nullptr;
}

/// F of a layer, also where R runs it again.
static inline void runForward(const HomeBinding &binding,
                              const LayerBinding &layer, LayerArgs &args,
                              char *weights, char *data, int64_t microbatch) {
  args.weights = weights + layer.weightsOffset;
  args.data = reinterpret_cast<const int32_t *>(at(data, layer.dataOffset));
  if (hasLoss(*layer.desc))
    args.loss = binding.control.losses + microbatch;
  args.microbatch = microbatch;
  layer.body.forward(layer.desc, &args);
}

void RunningRank::forward(int64_t h, int64_t microbatch) {
  LocalHome &home = local(h, microbatch);
  Action action(*this, ActionKind::Forward, h, microbatch);
  acquire(home.place(Buffer::Output), microbatch);
  acquire(home.place(Buffer::SavedForInputGrad), microbatch);
  acquire(home.place(Buffer::SavedForWeightGrad), microbatch);
  acquire(home.place(Buffer::Checkpoints), microbatch);
  awaitTensors(home.inputs, microbatch);
  action.restart();
  const HomeBinding &binding = *home.binding;
  const Saved saved(home, microbatch);
  char *weights = home.place(Buffer::Weights).at(binding.version);
  char *checkpoints = home.place(Buffer::Checkpoints).at(microbatch);
  char *data = home.place(Buffer::Data).at(microbatch);
  for (size_t k = 0; k < home.inputs.size(); ++k)
    home.calls.front().forward.inputs[k] = home.inputs[k].place.at(microbatch);
  home.calls.back().forward.output = home.place(Buffer::Output).at(microbatch);
  for (size_t l = 0; l < home.calls.size(); ++l) {
    const LayerBinding &layer = binding.layers[l];
    LayerArgs &args = home.calls[l].forward;
    if (!layer.desc->recomputes) {
      args.savedForInputGrad = saved.forInputGrad(layer);
      args.savedForWeightGrad = saved.forWeightGrad(layer);
    }
    // Where R begins, the layer before writes the checkpoint.
    if (layer.checkpointOffset >= 0)
      args.inputs[0] = checkpoints + layer.checkpointOffset;
    if (l + 1 < home.calls.size())
      if (int64_t offset = binding.layers[l + 1].checkpointOffset; offset >= 0)
        args.output = checkpoints + offset;
    runForward(binding, layer, args, weights, data, microbatch);
  }
}

void RunningRank::recompute(int64_t h, int64_t microbatch) {
  LocalHome &home = local(h, microbatch);
  Action action(*this, ActionKind::Recompute, h, microbatch);
  acquire(home.place(Buffer::RecomputedForInputGrad), microbatch);
  acquire(home.place(Buffer::RecomputedForWeightGrad), microbatch);
  action.restart();
  const HomeBinding &binding = *home.binding;
  const Saved saved(home, microbatch);
  char *weights = home.place(Buffer::Weights).at(binding.version);
  char *checkpoints = home.place(Buffer::Checkpoints).at(microbatch);
  char *data = home.place(Buffer::Data).at(microbatch);
  for (size_t k = 0; k < home.inputs.size(); ++k)
    home.calls.front().recompute.inputs[k] =
        home.inputs[k].place.at(microbatch);
  for (size_t l = 0; l < home.calls.size(); ++l) {
    const LayerBinding &layer = binding.layers[l];
    if (!layer.desc->recomputes)
      continue;
    LayerArgs &args = home.calls[l].recompute;
    args.savedForInputGrad = saved.forInputGrad(layer);
    args.savedForWeightGrad = saved.forWeightGrad(layer);
    if (layer.checkpointOffset >= 0)
      args.inputs[0] = checkpoints + layer.checkpointOffset;
    runForward(binding, layer, args, weights, data, microbatch);
  }
}

void RunningRank::inputGrad(int64_t h, int64_t microbatch) {
  LocalHome &home = local(h, microbatch);
  Action action(*this, ActionKind::InputGrad, h, microbatch);
  for (const LocalTensor &tensor : home.inputGrads)
    acquire(tensor.place, microbatch);
  awaitTensors(home.outputGrads, microbatch);
  action.restart();
  addOutputGrads(home, microbatch);
  const HomeBinding &binding = *home.binding;
  const Saved saved(home, microbatch);
  char *weights = home.place(Buffer::Weights).at(binding.version);
  for (size_t k = 0; k < home.inputGrads.size(); ++k)
    home.calls.front().inputGrad.inputGrads[k] =
        home.inputGrads[k].place.at(microbatch);
  home.calls.back().inputGrad.outputGrad =
      home.place(Buffer::OutputGrad).at(microbatch);
  for (size_t l = home.calls.size(); l-- > 0;) {
    const LayerBinding &layer = binding.layers[l];
    LayerArgs &args = home.calls[l].inputGrad;
    args.weights = weights + layer.weightsOffset;
    args.savedForInputGrad = saved.forInputGrad(layer);
    args.savedForWeightGrad = saved.forWeightGrad(layer);
    args.microbatch = microbatch;
    layer.body.inputGrad(layer.desc, &args);
  }
}

void RunningRank::weightGrad(int64_t h, int64_t microbatch) {
  LocalHome &home = local(h, microbatch);
  Action action(*this, ActionKind::WeightGrad, h, microbatch);
  const HomeBinding &binding = *home.binding;
  const Saved saved(home, microbatch);
  char *weights = home.place(Buffer::Weights).at(binding.version);
  for (size_t l = home.calls.size(); l-- > 0;) {
    const LayerBinding &layer = binding.layers[l];
    LayerArgs &args = home.calls[l].weightGrad;
    args.weights = weights + layer.weightsOffset;
    args.savedForWeightGrad = saved.forWeightGrad(layer);
    args.microbatch = microbatch;
    layer.body.weightGrad(layer.desc, &args);
  }
}

/// The edge that a message belongs to.
int32_t RunningRank::edgeOf(Message message, int64_t home, int64_t to,
                            int64_t microbatch) const {
  const size_t row =
      static_cast<size_t>(numMessageKinds * home + static_cast<int>(message));
  if (home >= 0 && row < edgesFrom.size()) {
    const std::vector<int32_t> &candidates = edgesFrom[row];
    if (to < 0 && candidates.size() == 1)
      return candidates.front();
    for (int32_t edge : candidates)
      if (edgeDescs[edge].to == to)
        return edge;
  }
  failOnMessage("names", message, home, microbatch, "no other home needs");
}

void RunningRank::send(Message message, int64_t h, int64_t to,
                       int64_t microbatch) {
  local(h, microbatch);
  Action action(*this, ActionKind::Send, h, microbatch, message);
  const int32_t number = edgeOf(message, h, to, microbatch);
  LocalEdge &edge = edges[number];
  const MessageName name = nameOfMessage(number, microbatch);
  if (edge.channel < 0)
    failOnMessage("sends", message, h, microbatch, "no other rank needs");
  Transport::Ticket ticket =
      transport.send(edge.channel, name,
                     at(edge.sent.at(microbatch), edgeDescs[number].sentOffset),
                     edgeDescs[number].bytes);
  if (!edge.sent.base)
    return;
  Fence *fence = &fences[(edge.sent.firstFence + edge.sent.slot(microbatch)) *
                         fencesPerSlot];
  while (fence->channel >= 0)
    ++fence;
  *fence = {edge.channel, ticket};
}

void RunningRank::receive(Message message, int64_t h, int64_t to,
                          int64_t microbatch) {
  const int32_t number = edgeOf(message, h, to, microbatch);
  local(edgeDescs[number].to, microbatch);
  Action action(*this, ActionKind::Recv, h, microbatch, message);
  LocalEdge &edge = edges[number];
  const MessageName name = nameOfMessage(number, microbatch);
  if (edge.channel < 0)
    failOnMessage("receives", message, h, microbatch, "it makes itself");
  acquire(edge.received, microbatch);
  edge.tickets[microbatch] = transport.receive(
      edge.channel, name,
      at(edge.received.at(microbatch), edgeDescs[number].receivedOffset),
      edgeDescs[number].bytes);
}

void RunningRank::checkCollective(ActionKind kind, int64_t collective) const {
  if (collective < 0 || collective >= program.numCollectives)
    throw Error("the program of rank " + std::to_string(me) + " runs " +
                actionName(kind, Message::None, collective, 0) +
                ", which the program does not have");
}

void RunningRank::allReduce(int64_t collective, int64_t step) {
  checkCollective(ActionKind::AllReduce, collective);
  Action action(*this, ActionKind::AllReduce, collective, step);
  if (progress[collective] != Progress::NotIssued)
    throw Error("the program of rank " + std::to_string(me) +
                " issues collective " + std::to_string(collective) + " twice");
  startCollective(static_cast<int32_t>(collective));
  progress[collective] = Progress::Issued;
}

void RunningRank::await(int64_t collective, int64_t step) {
  checkCollective(ActionKind::Await, collective);
  Action action(*this, ActionKind::Await, collective, step);
  if (progress[collective] == Progress::Awaited)
    return;
  if (progress[collective] == Progress::NotIssued)
    throw Error("the program of rank " + std::to_string(me) +
                " awaits collective " + std::to_string(collective) +
                ", which it has not issued");
  finishCollective(static_cast<int32_t>(collective));
  progress[collective] = Progress::Awaited;
}

void RunningRank::step(int64_t h, int64_t step) {
  LocalHome &home = local(h, program.shares[h].turn);
  Action action(*this, ActionKind::Step, h, step);
  if (!computesNorm(program))
    device.addCopies(home.binding->optimized);
  // Writes the version after the one that tasks have read.
  state.nextVersion(static_cast<int32_t>(h));
  device.step(home.binding->optimized, optimizer.adamw);
}
