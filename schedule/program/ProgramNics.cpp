//===- ProgramNics.cpp - NICs in the simulation of programs ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/program/ProgramExecution.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::program_execution;

std::vector<int32_t>
program_execution::nicsBetween(const Problem &problem,
                               const std::vector<int32_t> &ranks) {
  std::vector<int32_t> crossed;
  for (const int32_t rank : ranks)
    for (const int32_t other : ranks)
      if (const int32_t nic = problem.nics.between(rank, other).out;
          nic >= 0 &&
          std::find(crossed.begin(), crossed.end(), nic) == crossed.end())
        crossed.push_back(nic);
  return crossed;
}

/// Grants the first request for NICs or for a shared host link; false if there
/// is none.
bool Execution::grantNext() {
  if (copies.hasRequests() &&
      (!network.hasRequests() ||
       copies.firstRequestNs() <= network.first().readyNs)) {
    copies.grant(result.startNs, result.endNs, afterCopies);
    wakeAfterCopies();
    return true;
  }
  if (!network.hasRequests())
    return false;
  const Network::Request request = network.next();
  if (request.what < 0) {
    const auto collective = static_cast<int32_t>(-1 - request.what);
    CollectiveState &state = collectives[collective];
    runCollective(state, collective, request.readyNs);
    for (const int32_t member : state.ranks)
      runCollectives(member);
    return true;
  }
  Channel &channel = channels[request.what];
  if (isOneQueue) {
    deliverFromQueues(channel, request.readyNs);
    meet(channel.from);
  } else {
    deliver(channel, request.readyNs);
  }
  return true;
}
