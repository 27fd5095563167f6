//===- Timeline.cpp - A schedule laid out over time -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/timeline/Timeline.h"

#include "schedule/model/EdgeTable.h"
#include "schedule/order/CopyWaits.h"
#include "schedule/order/Shards.h"

#include <algorithm>
#include <array>
#include <tuple>

using namespace rondo;

namespace {

class Layout {
public:
  Layout(const Problem &problem, const Schedule &schedule,
         const Simulation &simulation)
      : problem(problem), schedule(schedule), simulation(simulation),
        edges(problem) {}

  Timeline run() {
    timeline.makespanNs = simulation.makespanNs;
    for (int32_t rank = 0; rank < schedule.numRanks(); ++rank) {
      timeline.rankBegin.push_back(schedule.rankBegin(rank));
      addRank(rank);
    }
    timeline.rankBegin.push_back(schedule.numActions());
    addMessages();
    if (schedule.hasCopies())
      copyWaits = deriveCopyWaits(problem, schedule);
    for (int32_t rank = 0; rank < schedule.numRanks(); ++rank)
      explainRank(rank);
    return std::move(timeline);
  }

private:
  void addRank(int32_t rank) {
    HeldMemory held(problem);
    for (Action action : schedule.rank(rank)) {
      const auto position = int64_t(timeline.tasks.size());
      const Cost &cost = problem.cost(action.subject, action.kind());
      TimelineTask task;
      task.action = action;
      task.rank = rank;
      task.lane = cost.lane;
      task.startNs = simulation.startNs[position];
      task.endNs = simulation.endNs[position];
      task.heldBytes = held.during(action);
      task.leftBytes = held.after();
      timeline.tasks.push_back(task);
    }
    if (schedule.hasCopies())
      countOverTime(rank);
  }

  /// Counts the bytes of a rank with copies in the order of time; at the same
  /// time, releases come first.
  void countOverTime(int32_t rank) {
    const int64_t first = timeline.rankBegin[rank];
    // Time, whether it is a start, and the position.
    std::vector<std::tuple<int64_t, bool, int64_t>> events;
    for (auto i = first; i < int64_t(timeline.tasks.size()); ++i) {
      TimelineTask &task = timeline.tasks[i];
      task.lane = problem.hostMemory.laneOf(rank, task.action.kind());
      events.push_back({task.startNs, true, i});
      events.push_back({task.endNs, false, i});
    }
    std::sort(events.begin(), events.end());
    int64_t held = 0;
    for (const auto &[ns, isStart, i] : events) {
      TimelineTask &task = timeline.tasks[i];
      const Cost cost = problem.costOf(task.action);
      if (isStart)
        task.heldBytes = held += cost.acquireBytes;
      else
        task.leftBytes = held -= cost.releaseBytes;
    }
  }

  bool isMessage(const Edge &edge, Action action) const {
    return problem.rankOf(edge.from) != problem.rankOf(edge.to) &&
           problem.carries(edge, action.index);
  }

  /// Finds the consumers by edge and micro-batch, then adds the messages by
  /// producer.
  void addMessages() {
    const int64_t microbatches = problem.microbatches;
    std::vector<int64_t> consumer(problem.edges.size() * microbatches, -1);
    for (size_t i = 0; i < timeline.tasks.size(); ++i) {
      const Action action = timeline.tasks[i].action;
      for (int32_t e : edges.inputs(action.subject, action.kind()))
        for (int64_t m = action.index, end = m + action.count; m < end; ++m)
          consumer[e * microbatches + m] = int64_t(i);
    }
    numberOf.assign(consumer.size(), -1);
    for (size_t i = 0; i < timeline.tasks.size(); ++i) {
      const Action action = timeline.tasks[i].action;
      for (int32_t e : edges.outputs(action.subject, action.kind())) {
        const Edge &edge = problem.edges[e];
        const int64_t key = e * microbatches + int64_t(action.index);
        if (!isMessage(edge, action) || consumer[key] < 0)
          continue;
        const Link link = problem.linkBetween(problem.rankOf(edge.from),
                                              problem.rankOf(edge.to));
        TimelineMessage message;
        message.from = int64_t(i);
        message.to = consumer[key];
        message.edge = e;
        message.arriveNs = simulation.arrivalNs[key];
        const int64_t count = problem.countsOnce ? 1 : int64_t(action.count);
        message.leaveNs =
            message.arriveNs - link.latencyNs -
            link.occupancyNs(problem.bytesOf(e, action.index, count));
        for (int64_t m = key, end = m + action.count; m < end; ++m)
          numberOf[m] = int64_t(timeline.messages.size());
        timeline.messages.push_back(message);
      }
    }
  }

  /// Finds the event that each task of a rank waited for: the last one before
  /// it.
  void explainRank(int32_t rank) {
    // [lane]: the last task that ended.
    std::array<int64_t, numLanes> last;
    last.fill(-1);
    const auto compute = static_cast<size_t>(Lane::Compute);
    for (int64_t i = timeline.rankBegin[rank]; i < timeline.rankBegin[rank + 1];
         ++i) {
      TimelineTask &task = timeline.tasks[i];
      if (task.startNs > 0)
        for (size_t lane : {compute, static_cast<size_t>(task.lane)})
          if (last[lane] >= 0 &&
              timeline.tasks[last[lane]].endNs == task.startNs) {
            task.waitedFor = WaitedFor::Task;
            task.waited = last[lane];
          }
      if (task.startNs > 0 && schedule.hasCopies())
        explainCopies(task, i);
      if (task.startNs > 0 && task.waitedFor == WaitedFor::Nothing)
        for (int32_t e : edges.inputs(task.action.subject, task.action.kind()))
          for (int64_t m = task.action.index, end = m + task.action.count;
               m < end; ++m)
            if (const int64_t number =
                    numberOf[e * int64_t(problem.microbatches) + m];
                number >= 0 &&
                timeline.messages[number].arriveNs == task.startNs) {
              task.waitedFor = WaitedFor::Message;
              task.waited = number;
            }
      last[static_cast<size_t>(task.lane)] = i;
    }
  }

  /// Explains the start by an action on another lane, or by the copy before it
  /// on a shared host link, if that ended last.
  void explainCopies(TimelineTask &task, int64_t position) {
    // A copy does not wait for the compute lane as such.
    if (task.action.traits().isCopy() && task.waitedFor == WaitedFor::Task &&
        timeline.tasks[task.waited].lane != task.lane)
      task.waitedFor = WaitedFor::Nothing;
    if (task.waitedFor != WaitedFor::Nothing)
      return;
    for (int64_t k = copyWaits.begin[position];
         k < copyWaits.begin[position + 1]; ++k)
      if (timeline.tasks[copyWaits.awaited[k]].endNs == task.startNs) {
        task.waitedFor = WaitedFor::Copy;
        task.waited = copyWaits.awaited[k];
        return;
      }
    const int32_t link = problem.hostMemory.sharedLink(task.rank);
    if (!task.action.traits().isCopy() || link < 0)
      return;
    for (size_t i = 0; i < timeline.tasks.size(); ++i) {
      const TimelineTask &other = timeline.tasks[i];
      if (int64_t(i) == position || !other.action.traits().isCopy() ||
          problem.hostMemory.sharedLink(other.rank) != link ||
          other.endNs != task.startNs || other.startNs == other.endNs)
        continue;
      task.waitedFor = WaitedFor::HostLink;
      task.waited = int64_t(i);
      return;
    }
  }

  const Problem &problem;
  const Schedule &schedule;
  const Simulation &simulation;
  EdgeTable edges;
  Timeline timeline;
  /// Empty without copies.
  CopyWaits copyWaits;
  /// [edge * microbatches + microbatch]: number of the message; -1: none.
  std::vector<int64_t> numberOf;
};

} // namespace

Timeline rondo::layOut(const Problem &problem, const Schedule &schedule,
                       const Simulation &simulation) {
  return Layout(problem, schedule, simulation).run();
}

std::vector<PathStep> Timeline::criticalPath() const {
  std::vector<PathStep> path;
  const auto isEarlier = [](const TimelineTask &a, const TimelineTask &b) {
    return a.endNs < b.endNs;
  };
  auto found = std::max_element(tasks.begin(), tasks.end(), isEarlier);
  for (int64_t i = found == tasks.end() ? -1 : found - tasks.begin(); i >= 0;) {
    const TimelineTask &task = tasks[i];
    path.push_back({false, i, task.startNs, task.endNs});
    if (task.waitedFor == WaitedFor::Nothing)
      break;
    i = task.waited;
    if (task.waitedFor == WaitedFor::Message) {
      const TimelineMessage &message = messages[task.waited];
      i = message.from;
      path.push_back({true, task.waited, tasks[i].endNs, message.arriveNs});
    }
  }
  std::reverse(path.begin(), path.end());
  return path;
}
