//===- TimeShares.cpp - Shares of an iteration's time ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/TimeShares.h"

#include "schedule/program/ProgramSimulator.h"
#include "schedule/simulate/Simulator.h"

#include <algorithm>
#include <numeric>

using namespace rondo;

const char *rondo::nameOf(TimeShare use) {
  static constexpr const char *names[numTimeUses] = {
      "compute", "imbalance", "bubble", "messages", "all-reduce"};
  return names[static_cast<int>(use)];
}

TimeShares rondo::timeShares(const PlanFigures &plan, const Problem &problem,
                             const Schedule &schedule) {
  TimeShares shares = {};
  auto lowered = lowerSchedule(plan, problem, schedule);
  if (!lowered)
    return shares;
  const auto pipeline = std::find_if(
      lowered->begin(), lowered->end(), [](const LoweredProgram &each) {
        return each.kind == ProgramKind::Pipeline;
      });
  Program &program = pipeline->program;
  const int64_t all = simulateProgram(problem, program).makespanNs;
  for (Collective &collective : program.collectives)
    collective.ns = 0;
  const int64_t withoutSums = simulateProgram(problem, program).makespanNs;
  Problem free = problem;
  free.makeMessagesFree();
  const int64_t withoutMessages = simulateProgram(free, program).makespanNs;
  const std::vector<int64_t> work = simulate(problem, schedule).rankWorkNs;
  const int64_t busiest = *std::max_element(work.begin(), work.end());
  const auto working = std::count_if(work.begin(), work.end(),
                                     [](int64_t ns) { return ns > 0; });
  const int64_t mean =
      working == 0
          ? 0
          : std::accumulate(work.begin(), work.end(), int64_t(0)) / working;
  auto put = [&](TimeShare use, int64_t ns) {
    shares[static_cast<int>(use)] = ns;
  };
  put(TimeShare::Compute, mean);
  put(TimeShare::Imbalance, busiest - mean);
  put(TimeShare::Bubble, withoutMessages - busiest);
  put(TimeShare::Messages, withoutSums - withoutMessages);
  put(TimeShare::Sums, all - withoutSums);
  return shares;
}

TimeShare rondo::bindingShare(const TimeShares &shares) {
  const auto largest = std::max_element(shares.begin() + 1, shares.end());
  const int64_t all = std::accumulate(shares.begin(), shares.end(), int64_t(0));
  return *largest < all / 10 ? TimeShare::Compute
                             : static_cast<TimeShare>(largest - shares.begin());
}
