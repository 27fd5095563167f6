//===- ScheduleCopies.cpp - Copies to and from hosts in simulation --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/simulate/ScheduleExecution.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::schedule_execution;

void Execution::makeCopies() {
  CopyWaits waits = deriveCopyWaits(problem, schedule);
  countedBytes = std::move(waits.peakBytes);
  countedHostBytes = std::move(waits.peakHostBytes);
  copies = CopyLanes(problem, schedule,
                     {std::move(waits.begin), std::move(waits.awaited)});
}

/// Runs the copies of a rank that can begin.
void Execution::runCopies(int32_t rank, Simulation &result) {
  copies.run(rank, result.startNs, result.endNs, afterCopies);
  wakeAfterCopies();
}

void Execution::grantHostLink(Simulation &result) {
  copies.grant(result.startNs, result.endNs, afterCopies);
  wakeAfterCopies();
}

void Execution::wakeAfterCopies() {
  for (const int32_t r : afterCopies) {
    for (int lane = 0; lane < CopyLanes::numLanes; ++lane)
      otherClocks[r][static_cast<int>(Lane::CopyOut) + lane] =
          copies.freeNs(r, lane);
    wake(r, blockedByCopy);
  }
  afterCopies.clear();
}

/// The most bytes that a rank holds at an instant of the run.
int64_t Execution::heldWithoutCap(int32_t r, const Simulation &result) const {
  // At the same time, releases come first: their bytes are negative.
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (int64_t i = schedule.rankBegin(r); i < schedule.rankBegin(r + 1); ++i) {
    const Action action = schedule.all()[i];
    const Cost cost = problem.costOf(action);
    if (cost.acquireBytes > 0)
      changes.push_back({result.startNs[i], cost.acquireBytes});
    if (cost.releaseBytes > 0)
      changes.push_back({result.endNs[i], -cost.releaseBytes});
  }
  std::sort(changes.begin(), changes.end());
  int64_t held = 0, peak = 0;
  for (const auto &[ns, bytes] : changes) {
    held += bytes;
    peak = std::max(peak, held);
  }
  return peak;
}

void Execution::summarizeCopies(Simulation &result) const {
  result.peakBytes = countedBytes;
  for (int32_t r = 0; r < schedule.numRanks(); ++r)
    if (problem.memoryCaps[r] == noMemoryCap)
      result.peakBytes[r] = heldWithoutCap(r, result);
  result.peakHostBytes = countedHostBytes;
}

/// The members of the cycle are lanes, each waiting for the next.
std::vector<Wait> Execution::findCopyCycle(const Simulation &result) const {
  constexpr int lanesPerRank = 1 + CopyLanes::numLanes; // and compute
  const auto nodeOf = [&](int32_t rank, Action action) {
    return lanesPerRank * rank +
           (isCopy(action.kind()) ? 1 + copies.laneOf(rank, action.kind()) : 0);
  };
  std::vector<int32_t> next(lanesPerRank * ranks.size(), -1);
  std::vector<Wait> waits(next.size());
  int32_t first = -1;
  for (auto node = static_cast<int32_t>(next.size()); node-- > 0;) {
    const int32_t r = node / lanesPerRank, lane = node % lanesPerRank - 1;
    const bool isCompute = lane < 0;
    const int64_t position = !isCompute ? copies.nextOf(r, lane)
                             : ranks[r].position == ranks[r].end
                                 ? CopyLanes::notEnded
                                 : ranks[r].position;
    if (position == CopyLanes::notEnded)
      continue;
    first = node;
    Wait &wait = waits[node];
    wait.rank = wait.onRank = r;
    wait.at = wait.needs = schedule.all()[position];
    const int64_t awaited = copies.findAwaited(position, result.endNs);
    if (isCompute && ranks[r].blocked != blockedByCopy) {
      wait = waitOf(r);
    } else if (awaited != CopyLanes::notEnded) {
      wait.needs = schedule.all()[awaited];
    } else if (const Action *listed = copies.awaitedOnLink(r, lane)) {
      wait.needs = wait.behind = *listed;
      wait.onRank = problem.rankOf(listed->subject);
      wait.isBehind = true;
    }
    next[node] = nodeOf(wait.onRank, wait.needs);
  }
  std::vector<Wait> cycle;
  if (first >= 0)
    for (const int32_t node : walkToCircle(next, first))
      cycle.push_back(waits[node]);
  return cycle;
}
