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

/// Requests the NICs for a channel's next message.
void Execution::askFor(Channel &channel, int64_t readyNs) {
  const int64_t number =
      int64_t(channel.from) * problem.numRanks() + channel.to;
  nics.ask({readyNs, number, static_cast<int64_t>(channel.asked++),
            &channel - channels.data()});
}

void Execution::askFor(CollectiveState &state, int32_t collective,
                       int64_t readyNs) {
  if (state.hasAsked)
    return;
  state.hasAsked = true;
  // Numbered after all pairs of ranks, so that messages win ties.
  const int64_t pairs = int64_t(problem.numRanks()) * problem.numRanks();
  nics.ask({readyNs, pairs + collective, 0, -1 - int64_t(collective)});
}

/// Grants the first request for NICs; false if there is none.
bool Execution::grantNext() {
  if (nics.isEmpty())
    return false;
  const NicQueue::Request request = nics.next();
  if (request.what >= 0) {
    Channel &channel = channels[request.what];
    deliver(channel, nics.freeNs(channel.sides, request.readyNs));
    nics.hold(channel.sides, channel.freeNs);
    if (isOneQueue) {
      leaveQueues(channel);
      meet(channel.from);
    }
    return true;
  }
  const auto collective = static_cast<int32_t>(-1 - request.what);
  CollectiveState &state = collectives[collective];
  int64_t begin = request.readyNs;
  for (const int32_t nic : state.nics)
    begin = nics.freeNs({nic, nic}, begin);
  runCollective(state, collective, begin);
  for (const int32_t nic : state.nics)
    nics.hold({nic, nic}, state.endNs);
  for (const int32_t member : state.ranks)
    runCollectives(member);
  return true;
}
