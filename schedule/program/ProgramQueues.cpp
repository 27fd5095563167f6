//===- ProgramQueues.cpp - One communication queue per rank ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queues::PerRank: a message needs the heads of both ranks' queues.
//
//===----------------------------------------------------------------------===//

#include "schedule/program/ProgramExecution.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::program_execution;

/// With one queue per rank: sends every message that is at the heads of both
/// ends' queues, beginning with the head of `rank`.
void Execution::meet(int32_t rank) {
  toMeet.push_back(rank);
  while (!toMeet.empty()) {
    int32_t one = toMeet.back();
    toMeet.pop_back();
    if (queues[one].isEmpty())
      continue;
    Channel &channel = channelOf(actions[queues[one].head()]);
    const IssueQueue<int64_t> &from = queues[channel.from],
                              &to = queues[channel.to];
    // Both ends of a channel hold its messages in one order (rule L1).
    if (from.isEmpty() || to.isEmpty() ||
        channel.carried >= channel.receives.size() ||
        channel.carried >= channel.sends.size() ||
        from.head() != channel.sends[channel.carried].position ||
        to.head() != channel.receives[channel.carried].position)
      continue;
    int64_t begin =
        std::max({result.startNs[from.head()], result.startNs[to.head()],
                  from.freeNs, to.freeNs});
    if (!mayMeet(from.head(), to.head(), begin))
      continue;
    if (!network.crossesNics(channel.number))
      deliverFromQueues(channel, begin);
    else if (network.asked(channel.number) == int64_t(channel.carried))
      network.ask(channel.number, begin, channel.number);
  }
}

/// With one queue a rank: delivers a channel's next message, which then leaves
/// the queues of both of its ends.
void Execution::deliverFromQueues(Channel &channel, int64_t readyNs) {
  const int64_t arrival = deliver(channel, readyNs);
  for (const int32_t rank : {channel.from, channel.to}) {
    queues[rank].freeNs = arrival;
    ++queues[rank].done;
    toMeet.push_back(rank);
  }
}
