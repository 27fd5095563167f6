//===- ProgramWaits.cpp - Wait cycles of programs ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/program/ProgramExecution.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::program_execution;

/// The receiver's task that reads a message, as in the receiver's order.
Action Execution::consumerOf(Action receive) const {
  const Edge &edge = problem.edges[receive.subject];
  return asListed(order.rank(problem.rankOf(edge.to)),
                  Action(edge.producer, edge.to, receive.index));
}

/// The task that will consume the channel's first posted receive that is not
/// consumed; a default action if there is none.
Action Execution::nextConsumer(const Channel &channel) const {
  for (size_t n = channel.receives.firstKept(); n < channel.receives.size();
       ++n) {
    Action receive = channel.receives[n].action;
    const Edge &edge = problem.edges[receive.subject];
    if (!(done[edge.to * microbatches + receive.index] &
          traitsOf(edge.message()).made))
      return consumerOf(receive);
  }
  return Action();
}

/// Sets in `wait` why a channel's first message that is not sent yet cannot be
/// sent.
void Execution::needHead(const Channel &channel, Wait &wait) const {
  if (channel.carried >= channel.sends.size()) {
    wait.onRank = channel.from;
    wait.needs = wait.at;
    if (channel.carried >= channel.receives.size())
      return; // the ends of the channel name different messages
    // The n-th receive identifies the message of the n-th send.
    Action head = channel.receives[channel.carried].action;
    wait.needs = Action(ActionKind::Send, head.subject, head.index);
    return;
  }
  Action head = channel.sends[channel.carried].action;
  wait.onRank = channel.to;
  wait.needs = isEager && channel.receives.size() > channel.consumedNs.size()
                   ? nextConsumer(channel)
                   : Action(ActionKind::Recv, head.subject, head.index);
}

/// The head of a rank's only queue waits for the other end of its message,
/// which is not issued yet or comes after another head.
Wait Execution::waitOfQueue(int32_t r) const {
  Wait wait;
  wait.rank = r;
  wait.at = actions[queues[r].head()];
  const Channel &channel = channelOf(wait.at);
  bool isSend = wait.at.kind() == ActionKind::Send;
  wait.onRank = isSend ? channel.to : channel.from;
  wait.needs = Action(isSend ? ActionKind::Recv : ActionKind::Send,
                      wait.at.subject, wait.at.index);
  return wait;
}

/// The wait of the collective at the head of a rank's lane, which blocks those
/// after it.
Wait Execution::waitOfLane(int32_t r) const {
  Wait wait;
  wait.rank = wait.onRank = r;
  wait.at = actions[lanes[r].head().position];
  needCollective(r, wait);
  return wait;
}

bool Execution::isStuck(int32_t r) const {
  return ranks[r].position < ranks[r].end || !lanes[r].isEmpty() ||
         (isOneQueue && !queues[r].isEmpty());
}

Wait Execution::waitOf(int32_t r) const {
  const RankState &rank = ranks[r];
  if (isOneQueue && !queues[r].isEmpty() &&
      (rank.position == rank.end || rank.waitFor == WaitFor::Message ||
       rank.waitFor == WaitFor::SendEnd))
    return waitOfQueue(r);
  if (rank.position == rank.end)
    return waitOfLane(r);
  Wait wait;
  wait.rank = wait.onRank = r;
  wait.at = actions[rank.position];
  switch (rank.waitFor) {
  case WaitFor::Nothing:
    break;
  case WaitFor::OwnTask:
  case WaitFor::Copy:
    wait.needs = rank.needed;
    break;
  case WaitFor::Message:
  case WaitFor::SendEnd:
    needHead(channelOfMessage(rank.id), wait);
    break;
  case WaitFor::ReceiveSlot:
    wait.needs = nextConsumer(channels[rank.id]);
    break;
  case WaitFor::Collective:
    needCollective(r, wait);
    break;
  }
  return wait;
}

/// The party whose wait explains this one: a rank r, or numRanks + r for the
/// collective lane of rank r. A lane can wait while its rank continues or waits
/// for something else.
int32_t Execution::partyThatExplains(const Wait &wait) const {
  if (!wait.isBehind || ranks[wait.onRank].waitFor == WaitFor::Collective)
    return wait.onRank;
  return static_cast<int32_t>(ranks.size()) + wait.onRank;
}

std::vector<Wait> Execution::findCycle() const {
  const int32_t numRanks = static_cast<int32_t>(ranks.size());
  std::vector<int32_t> next(2 * ranks.size(), -1);
  int32_t r = -1;
  for (int32_t k = numRanks; k-- > 0;) {
    if (!isStuck(k))
      continue;
    if (!lanes[k].isEmpty())
      next[numRanks + k] = partyThatExplains(waitOfLane(k));
    next[k] = partyThatExplains(waitOf(k));
    r = next[k] == k || r < 0 || next[r] != r ? k : r;
  }
  if (r < 0)
    return {};
  if (next[r] == r)
    return {waitOf(r)};
  // If a rank waits for one that has finished, the walk ends there: a message
  // has only one end, and the whole walk explains it.
  std::vector<Wait> cycle;
  for (int32_t member : walkToCircle(next, r))
    cycle.push_back(member < numRanks ? waitOf(member)
                                      : waitOfLane(member - numRanks));
  return cycle;
}
