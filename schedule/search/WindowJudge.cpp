//===- WindowJudge.cpp - Costs of an order in a long run ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/WindowJudge.h"

#include "schedule/rules/Legality.h"
#include "schedule/search/OneByOne.h"
#include "schedule/transforms/Iterations.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace rondo;

/// A window of at least this many tasks that has not settled is not made
/// longer.
static constexpr int64_t maxTasks = 400000;

WindowJudge::WindowJudge(const Problem &window, const PolicyChoice &policy,
                         int64_t maxDelay)
    : stated(window) {
  if (!policy.versions.empty())
    stated.versions = policy.versions;
  else if (stated.versions.empty())
    stated.versions.assign(stated.numStages(), synchronousPolicy);
  for (VersionPolicy &of : stated.versions) {
    of.maxDelay = std::min(of.maxDelay, maxDelay);
    limit = std::min(limit, of.maxDelay);
  }
  unlimited = stated;
  for (VersionPolicy &of : unlimited.versions)
    of.maxDelay = anyDelay;
}

std::vector<int64_t>
WindowJudge::versionBytes(const VersionAnalysis &versions) const {
  std::vector<int64_t> bytes(stated.numRanks(), 0);
  for (int32_t replica = 0; replica < stated.numReplicas(); ++replica) {
    const int32_t stage = stated.replicas[replica].stage;
    if (stated.weightBytes.empty())
      break;
    const bool hasMean =
        stated.policyOf(stage).backward == BackwardWeights::Extrapolated;
    bytes[stated.rankOf(replica)] +=
        stated.weightBytes[stage] *
        (versions.replicas[replica].copies - 1 + (hasMean ? 1 : 0));
  }
  return bytes;
}

std::optional<WindowFigures> WindowJudge::measure(const Write &write,
                                                  int64_t &cost) const {
  const int64_t tasksEach = stated.numTasks() / stated.iterations;
  for (int64_t iterations = 8;; iterations *= 2) {
    const Result<Problem> longer = overIterations(unlimited, iterations);
    // If the longer window has too many micro-batches or bytes to count, take
    // the problem's own.
    const Problem &problem = longer ? *longer : unlimited;
    const Schedule schedule = write(problem);
    cost += 2 * schedule.numActions();
    const Simulation simulation =
        simulate(problem, schedule, /*keepTimes=*/true);
    if (!simulation.complete)
      return std::nullopt;
    const SettledTime time = settledTime(problem, schedule, simulation);
    const bool mayGrow = longer && iterations * tasksEach < maxTasks;
    if (!time.isExact && mayGrow)
      continue;
    const auto versions = analyzeVersions(problem, schedule, simulation);
    if (!versions)
      return std::nullopt;
    WindowFigures figures;
    figures.time = time;
    // If the window has not settled, its mean may be too small: no long run is
    // faster than the bound.
    const SettledTime least{iterationBound(stated), 1, false};
    if (!time.isExact && time < least)
      figures.time = least;
    figures.versionBytes = versionBytes(*versions);
    figures.heldBytes = simulation.peakBytes;
    for (int32_t rank = 0; rank < stated.numRanks(); ++rank)
      figures.heldBytes[rank] += figures.versionBytes[rank];
    for (const ReplicaVersions &replica : versions->replicas) {
      figures.delay =
          std::max({figures.delay, replica.forwardDelay.most,
                    replica.backwardDelay.most, replica.recomputeDelay.most});
      figures.copies = std::max(figures.copies, replica.copies);
    }
    return figures;
  }
}

bool WindowJudge::fits(const WindowFigures &figures) const {
  return figures.delay <= limit && shortestRank(figures) < 0;
}

int32_t WindowJudge::shortestRank(const WindowFigures &figures) const {
  int32_t worst = -1;
  int64_t missing = 0;
  for (int32_t rank = 0; rank < stated.numRanks(); ++rank) {
    if (figures.heldBytes[rank] <= stated.memoryCaps[rank])
      continue;
    const int64_t lacks = figures.heldBytes[rank] - stated.memoryCaps[rank];
    if (lacks <= missing)
      continue;
    missing = lacks;
    worst = rank;
  }
  return worst;
}

std::vector<int64_t>
WindowJudge::capsOfActivations(const WindowFigures &figures) const {
  std::vector<int64_t> caps = stated.memoryCaps;
  for (int32_t rank = 0; rank < stated.numRanks(); ++rank)
    if (caps[rank] != noMemoryCap)
      caps[rank] =
          std::max<int64_t>(0, caps[rank] - figures.versionBytes[rank]);
  return caps;
}

bool WindowJudge::isBetter(const WindowFigures &a, const WindowFigures &b) {
  if (a.time < b.time || b.time < a.time)
    return a.time < b.time;
  auto rest = [](const WindowFigures &of) {
    return std::tuple(
        *std::max_element(of.heldBytes.begin(), of.heldBytes.end()),
        std::accumulate(of.heldBytes.begin(), of.heldBytes.end(), int64_t(0)),
        of.delay);
  };
  return rest(a) < rest(b);
}

/// A fault for the rank that exceeds its cap by the most bytes; nothing if none
/// does.
static std::optional<Fault> lackOf(const Problem &window,
                                   const WindowJudge &judge,
                                   const WindowFigures &figures) {
  const int32_t rank = judge.shortestRank(figures);
  if (rank < 0)
    return std::nullopt;
  auto stateOf = [&](int32_t of) {
    return window.devices.empty() ? 0 : window.devices[of].stateBytes;
  };
  int64_t enough = 0;
  for (int32_t each = 0; each < window.numRanks(); ++each)
    if (window.memoryCaps[each] != noMemoryCap)
      enough = std::max(enough, figures.heldBytes[each] + stateOf(each));
  return makeFault<FaultKind::NoWindowFits>(enough, stateOf(rank),
                                            figures.heldBytes[rank] -
                                                figures.versionBytes[rank],
                                            figures.versionBytes[rank])
      .withRank(rank)
      .withFigures(figures.heldBytes[rank] + stateOf(rank),
                   window.devices.empty() ? window.memoryCaps[rank]
                                          : window.devices[rank].deviceBytes);
}

WindowSearchResult rondo::leastWindow(const Problem &window,
                                      const WindowSearchOptions &options) {
  WindowSearchResult least;
  least.boundNs = iterationBound(window);
  least.origin = "one-by-one in each iteration";
  Problem one = oneIteration(window);
  one.versions.clear();
  const Schedule order = oneByOne(one);
  int64_t leastLack = 0;
  for (const PolicyChoice &policy : options.policies) {
    const WindowJudge judge(window, policy, options.maxDelay);
    int64_t cost = 0;
    const auto figures = judge.measure(
        [&](const Problem &over) { return repeatOrder(over, order); }, cost);
    if (!figures)
      continue;
    std::optional<Fault> lack = lackOf(window, judge, *figures);
    const int64_t lacks = lack ? lack->found - lack->allowed : 0;
    if (least.schedule && lacks >= leastLack)
      continue;
    Problem free = judge.window();
    free.memoryCaps.assign(free.numRanks(), noMemoryCap);
    Schedule schedule = repeatOrder(free, order);
    Simulation simulation;
    if (checkAndSimulate(free, schedule, simulation, /*keepTimes=*/true))
      continue;
    leastLack = lacks;
    least.schedule = std::move(schedule);
    least.simulation = std::move(simulation);
    least.problem = judge.window();
    least.policy = policy.name;
    least.figures = *figures;
    least.fault = std::move(lack);
  }
  return least;
}
