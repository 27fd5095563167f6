//===- Differences.cpp - Predicted and measured times ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/timeline/Differences.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

using namespace rondo;

namespace {

/// The wait before a task: its duration and the rank waited for.
struct Waited {
  int64_t ns = 0;
  int32_t on = -1;
};

/// Waits of a simulated schedule, indexed by position of the task.
std::vector<Waited> waitsOf(const Timeline &timeline) {
  std::vector<Waited> waits(timeline.tasks.size());
  for (size_t rank = 0; rank + 1 < timeline.rankBegin.size(); ++rank) {
    int64_t clock = 0;
    for (int64_t i = timeline.rankBegin[rank]; i < timeline.rankBegin[rank + 1];
         ++i) {
      const TimelineTask &task = timeline.tasks[i];
      if (task.lane != Lane::Compute)
        continue;
      if (task.waitedFor == WaitedFor::Message && task.startNs > clock)
        waits[i] = {task.startNs - clock,
                    timeline.tasks[timeline.messages[task.waited].from].rank};
      clock = task.endNs;
    }
  }
  return waits;
}

/// Measured waits. A wait between two tasks of a rank is assigned to the
/// second.
std::vector<Waited> waitsOf(const Timeline &timeline,
                            const MeasuredIteration &iteration) {
  std::vector<Waited> waits(timeline.tasks.size());
  for (const MeasuredWait &wait : iteration.waits) {
    if (!wait.isArrival)
      continue;
    const auto first = timeline.tasks.begin() + timeline.rankBegin[wait.rank],
               last =
                   timeline.tasks.begin() + timeline.rankBegin[wait.rank + 1];
    const auto next = std::lower_bound(
        first, last, wait.endNs,
        [](const TimelineTask &task, int64_t ns) { return task.startNs < ns; });
    if (next == last)
      continue;
    Waited &of = waits[next - timeline.tasks.begin()];
    of.ns += wait.endNs - wait.startNs;
    of.on = wait.onRank;
  }
  return waits;
}

} // namespace

std::vector<Difference> rondo::largestDifferences(
    const Timeline &predicted, const MeasuredIteration *predictedIteration,
    const Timeline &measured, const MeasuredIteration &iteration, size_t most) {
  const std::vector<Waited> before =
                                predictedIteration
                                    ? waitsOf(predicted, *predictedIteration)
                                    : waitsOf(predicted),
                            after = waitsOf(measured, iteration);
  using Key = std::tuple<uint64_t, ActionKind, uint64_t>;
  const auto keyOf = [](Action action) {
    return Key(uint64_t(action.subject), action.kind(), uint64_t(action.index));
  };
  std::map<Key, size_t> places;
  for (size_t i = 0; i < measured.tasks.size(); ++i)
    places[keyOf(measured.tasks[i].action)] = i;
  std::vector<Difference> all;
  for (size_t i = 0; i < predicted.tasks.size(); ++i) {
    const TimelineTask &task = predicted.tasks[i];
    const auto found = places.find(keyOf(task.action));
    if (found == places.end())
      continue;
    const TimelineTask &other = measured.tasks[found->second];
    Difference difference;
    difference.action = task.action;
    difference.rank = task.rank;
    difference.predictedNs = task.endNs - task.startNs;
    difference.measuredNs = other.endNs - other.startNs;
    difference.predictedStartNs = task.startNs;
    difference.measuredStartNs = other.startNs;
    all.push_back(difference);
    if (!iteration.hasWaits)
      continue;
    difference.isWait = true;
    difference.predictedNs = before[i].ns;
    difference.predictedOn = before[i].on;
    difference.measuredNs = after[found->second].ns;
    difference.measuredOn = after[found->second].on;
    if (difference.predictedNs > 0 || difference.measuredNs > 0)
      all.push_back(difference);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Difference &a, const Difference &b) {
                     return std::abs(a.ns()) > std::abs(b.ns());
                   });
  all.resize(std::min(all.size(), most));
  return all;
}
