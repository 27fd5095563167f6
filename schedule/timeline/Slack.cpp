//===- Slack.cpp - Slack of tasks -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tasks and messages are nodes with durations. Backwards from the nodes that
// nothing waits for, the latest end of each node is the earliest latest start
// of its successors.
//
//===----------------------------------------------------------------------===//

#include "schedule/timeline/Slack.h"

#include <algorithm>
#include <map>

using namespace rondo;

namespace {

class Backward {
public:
  Backward(const Problem &problem, const Timeline &timeline)
      : problem(problem), timeline(timeline),
        numTasks(int64_t(timeline.tasks.size())),
        waiting(numTasks + timeline.messages.size(), 0),
        before(waiting.size()) {}

  std::vector<int64_t> run();

private:
  /// `later` begins at least `ns` after `earlier` does.
  void add(int64_t earlier, int64_t later, int64_t ns) {
    before[later].push_back({earlier, ns});
    ++waiting[earlier];
  }
  void addEdges();

  struct Edge {
    int64_t earlier, ns;
  };

  const Problem &problem;
  const Timeline &timeline;
  /// Messages are numbered after the tasks.
  const int64_t numTasks;
  /// [node]: number of its successors without a latest start.
  std::vector<int64_t> waiting;
  std::vector<std::vector<Edge>> before;
};

void Backward::addEdges() {
  for (size_t rank = 0; rank + 1 < timeline.rankBegin.size(); ++rank)
    for (int64_t i = timeline.rankBegin[rank] + 1;
         i < timeline.rankBegin[rank + 1]; ++i)
      add(i - 1, i,
          timeline.tasks[i - 1].endNs - timeline.tasks[i - 1].startNs);
  std::map<std::pair<int32_t, int32_t>, std::vector<int64_t>> links;
  for (size_t m = 0; m < timeline.messages.size(); ++m) {
    const TimelineMessage &message = timeline.messages[m];
    const TimelineTask &from = timeline.tasks[message.from];
    add(message.from, numTasks + int64_t(m), from.endNs - from.startNs);
    add(numTasks + int64_t(m), message.to, message.arriveNs - message.leaveNs);
    links[{from.rank, timeline.tasks[message.to].rank}].push_back(int64_t(m));
  }
  for (auto &[ranks, messages] : links) {
    std::stable_sort(
        messages.begin(), messages.end(), [&](int64_t a, int64_t b) {
          return timeline.messages[a].leaveNs < timeline.messages[b].leaveNs;
        });
    const Link link = problem.linkBetween(ranks.first, ranks.second);
    for (size_t k = 1; k < messages.size(); ++k) {
      const TimelineMessage &first = timeline.messages[messages[k - 1]];
      // The link is occupied for the transfer time without the latency.
      add(numTasks + messages[k - 1], numTasks + messages[k],
          first.arriveNs - first.leaveNs - link.latencyNs);
    }
  }
}

std::vector<int64_t> Backward::run() {
  addEdges();
  // Latest start of each node. A task without successors may end with the
  // makespan.
  std::vector<int64_t> latest(waiting.size(), timeline.makespanNs);
  for (int64_t i = 0; i < numTasks; ++i)
    latest[i] -= timeline.tasks[i].endNs - timeline.tasks[i].startNs;
  std::vector<int64_t> ready;
  for (size_t i = 0; i < waiting.size(); ++i)
    if (waiting[i] == 0)
      ready.push_back(int64_t(i));
  while (!ready.empty()) {
    const int64_t later = ready.back();
    ready.pop_back();
    for (const Edge &edge : before[later]) {
      latest[edge.earlier] =
          std::min(latest[edge.earlier], latest[later] - edge.ns);
      if (--waiting[edge.earlier] == 0)
        ready.push_back(edge.earlier);
    }
  }
  std::vector<int64_t> slack(numTasks);
  for (int64_t i = 0; i < numTasks; ++i)
    slack[i] = latest[i] - timeline.tasks[i].startNs;
  return slack;
}

} // namespace

std::vector<int64_t> rondo::slackOf(const Problem &problem,
                                    const Timeline &timeline) {
  for (int32_t a = 0; a < problem.numRanks(); ++a)
    for (int32_t b = 0; b < problem.numRanks(); ++b)
      if (a != b && problem.nics.between(a, b).any())
        return {};
  if (problem.replicas.areSharded())
    return {};
  for (const TimelineTask &task : timeline.tasks)
    if (task.action.traits().isCopy())
      return {};
  return Backward(problem, timeline).run();
}
