//===- Channels.cpp - L1: both ends hold the same order ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/EdgeTable.h"
#include "schedule/rules/ProgramNames.h"

#include <map>

using namespace rondo;

namespace {

constexpr ProgramRule rule = ProgramRule::Channels;

/// Positions of the two ends' actions, each within its rank.
struct Channel {
  std::vector<int64_t> sends, receives;
};
using Channels = std::map<std::pair<int32_t, int32_t>, Channel>;

std::string number(size_t n) { return std::to_string(n); }

Channels collect(const Problem &problem, const Program &program) {
  Channels channels;
  for (int32_t r = 0; r < program.order.numRanks(); ++r) {
    ActionRange actions = program.order.rank(r);
    for (int64_t i = 0; i < actions.size(); ++i) {
      bool isSend = actions[i].kind() == ActionKind::Send;
      if (!isSend && actions[i].kind() != ActionKind::Recv)
        continue;
      const Edge &edge = problem.edges[actions[i].stage];
      Channel &channel = channels[{problem.homeOf(edge.from).rank,
                                   problem.homeOf(edge.to).rank}];
      (isSend ? channel.sends : channel.receives).push_back(i);
    }
  }
  return channels;
}

std::optional<ProgramViolation> checkEnds(const Problem &problem,
                                          const Program &program,
                                          std::pair<int32_t, int32_t> pair,
                                          const Channel &channel) {
  const auto [from, to] = pair;
  std::string name =
      "channel " + std::to_string(from) + ">" + std::to_string(to);
  auto describe = [&](int32_t rank, int64_t position) {
    return programActionName(program.order.rank(rank)[position], problem) +
           " " + programPlace(rank, position);
  };
  const size_t sends = channel.sends.size(), receives = channel.receives.size();
  for (size_t n = 0; n < std::min(sends, receives); ++n) {
    Action sent = program.order.rank(from)[channel.sends[n]];
    Action received = program.order.rank(to)[channel.receives[n]];
    if (sent.stage == received.stage && sent.index == received.index)
      continue;
    ProgramViolation violation =
        violationAt(rule, from, channel.sends[n],
                    "message " + number(n) + " of " + name + " is " +
                        describe(from, channel.sends[n]) + ", but " +
                        describe(to, channel.receives[n]));
    violation.otherRank = to;
    violation.otherPosition = channel.receives[n];
    return violation;
  }
  if (sends == receives)
    return std::nullopt;
  bool isSend = sends > receives;
  int32_t rank = isSend ? from : to;
  int64_t position = isSend ? channel.sends[receives] : channel.receives[sends];
  ProgramViolation violation = violationAt(
      rule, rank, position,
      describe(rank, position) + " has no other end: " + name + " has " +
          number(sends) + " sends and " + number(receives) + " receives");
  violation.otherRank = isSend ? to : from;
  return violation;
}

} // namespace

std::optional<ProgramViolation> rondo::checkChannels(const Problem &problem,
                                                     const Program &program) {
  if (auto violation = checkNames(problem, program, rule))
    return violation;
  for (const auto &[pair, channel] : collect(problem, program))
    if (auto violation = checkEnds(problem, program, pair, channel))
      return violation;

  // Both ends agree, so the sends alone say which messages there are.
  const int64_t microbatches = problem.microbatches;
  std::vector<bool> isSent(problem.edges.size() * microbatches);
  for (int32_t r = 0; r < program.order.numRanks(); ++r) {
    ActionRange actions = program.order.rank(r);
    for (int64_t i = 0; i < actions.size(); ++i) {
      if (actions[i].kind() != ActionKind::Send)
        continue;
      auto sent = isSent[actions[i].stage * microbatches + actions[i].index];
      if (sent)
        return violationAt(rule, r, i,
                           programActionName(actions[i], problem) + " " +
                               programPlace(r, i) + " is there twice");
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
      for (int32_t e : edges.inputs(task.stage, task.kind())) {
        const Edge &edge = problem.edges[e];
        if (problem.homeOf(edge.from).rank == r ||
            isSent[e * microbatches + task.index])
          continue;
        ProgramViolation violation = violationAt(
            rule, r, i,
            actionName(task) + " " + programPlace(r, i) + " needs " +
                actionName(Action(edge.producer, edge.from, task.index)) +
                ", which rank " +
                std::to_string(problem.homeOf(edge.from).rank) +
                " does not send");
        violation.otherRank = problem.homeOf(edge.from).rank;
        return violation;
      }
    }
  }
  return std::nullopt;
}
