//===- messages.cpp - A rank's buffers and messages -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/messages.h"

#include "runtime/base/error.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;

//===----------------------------------------------------------------------===//
// Tables of the actions.
//===----------------------------------------------------------------------===//

Messages::Messages(const RankContext &context, RankLog &log)
    : context(context), log(log), program(context.program),
      transport(context.transport), device(context.device()),
      edgeDescs(program.edges), fences(program.numPools) {
  const auto replicas =
      static_cast<int32_t>(context.state.executable().numReplicas);
  const Wiring &wiring = context.wiring;
  for (size_t c = 0; c < wiring.channels.size(); ++c)
    channels.push_back({wiring.channels[c], wiring.channelNumbers[c]});
  places.resize(static_cast<size_t>(replicas) * numBuffers);
  tensors.resize(replicas);
  edgesFrom.resize(static_cast<size_t>(numMessageKinds) * replicas);
  edges.resize(context.state.executable().numEdges);
  for (int32_t h = 0; h < replicas; ++h)
    for (int32_t b = 0;
         b < numBuffers && program.rankOfReplica[h] == context.rank; ++b)
      places[h * numBuffers + b] = placeOf(h * numBuffers + b);
  for (int32_t e = 0; e < static_cast<int32_t>(edges.size()); ++e)
    addEdge(e);
}

void Messages::addEdge(int32_t number) {
  const EdgeDesc &desc = edgeDescs[number];
  LocalEdge &edge = edges[number];
  const int32_t me = context.rank;
  const int32_t fromRank = program.rankOfReplica[desc.from],
                toRank = program.rankOfReplica[desc.to];
  edgesFrom[numMessageKinds * desc.from + static_cast<int>(desc.message)]
      .push_back(number);
  if (fromRank == me) {
    edge.sent = placeOf(desc.sent);
    if (desc.message == Message::Gradient)
      addPart(tensors[desc.from].inputGrads, desc.sent, number);
  }
  if (toRank == me) {
    edge.received = placeOf(desc.received);
    ReplicaTensors &to = tensors[desc.to];
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
  edge.channel = context.wiring.channelOf[fromRank * program.numRanks + toRank];
  if (toRank == me)
    edge.tickets.assign(edge.received.base && program.overlap
                            ? edge.received.slots.period
                            : maxAtOnce(program),
                        -1);
}

/// Parts that leave or enter one place are of one tensor.
void Messages::addPart(std::vector<LocalTensor> &list, int32_t place,
                       int32_t edge) {
  auto same =
      std::find_if(list.begin(), list.end(), [&](const LocalTensor &other) {
        return other.number == place;
      });
  if (same == list.end())
    same = list.insert(same, {place, placeOf(place), {}});
  same->edges.push_back(edge);
}

BufferPlace Messages::placeOf(int32_t number) {
  const PlaceDesc &place = program.places[number];
  if (place.pool < 0)
    return {};
  const PoolDesc &pool = program.pools[place.pool];
  return {context.state.address(pool, 0), pool.slotBytes, place};
}

//===----------------------------------------------------------------------===//
// Messages of an iteration.
//===----------------------------------------------------------------------===//

void Messages::beginIteration() {
  for (Channel &channel : channels)
    channel.count = 0;
}

int32_t Messages::nextOf(const LocalEdge &edge, MessageName name) {
  Channel &channel = channels[edge.channel];
  const ChannelParams &params = channel.params;
  if (channel.count++ >= params.messages && !params.isEndless)
    failOnTooMany(params.from == context.rank, name, params.from, params.to,
                  edgeNamesOf(context.state.executable()));
  return channel.number;
}

void Messages::send(Message message, int64_t h, int64_t to,
                    int64_t microbatch) {
  Action action(log, ActionKind::Send, h, microbatch, message);
  const int32_t number = edgeOf(message, h, to, microbatch);
  action.setEdge(number);
  LocalEdge &edge = edges[number];
  if (edge.channel < 0)
    failOnMessage("sends", message, h, microbatch, "no other rank needs");
  const MessageName name = nameOf(number, microbatch);
  const int32_t channel = nextOf(edge, name);
  const Transport::Ticket ticket = transport.send(
      channel, name,
      runtime::at(edge.sent.at(microbatch), edgeDescs[number].sentOffset),
      bytesOf(number, microbatch));
  if (!edge.sent.base)
    return;
  fences[edge.sent.slots.pool].push_back(
      {edge.sent.slot(microbatch), edge.sent.slotsEnd(microbatch), channel,
       ticket, number, static_cast<int32_t>(microbatch)});
}

void Messages::receive(int32_t number, int64_t microbatch) {
  const EdgeDesc &desc = edgeDescs[number];
  Action action(log, ActionKind::Recv, desc.from, microbatch, desc.message);
  action.setEdge(number);
  LocalEdge &edge = edges[number];
  if (edge.channel < 0)
    failOnMessage("receives", desc.message, desc.from, microbatch,
                  "it makes itself");
  acquire(edge.received, microbatch, action);
  const MessageName name = nameOf(number, microbatch);
  edge.ticket(microbatch) =
      transport.receive(nextOf(edge, name), name,
                        runtime::at(edge.received.at(microbatch),
                                    edgeDescs[number].receivedOffset),
                        bytesOf(number, microbatch));
}

void Messages::acquire(const BufferPlace &place, int64_t microbatch,
                       Action &action) {
  if (!place.base)
    return;
  std::vector<Fence> &ofPool = fences[place.slots.pool];
  if (ofPool.empty())
    return;
  const int32_t begin = place.slot(microbatch),
                end = place.slotsEnd(microbatch);
  size_t kept = 0;
  for (const Fence &fence : ofPool) {
    if (fence.end <= begin || end <= fence.begin) {
      ofPool[kept++] = fence;
      continue;
    }
    transport.waitSent(fence.channel, fence.ticket);
    action.waited(Traced::Release, fence.edge, fence.microbatch);
  }
  ofPool.resize(kept);
}

void Messages::awaitMessage(int32_t number, int64_t microbatch,
                            Action &action) {
  LocalEdge &edge = edges[number];
  if (edge.channel < 0) {
    const EdgeDesc &desc = edgeDescs[number];
    if (edge.isCopied && edge.received.base)
      device.copy(edge.received.at(microbatch) + desc.receivedOffset,
                  edge.sent.at(microbatch) + desc.sentOffset,
                  bytesOf(number, microbatch));
    return;
  }
  int64_t ticket = edge.ticket(microbatch);
  if (ticket < 0)
    failOnUnposted(number, microbatch);
  edge.ticket(microbatch) = -1;
  log.waitFor(number);
  transport.waitReceived(channels[edge.channel].number,
                         static_cast<Transport::Ticket>(ticket));
  action.waited(Traced::Arrival, number, microbatch);
}

void Messages::await(const std::vector<LocalTensor> &list, int64_t microbatch,
                     Action &action) {
  for (const LocalTensor &tensor : list) {
    if (edges[tensor.edges.front()].isCopied)
      acquire(tensor.place, microbatch, action);
    for (int32_t edge : tensor.edges)
      if (carries(edge, microbatch))
        awaitMessage(edge, microbatch, action);
  }
}

void Messages::addOutputGrads(int32_t replica, int64_t microbatch,
                              DType dtype) {
  const std::vector<LocalTensor> &grads = tensors[replica].outputGrads;
  for (size_t k = 1; k < grads.size(); ++k) {
    int64_t bytes = 0;
    for (int32_t edge : grads[k].edges)
      if (carries(edge, microbatch))
        bytes += bytesOf(edge, microbatch);
    device.addTo(grads[0].place.at(microbatch), grads[k].place.at(microbatch),
                 bytes, dtype);
  }
}

void Messages::awaitSends() {
  for (std::vector<Fence> &ofPool : fences) {
    for (const Fence &fence : ofPool)
      transport.waitSent(fence.channel, fence.ticket);
    ofPool.clear();
  }
}

void Messages::checkEnd() const {
  for (const LocalEdge &edge : edges)
    for (int64_t ticket : edge.tickets)
      if (ticket >= 0)
        throw Error("the program of rank " + std::to_string(context.rank) +
                    " does not wait for a message on edge " +
                    std::to_string(&edge - edges.data()) +
                    " that it has posted a receive for");
}

/// The edge that a message belongs to.
int32_t Messages::edgeOf(Message message, int64_t replica, int64_t to,
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

//===----------------------------------------------------------------------===//
// Errors.
//===----------------------------------------------------------------------===//

void Messages::failOnUnposted(int32_t edge, int64_t microbatch) const {
  throw Error("rank " + std::to_string(context.rank) + " needs " +
              runtime::nameOf(edgeDescs[edge].message,
                              context.stageOf(edgeDescs[edge].from),
                              static_cast<int32_t>(microbatch)) +
              ", which it has not posted a receive for");
}

void Messages::failOnMessage(const char *verb, Message message, int64_t replica,
                             int64_t microbatch, const char *why) const {
  const bool isKnown =
      replica >= 0 && replica < static_cast<int64_t>(tensors.size());
  throw Error("the program of rank " + std::to_string(context.rank) + " " +
              verb + " " +
              runtime::nameOf(message,
                              isKnown ? context.stageOf(replica)
                                      : static_cast<int32_t>(replica),
                              static_cast<int32_t>(microbatch)) +
              ", which " + why);
}
