//===- peers.cpp - Which processes talk to each other ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums, and the figures of channels, go as process_sums.cpp and
// process_links.cpp send them.
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/endpoint.h"
#include "runtime/transport/exchange.h"

#include <algorithm>

using namespace rondo::runtime;

Peers rondo::runtime::peersOf(const TransportParams &params,
                              const World &world) {
  const int32_t process = world.process;
  Peers peers(static_cast<size_t>(world.processes) * Endpoint::numPurposes);
  auto connect = [&](int32_t one, int32_t other, Endpoint::Purpose purpose) {
    if (one != other && (one == process || other == process))
      peers[static_cast<size_t>(one == process ? other : one) *
                Endpoint::numPurposes +
            purpose] = true;
  };
  for (const ChannelParams &channel : params.channels) {
    connect(channel.from, channel.to, Endpoint::Messages);
    if (params.measures)
      connect(channel.from, channel.to, Endpoint::Collectives);
  }
  // All tell process 0 what their channels have measured.
  if (params.measures && !params.channels.empty())
    for (int32_t p = 1; p < world.processes; ++p)
      connect(0, p, Endpoint::Collectives);
  for (size_t c = 0; c < params.collectives.size(); ++c) {
    const CollectiveParams &parts = params.collectives[c];
    const std::vector<int32_t> ranks = ranksOf(parts);
    if (!std::binary_search(ranks.begin(), ranks.end(), process))
      continue;
    for (int32_t rank : ranks)
      if (!params.isTotal(c))
        connect(process, rank, Endpoint::Collectives);
      else
        connect(parts.front().rank, rank, Endpoint::Collectives);
  }
  return peers;
}
