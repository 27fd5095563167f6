//===- view.cpp - One program's view of a transport -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/view.h"

#include "runtime/transport/transport.h"

#include <algorithm>

using namespace rondo::runtime;

TransportView::TransportView(Transport &transport, ViewParams params)
    : transport(transport), params(std::move(params)),
      counts(this->params.channels.size()) {}

void TransportView::iterate(int32_t rank, bool mayReplay,
                            const std::function<void()> &actions) {
  for (size_t c = 0; c < counts.size(); ++c) {
    if (params.channels[c].from == rank)
      counts[c].sent = 0;
    if (params.channels[c].to == rank)
      counts[c].posted = 0;
  }
  transport.iterateProgram(params.program, rank, mayReplay, actions);
}

Transport::Ticket TransportView::send(int32_t channel, MessageName name,
                                      const void *data, int64_t bytes) {
  const ChannelParams &c = params.channels[channel];
  if (counts[channel].sent++ >= c.messages && !c.isEndless)
    failOnTooMany(/*isSender=*/true, name, c.from, c.to, params.edges);
  return transport.send(params.channelNumbers[channel], name, data, bytes);
}

Transport::Ticket TransportView::receive(int32_t channel, MessageName name,
                                         void *data, int64_t bytes) {
  const ChannelParams &c = params.channels[channel];
  if (counts[channel].posted++ >= c.messages && !c.isEndless)
    failOnTooMany(/*isSender=*/false, name, c.from, c.to, params.edges);
  return transport.receive(params.channelNumbers[channel], name, data, bytes);
}

std::vector<LinkFigures> TransportView::links() {
  const std::vector<LinkFigures> all = transport.links();
  std::vector<LinkFigures> mine;
  for (int32_t number : params.channelNumbers)
    if (!all.empty())
      mine.push_back(all[number]);
  return mine;
}

Waiting TransportView::waiting(int32_t rank) const {
  Waiting waiting = transport.waiting(rank);
  if (waiting.what != Waiting::For::Collective)
    return waiting;
  const auto mine =
      std::find(params.collectiveNumbers.begin(),
                params.collectiveNumbers.end(), waiting.collective);
  waiting.collective =
      static_cast<int32_t>(mine - params.collectiveNumbers.begin());
  return waiting;
}
