//===- rank_messages.cpp - A rank's messages ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/rank_record.h"

#include "runtime/base/error.h"

using namespace rondo;
using namespace rondo::runtime;

/// Waits for sends that still read the slot.
void RunningRank::acquire(const Place &place, int64_t microbatch,
                          Action &action) {
  if (!place.base)
    return;
  Fence *fence =
      &fences[(place.firstFence + place.slot(microbatch)) * fencesPerSlot];
  for (int32_t k = 0; k < fencesPerSlot && fence[k].channel >= 0; ++k) {
    transport.waitSent(fence[k].channel, fence[k].ticket);
    fence[k].channel = -1;
    action.waited(Traced::Release, fence[k].edge, fence[k].microbatch);
  }
}

MessageName RunningRank::nameOfMessage(int32_t edge, int64_t microbatch) const {
  return {edge, static_cast<int32_t>(microbatch), edgeDescs[edge].from,
          edgeDescs[edge].to};
}

void RunningRank::awaitMessage(int32_t number, int64_t microbatch,
                               Action &action) {
  LocalEdge &edge = edges[number];
  if (edge.channel < 0) {
    const EdgeDesc &desc = edgeDescs[number];
    if (edge.isCopied && edge.received.base)
      device.copy(edge.received.at(microbatch) + desc.receivedOffset,
                  edge.sent.at(microbatch) + desc.sentOffset, desc.bytes);
    return;
  }
  int64_t ticket = edge.ticket(microbatch);
  if (ticket < 0)
    failOnUnposted(number, microbatch);
  edge.ticket(microbatch) = -1;
  ring.waitFor(number);
  transport.waitReceived(edge.channel, static_cast<Transport::Ticket>(ticket));
  action.waited(Traced::Arrival, number, microbatch);
}

/// Waits for all parts, or copies them.
void RunningRank::awaitTensors(const std::vector<LocalTensor> &tensors,
                               int64_t microbatch, Action &action) {
  for (const LocalTensor &tensor : tensors) {
    if (edges[tensor.edges.front()].isCopied)
      acquire(tensor.place, microbatch, action);
    for (int32_t edge : tensor.edges)
      if (carries(edge, microbatch))
        awaitMessage(edge, microbatch, action);
  }
}

/// Adds the gradients from all stages into the first one's buffer, one stage
/// after another, so that the bits do not depend on when they came.
void RunningRank::addOutputGrads(const LocalReplica &replica,
                                 int64_t microbatch) {
  for (size_t k = 1; k < replica.outputGrads.size(); ++k) {
    int64_t bytes = 0;
    for (int32_t edge : replica.outputGrads[k].edges)
      if (carries(edge, microbatch))
        bytes += edgeDescs[edge].bytes;
    device.addTo(replica.outputGrads[0].place.at(microbatch),
                 replica.outputGrads[k].place.at(microbatch), bytes,
                 replica.binding->layers.back().desc->dtype);
  }
}

/// The edge that a message belongs to.
int32_t RunningRank::edgeOf(Message message, int64_t replica, int64_t to,
                            int64_t microbatch) const {
  const size_t row = static_cast<size_t>(numMessageKinds * replica +
                                         static_cast<int>(message));
  if (replica >= 0 && row < edgesFrom.size()) {
    const std::vector<int32_t> &candidates = edgesFrom[row];
    if (to < 0 && candidates.size() == 1)
      return candidates.front();
    for (int32_t edge : candidates)
      if (edgeDescs[edge].to == to)
        return edge;
  }
  failOnMessage("names", message, replica, microbatch,
                "no other replica needs");
}

void RunningRank::send(Message message, int64_t h, int64_t to,
                       int64_t microbatch) {
  if (isLeftOut(microbatch))
    return;
  local(h, microbatch);
  Action action(*this, ActionKind::Send, h, microbatch, message);
  const int32_t number = edgeOf(message, h, to, microbatch);
  action.setEdge(number);
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
  *fence = {edge.channel, ticket, number, static_cast<int32_t>(microbatch)};
}

void RunningRank::receive(Message message, int64_t h, int64_t to,
                          int64_t microbatch) {
  if (isLeftOut(microbatch))
    return;
  const int32_t number = edgeOf(message, h, to, microbatch);
  local(edgeDescs[number].to, microbatch);
  Action action(*this, ActionKind::Recv, h, microbatch, message);
  action.setEdge(number);
  LocalEdge &edge = edges[number];
  const MessageName name = nameOfMessage(number, microbatch);
  if (edge.channel < 0)
    failOnMessage("receives", message, h, microbatch, "it makes itself");
  acquire(edge.received, microbatch, action);
  edge.ticket(microbatch) = transport.receive(
      edge.channel, name,
      at(edge.received.at(microbatch), edgeDescs[number].receivedOffset),
      edgeDescs[number].bytes);
}
