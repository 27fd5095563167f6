//===- SteppedRun.h - Runs a schedule ns by ns ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Independent of the simulator: time goes from one ns to the next. At each,
// what ends first gives its messages away, and then what can start does.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_UNIT_SCHEDULE_STEPPEDRUN_H
#define RONDO_TEST_UNIT_SCHEDULE_STEPPEDRUN_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace rondo::test {

class SteppedRun {
public:
  /// The schedule is complete and without link orders; F, I and B take at least
  /// 1 ns, and W follows I of its micro-batch in the list.
  SteppedRun(const Problem &problem, const Schedule &schedule)
      : problem(problem), schedule(schedule),
        arrival(problem.edges.size() * problem.microbatches, -1) {
    startNs.assign(schedule.numActions(), -1);
    endNs = startNs;
    left = schedule.numActions();
  }

  /// The makespan, or -1 if it takes longer than `maxNs`.
  int64_t run(int64_t maxNs) {
    std::vector<int64_t> next, busyUntil(schedule.numRanks(), 0);
    for (int32_t r = 0; r < schedule.numRanks(); ++r)
      next.push_back(schedule.rankBegin(r));
    int64_t last = 0;
    for (int64_t now = 0; left > 0 && now <= maxNs; ++now) {
      sendAll(now);
      for (int32_t r = 0; r < schedule.numRanks(); ++r)
        while (next[r] < schedule.rankBegin(r + 1) && busyUntil[r] <= now &&
               inputsAreThere(actionAt(next[r]), now)) {
          const int64_t ns = problem
                                 .cost(int32_t(actionAt(next[r]).subject),
                                       actionAt(next[r]).kind())
                                 .ns;
          startNs[next[r]] = now;
          endNs[next[r]] = busyUntil[r] = now + ns;
          last = std::max(last, busyUntil[r]);
          finished.insert({busyUntil[r], actionAt(next[r])});
          ++next[r];
          --left;
        }
    }
    return left > 0 ? -1 : last;
  }

  std::vector<int64_t> startNs, endNs;

private:
  Action actionAt(int64_t position) const {
    return schedule.rank(0).begin()[position];
  }
  bool makes(Action action, const Edge &edge) const {
    return int32_t(action.subject) == edge.from &&
           (action.kind() == edge.producer ||
            (edge.producer == ActionKind::InputGrad &&
             action.kind() == ActionKind::Backward));
  }
  bool takes(Action action, const Edge &edge) const {
    return int32_t(action.subject) == edge.to &&
           (edge.producer == ActionKind::Forward
                ? action.kind() == ActionKind::Forward
                : action.kind() == ActionKind::InputGrad ||
                      action.kind() == ActionKind::Backward);
  }
  bool inputsAreThere(Action action, int64_t now) const {
    for (size_t e = 0; e < problem.edges.size(); ++e)
      if (takes(action, problem.edges[e])) {
        const int64_t at = arrival[e * problem.microbatches + action.index];
        if (at < 0 || at > now)
          return false;
      }
    return true;
  }

  /// All messages that are ready now.
  void sendAll(int64_t now) {
    // Key: sender and receiver. In the order of making.
    std::map<std::pair<int32_t, int32_t>,
             std::vector<std::pair<size_t, Action>>>
        ready;
    for (auto [it, end] = finished.equal_range(now); it != end; ++it)
      for (size_t e = 0; e < problem.edges.size(); ++e)
        if (const Edge &edge = problem.edges[e]; makes(it->second, edge))
          ready[{problem.rankOf(edge.from), problem.rankOf(edge.to)}].push_back(
              {e, it->second});
    for (const auto &[ranks, messages] : ready)
      for (const auto &[e, action] : messages)
        arrival[e * problem.microbatches + action.index] =
            ranks.first == ranks.second
                ? now
                : arrivalOf(ranks.first, ranks.second, problem.edges[e].bytes,
                            now);
  }

  /// On one NIC or server.
  static bool areTogether(const Nics &nics, int32_t from, int32_t to) {
    const int32_t a = nics.ofRank[from], b = nics.ofRank[to];
    return a == b ||
           (std::min(a, b) >= 0 && !nics.servers.empty() &&
            nics.servers[a] != -1 && nics.servers[a] == nics.servers[b]);
  }

  int64_t arrivalOf(int32_t from, int32_t to, int64_t bytes, int64_t now) {
    auto found = problem.links.find({from, to});
    const Link &link =
        found == problem.links.end() ? problem.link : found->second;
    int64_t rate = link.bytesPerUs;
    // Resources that it needs: the link, and the sides of NICs.
    std::vector<std::tuple<int32_t, int32_t, int32_t>> needed{{0, from, to}};
    const Nics &nics = problem.nics;
    if (!nics.empty() && !areTogether(nics, from, to))
      for (const auto &[side, rank] : {std::pair(1, from), std::pair(2, to)})
        if (const int32_t nic = nics.ofRank[rank]; nic >= 0) {
          needed.push_back({side, nic, 0});
          rate = rate == 0 ? nics.bytesPerUs[nic]
                           : std::min(rate, nics.bytesPerUs[nic]);
        }
    int64_t begin = now;
    for (const auto &one : needed)
      begin = std::max(begin, freeNs[one]);
    const int64_t end =
        begin + (rate == 0 ? 0 : (1000 * bytes + rate - 1) / rate);
    for (const auto &one : needed)
      freeNs[one] = end;
    return end + link.latencyNs;
  }

  const Problem &problem;
  const Schedule &schedule;
  std::vector<int64_t> arrival;
  std::multimap<int64_t, Action> finished;
  std::map<std::tuple<int32_t, int32_t, int32_t>, int64_t> freeNs;
  int64_t left = 0;
};

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_SCHEDULE_STEPPEDRUN_H
