//===- WhatIf.cpp - Makespans after changes of a problem ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/WhatIf.h"

#include "schedule/simulate/Simulator.h"

#include <algorithm>
#include <set>

using namespace rondo;

namespace {

/// A tenth less, rounded up.
int64_t faster(int64_t ns) { return ns - ns / 10; }

Problem withFasterStage(Problem problem, int32_t stage) {
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    if (problem.replicas[replica].stage == stage)
      for (const ActionTraits &traits : actionTable.rows)
        if (traits.isTask()) {
          int64_t &ns = problem.cost(replica, traits.kind).ns;
          ns = faster(ns);
        }
  return problem;
}

Problem withFasterLink(Problem problem, int32_t from, int32_t to) {
  const auto found = problem.links.find({from, to});
  Link link = found == problem.links.end() ? problem.link : found->second;
  link.latencyNs /= 2;
  link.bytesPerUs *= 2;
  problem.links[{from, to}] = link;
  return problem;
}

/// Whether a rank has a cap that can be larger.
bool hasCap(const Problem &problem) {
  return std::any_of(problem.memoryCaps.begin(), problem.memoryCaps.end(),
                     [](int64_t cap) { return cap != noMemoryCap; });
}

} // namespace

std::vector<WhatIf> rondo::whatIfs(const Problem &problem,
                                   const Schedule &schedule, int64_t makespanNs,
                                   int64_t effort,
                                   const std::atomic<bool> *interrupt) {
  using Change = WhatIf::Change;
  std::vector<WhatIf> all;
  const auto isInterrupted = [&] { return interrupt && *interrupt; };
  for (int32_t s = 0; s < problem.numStages() && !isInterrupted(); ++s)
    all.push_back({Change::FasterStage, s, -1, -1,
                   simulate(withFasterStage(problem, s), schedule).makespanNs,
                   makespanNs});
  std::set<std::pair<int32_t, int32_t>> links;
  for (const Edge &edge : problem.edges)
    if (problem.rankOf(edge.from) != problem.rankOf(edge.to))
      links.insert({problem.rankOf(edge.from), problem.rankOf(edge.to)});
  for (auto [from, to] : links)
    if (!isInterrupted())
      all.push_back(
          {Change::FasterLink, -1, from, to,
           simulate(withFasterLink(problem, from, to), schedule).makespanNs,
           makespanNs});
  if (problem.iterations == 1 && !problem.replicas.areSharded() &&
      hasCap(problem) && !isInterrupted()) {
    SearchOptions options;
    options.timeLimitMs = 0;
    options.effort = effort;
    options.interrupt = interrupt;
    Problem changed = problem;
    changed.objective = Objective::Makespan;
    const SearchResult found = search(changed, options);
    for (int64_t &cap : changed.memoryCaps)
      if (cap != noMemoryCap)
        cap += cap / 10;
    const SearchResult larger = search(changed, options);
    if (found.schedule && larger.schedule) {
      const int64_t ns = found.simulation.makespanNs;
      all.push_back({Change::Search, -1, -1, -1, ns, makespanNs});
      // A schedule that fits the original caps also fits the larger ones.
      all.push_back({Change::LargerCaps, -1, -1, -1,
                     std::min(ns, larger.simulation.makespanNs), ns});
    }
  }
  std::stable_sort(
      all.begin(), all.end(),
      [](const WhatIf &a, const WhatIf &b) { return a.gainNs() > b.gainNs(); });
  return all;
}
