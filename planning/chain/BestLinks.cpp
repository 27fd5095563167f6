//===- BestLinks.cpp - Best links of groups of devices --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/BestLinks.h"

#include <functional>
#include <numeric>
#include <set>

using namespace rondo;

BestLinks::BestLinks(const ChainProblem &problem)
    : devices(problem.numDevices()),
      least(std::min(problem.latencyInsideNs, problem.latencyAcrossNs)),
      // A group on several servers has a pair of devices on two of them.
      acrossServers(problem.latencyAcrossNs) {
  const auto G = static_cast<size_t>(devices);
  std::vector<int32_t> servers(problem.nodeOf);
  std::sort(servers.begin(), servers.end());
  for (size_t i = 0, first = 0; i < G; ++i) {
    if (servers[i] != servers[first])
      first = i;
    largestServer =
        std::max(largestServer, static_cast<int32_t>(i - first + 1));
  }
  speeds = problem.speedPercent;
  std::sort(speeds.begin(), speeds.end(), std::greater<>());
  for (int32_t device = 0; device < devices; ++device)
    allSpeeds += double(deviceOf(problem, device).speedPercent) / 100;
  const std::set<int32_t> used(problem.nicOf.begin(), problem.nicOf.end());
  if (!used.count(-1))
    nics = static_cast<int64_t>(used.size());
  // All pairs of a group have at least the rate of its slowest pair, so it lies
  // in one component of the graph of pairs that are at least as fast.
  struct Pair {
    int64_t rate;
    int32_t u, v;
  };
  std::vector<Pair> pairs;
  std::vector<int64_t> partners;
  degrees.assign(G * G, 0);
  for (int32_t u = 0; u < devices; ++u) {
    partners.clear();
    for (int32_t v = 0; v < devices; ++v) {
      if (u == v)
        continue;
      partners.push_back(std::max(problem.rate(u, v), problem.rate(v, u)));
      if (u < v)
        pairs.push_back({partners.back(), u, v});
    }
    std::sort(partners.begin(), partners.end(), std::greater<>());
    for (size_t others = 1; others < G; ++others)
      degrees[others * G + u] = partners[others - 1];
  }
  for (size_t others = 1; others < G; ++others)
    std::sort(degrees.begin() + static_cast<std::ptrdiff_t>(others * G),
              degrees.begin() + static_cast<std::ptrdiff_t>((others + 1) * G),
              std::greater<>());
  std::sort(pairs.begin(), pairs.end(),
            [](const Pair &a, const Pair &b) { return a.rate > b.rate; });
  connected.assign(G + 1, 0);
  std::vector<int32_t> parent(G), size(G, 1);
  std::iota(parent.begin(), parent.end(), 0);
  auto rootOf = [&](int32_t u) {
    while (parent[u] != u)
      u = parent[u] = parent[parent[u]];
    return u;
  };
  int32_t largest = 1;
  for (const Pair &pair : pairs) {
    const int32_t u = rootOf(pair.u), v = rootOf(pair.v);
    if (u == v)
      continue;
    parent[v] = u;
    size[u] += size[v];
    for (; largest < size[u]; ++largest)
      connected[largest + 1] = pair.rate;
  }
}
