//===- Channels.cpp - L1: both ends hold the same order ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/model/EdgeTable.h"
#include "schedule/program/Program.h"
#include "schedule/rules/ProgramRules.h"

#include <algorithm>
#include <map>
#include <vector>

using namespace rondo;

namespace {

constexpr Rule rule = Rule::Channels;

/// A directed pair of ranks, and how much their orders have on it.
struct Channel {
  int32_t from = 0, to = 0;
  int32_t sends = 0, receives = 0;
};

/// Only counts sends and receives as long as nothing is wrong: programs have
/// millions of them.
class ChannelCheck {
public:
  using Found = std::optional<Fault>;

  ChannelCheck(const Problem &problem, const Program &program)
      : problem(problem), order(program.order), edges(problem),
        microbatches(problem.microbatches),
        places(problem.edges.size() * microbatches, -1) {
    setChannels();
  }

  Found run() {
    const Found repeated = countSends();
    const bool endsAgree = countReceives();
    if (repeated || !endsAgree)
      for (const Channel &channel : channels)
        if (Found wrong = compareEnds(channel))
          return wrong;
    return repeated ? repeated : findNotSent();
  }

private:
  void setChannels();
  Found countSends();
  bool countReceives();
  Found compareEnds(const Channel &channel) const;
  Found findNotSent() const;
  bool isOf(const Channel &channel, ActionKind kind, Action action) const {
    return action.kind() == kind &&
           &channels[channelOf[action.subject]] == &channel;
  }
  int64_t messageOf(Action action) const {
    return action.subject * microbatches + action.index;
  }

  const Problem &problem;
  const Schedule &order;
  const EdgeTable edges;
  const int64_t microbatches;
  /// Ordered by the ranks of their ends.
  std::vector<Channel> channels;
  /// [edge]: its channel; -1: one rank has both ends.
  std::vector<int32_t> channelOf;
  /// [edge * microbatches + microbatch]: the place of its first send among the
  /// sends of the channel; -1: it is not sent.
  std::vector<int32_t> places;
};

void ChannelCheck::setChannels() {
  std::map<std::pair<int32_t, int32_t>, int32_t> numbers;
  auto ranksOf = [&](const Edge &edge) {
    return std::pair(problem.rankOf(edge.from), problem.rankOf(edge.to));
  };
  for (const Edge &edge : problem.edges)
    if (const auto ranks = ranksOf(edge); ranks.first != ranks.second)
      numbers.insert({ranks, 0});
  for (auto &[ranks, number] : numbers) {
    number = static_cast<int32_t>(channels.size());
    channels.push_back({ranks.first, ranks.second});
  }
  for (const Edge &edge : problem.edges) {
    const auto number = numbers.find(ranksOf(edge));
    channelOf.push_back(number == numbers.end() ? -1 : number->second);
  }
}

/// Sets the place of each message. Returns the first that is sent twice.
ChannelCheck::Found ChannelCheck::countSends() {
  Found repeated;
  for (int32_t r = 0; r < order.numRanks(); ++r) {
    const ActionRange actions = order.rank(r);
    for (int64_t i = 0; i < actions.size(); ++i) {
      const Action action = actions[i];
      if (action.kind() != ActionKind::Send)
        continue;
      const int32_t number = channels[channelOf[action.subject]].sends++;
      int32_t &place = places[messageOf(action)];
      if (place < 0)
        place = number;
      else if (!repeated)
        repeated = makeFaultAt<FaultKind::ThereTwice>(rule, r, i, action);
    }
  }
  return repeated;
}

/// Whether the n-th receive of each channel names its n-th send, if none is
/// repeated.
bool ChannelCheck::countReceives() {
  bool agree = true;
  for (Action action : order.all())
    if (action.kind() == ActionKind::Recv)
      agree &= channels[channelOf[action.subject]].receives++ ==
               places[messageOf(action)];
  return agree && std::all_of(channels.begin(), channels.end(),
                              [](const Channel &channel) {
                                return channel.sends == channel.receives;
                              });
}

ChannelCheck::Found ChannelCheck::compareEnds(const Channel &channel) const {
  const auto [from, to, sends, receives] = channel;
  const ActionRange sending = order.rank(from), receiving = order.rank(to);
  int64_t send = 0, receive = 0;
  for (int32_t n = 0;; ++n, ++send, ++receive) {
    while (n < sends && !isOf(channel, ActionKind::Send, sending[send]))
      ++send;
    while (n < receives && !isOf(channel, ActionKind::Recv, receiving[receive]))
      ++receive;
    if (n == std::min(sends, receives))
      break;
    const Action sent = sending[send], received = receiving[receive];
    if (messageOf(sent) != messageOf(received))
      return makeFaultAt<FaultKind::EndsDiffer>(rule, from, send, sent, n)
          .withOther(to, receive, received);
  }
  if (sends == receives)
    return std::nullopt;
  const bool isSend = sends > receives;
  const int32_t rank = isSend ? from : to;
  const int64_t position = isSend ? send : receive;
  return makeFaultAt<FaultKind::NoOtherEnd>(rule, rank, position,
                                            order.rank(rank)[position], from,
                                            to, sends, receives)
      .withOtherRank(isSend ? to : from);
}

/// Finds a task whose input is not sent.
ChannelCheck::Found ChannelCheck::findNotSent() const {
  for (int32_t r = 0; r < order.numRanks(); ++r) {
    const ActionRange actions = order.rank(r);
    for (int64_t i = 0; i < actions.size(); ++i) {
      const Action task = actions[i];
      if (!task.isTask())
        continue;
      for (int32_t e : edges.inputs(task.subject, task.kind())) {
        if (channelOf[e] < 0 || places[e * microbatches + task.index] >= 0)
          continue;
        const Edge &edge = problem.edges[e];
        if (problem.carries(edge, task.index))
          return makeFaultAt<FaultKind::NotSent>(rule, r, i, task)
              .withOther(problem.rankOf(edge.from), -1,
                         Action(edge.producer, edge.from, task.index));
      }
    }
  }
  return std::nullopt;
}

} // namespace

std::optional<Fault> rondo::checkChannels(const Problem &problem,
                                          const Program &program) {
  if (auto fault = checkNames(problem, program, rule))
    return fault;
  return ChannelCheck(problem, program).run();
}
