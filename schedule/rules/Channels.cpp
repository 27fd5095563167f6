//===- Channels.cpp - L1: both ends hold the same order ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/model/EdgeTable.h"
#include "schedule/program/Program.h"
#include "schedule/rules/ProgramRules.h"

#include <map>
#include <vector>

using namespace rondo;

namespace {

constexpr Rule rule = Rule::Channels;

/// The sends and receives of a channel, as positions in the order of their
/// rank.
struct Channel {
  std::pair<int32_t, int32_t> ranks;
  std::vector<int32_t> sends, receives;
};

/// Channels, ordered by the ranks of their ends.
std::vector<Channel> collect(const Problem &problem, const Program &program) {
  std::map<std::pair<int32_t, int32_t>, int32_t> numbers;
  for (const Edge &edge : problem.edges)
    numbers.insert({{problem.rankOf(edge.from), problem.rankOf(edge.to)}, 0});
  std::vector<Channel> channels;
  for (auto &[ranks, number] : numbers) {
    number = static_cast<int32_t>(channels.size());
    channels.push_back({ranks, {}, {}});
  }
  std::vector<int32_t> channelOf;
  for (const Edge &edge : problem.edges) {
    channelOf.push_back(
        numbers.at({problem.rankOf(edge.from), problem.rankOf(edge.to)}));
    if (problem.rankOf(edge.from) == problem.rankOf(edge.to))
      continue;
    Channel &channel = channels[channelOf.back()];
    for (std::vector<int32_t> *list : {&channel.sends, &channel.receives})
      list->reserve(list->capacity() + problem.microbatches);
  }
  for (int32_t r = 0; r < program.order.numRanks(); ++r) {
    ActionRange actions = program.order.rank(r);
    for (int64_t i = 0; i < actions.size(); ++i) {
      const Action action = actions[i];
      if (action.kind() != ActionKind::Send &&
          action.kind() != ActionKind::Recv)
        continue;
      Channel &channel = channels[channelOf[action.subject]];
      (action.kind() == ActionKind::Send ? channel.sends : channel.receives)
          .push_back(static_cast<int32_t>(i));
    }
  }
  return channels;
}

std::optional<Fault> checkEnds(const Program &program, const Channel &channel) {
  const auto [from, to] = channel.ranks;
  const size_t sends = channel.sends.size(), receives = channel.receives.size();
  const ActionRange sending = program.order.rank(from),
                    receiving = program.order.rank(to);
  for (size_t n = 0; n < std::min(sends, receives); ++n) {
    const Action sent = sending[channel.sends[n]];
    const Action received = receiving[channel.receives[n]];
    if (sent.subject == received.subject && sent.index == received.index)
      continue;
    return makeFaultAt<FaultKind::EndsDiffer>(rule, from, channel.sends[n],
                                              sent, n)
        .withOther(to, channel.receives[n], received);
  }
  if (sends == receives)
    return std::nullopt;
  bool isSend = sends > receives;
  int32_t rank = isSend ? from : to;
  int64_t position = isSend ? channel.sends[receives] : channel.receives[sends];
  return makeFaultAt<FaultKind::NoOtherEnd>(rule, rank, position,
                                            program.order.rank(rank)[position],
                                            from, to, sends, receives)
      .withOtherRank(isSend ? to : from);
}

} // namespace

std::optional<Fault> rondo::checkChannels(const Problem &problem,
                                          const Program &program) {
  if (auto fault = checkNames(problem, program, rule))
    return fault;
  for (const Channel &channel : collect(problem, program))
    if (auto fault = checkEnds(program, channel))
      return fault;

  // Both ends agree, so the sends alone determine the messages.
  const int64_t microbatches = problem.microbatches;
  std::vector<bool> isSent(problem.edges.size() * microbatches);
  for (int32_t r = 0; r < program.order.numRanks(); ++r) {
    ActionRange actions = program.order.rank(r);
    for (int64_t i = 0; i < actions.size(); ++i) {
      if (actions[i].kind() != ActionKind::Send)
        continue;
      auto sent = isSent[actions[i].subject * microbatches + actions[i].index];
      if (sent)
        return makeFaultAt<FaultKind::ThereTwice>(rule, r, i, actions[i]);
      sent = true;
    }
  }
  EdgeTable edges(problem);
  for (int32_t r = 0; r < program.order.numRanks(); ++r) {
    ActionRange actions = program.order.rank(r);
    for (int64_t i = 0; i < actions.size(); ++i) {
      Action task = actions[i];
      if (!task.isTask())
        continue;
      for (int32_t e : edges.inputs(task.subject, task.kind())) {
        const Edge &edge = problem.edges[e];
        if (problem.rankOf(edge.from) == r ||
            !problem.carries(edge, task.index) ||
            isSent[e * microbatches + task.index])
          continue;
        return makeFaultAt<FaultKind::NotSent>(rule, r, i, task)
            .withOther(problem.rankOf(edge.from), -1,
                       Action(edge.producer, edge.from, task.index));
      }
    }
  }
  return std::nullopt;
}
