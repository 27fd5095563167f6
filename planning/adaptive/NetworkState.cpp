//===- NetworkState.cpp - Conditions of a network -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/adaptive/NetworkState.h"

#include <algorithm>
#include <cstdio>
#include <set>

using namespace rondo;

namespace {

struct Traffic {
  /// Size of the largest message between two ranks.
  int64_t bytes = 0;
  /// Pairs of ranks that exchange messages, the lower first.
  std::vector<std::pair<int32_t, int32_t>> pairs;
};

} // namespace

static Traffic trafficOf(const Problem &problem) {
  Traffic traffic;
  std::set<std::pair<int32_t, int32_t>> pairs;
  for (const Edge &edge : problem.edges) {
    const int32_t from = problem.rankOf(edge.from),
                  to = problem.rankOf(edge.to);
    if (from == to)
      continue;
    traffic.bytes = std::max(traffic.bytes, edge.bytes);
    pairs.insert({std::min(from, to), std::max(from, to)});
  }
  traffic.pairs.assign(pairs.begin(), pairs.end());
  return traffic;
}

static int64_t meanForwardNs(const Problem &problem) {
  __int128 sum = 0;
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    sum += problem.cost(replica, ActionKind::Forward).ns;
  return static_cast<int64_t>(sum / std::max(1, problem.numReplicas()));
}

/// The rate at which a message of `bytes` takes `ratio` of `forwardNs`; at
/// least one byte per us.
static int64_t rateFor(double ratio, int64_t bytes, int64_t forwardNs) {
  const double rate = 1000 * double(bytes) / (ratio * double(forwardNs));
  return std::max<int64_t>(1, static_cast<int64_t>(std::min(rate, 0x1p40)));
}

static std::string textOf(double ratio) {
  char text[24];
  std::snprintf(text, sizeof text, "c/F %g", ratio);
  return text;
}

std::vector<NetworkState> rondo::networkStates(const Problem &problem) {
  const NetworkState stated{"as stated", problem.link, problem.links};
  std::vector<NetworkState> states = {stated};
  const Traffic traffic = trafficOf(problem);
  const int64_t forwardNs = meanForwardNs(problem);
  if (traffic.bytes == 0 || forwardNs == 0)
    return states;
  for (double ratio : {0.1, 0.25, 0.5, 1., 2.}) {
    NetworkState state = stated;
    state.name = textOf(ratio);
    const int64_t rate = rateFor(ratio, traffic.bytes, forwardNs);
    state.link.bytesPerUs = rate;
    for (auto &[pair, link] : state.links)
      link.bytesPerUs = rate;
    states.push_back(std::move(state));
  }
  constexpr double slow = 2;
  const size_t pairs = traffic.pairs.size();
  // With one pair, a slow link is the same as a slow network.
  std::set<size_t> chosen;
  if (pairs > 1)
    chosen = {0, pairs / 2, pairs - 1};
  for (size_t place : chosen) {
    const auto [a, b] = traffic.pairs[place];
    NetworkState state = stated;
    state.name =
        std::to_string(a) + "-" + std::to_string(b) + " " + textOf(slow);
    for (auto [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      Link link = problem.linkBetween(from, to);
      link.bytesPerUs = rateFor(slow, traffic.bytes, forwardNs);
      state.links[{from, to}] = link;
    }
    states.push_back(std::move(state));
  }
  NetworkState late = stated;
  late.name = "latency F";
  late.link.latencyNs += forwardNs;
  for (auto &[pair, link] : late.links)
    link.latencyNs += forwardNs;
  states.push_back(std::move(late));
  return states;
}
