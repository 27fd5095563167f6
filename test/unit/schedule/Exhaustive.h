//===- Exhaustive.h - Every schedule of a tiny problem ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumerates all orders of all ranks and serial links of a graph, with F, I and
// W or B for every micro-batch, using only the rules of the problem. Shares
// nothing with the search: no bound but a rank's remaining work, no dominance,
// and micro-batches in any order.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_UNIT_SCHEDULE_EXHAUSTIVE_H
#define RONDO_TEST_UNIT_SCHEDULE_EXHAUSTIVE_H

#include "schedule/model/Problem.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace rondo::test {

class Exhaustive {
public:
  /// Whether there is a schedule below `target`. With `inOrder`, micro-batches
  /// keep their order in each stage and task. All times must be below 2^15.
  Exhaustive(const Problem &problem, int64_t target, bool inOrder)
      : problem(problem), target(target), inOrder(inOrder),
        stages(problem.numStages()), all(problem.microbatches) {
    for (const Edge &edge : problem.edges) {
      const int32_t from = problem.rankOf(edge.from),
                    to = problem.rankOf(edge.to);
      Hop hop;
      if (from != to) {
        const Link &link = problem.linkBetween(from, to);
        hop.link = from * problem.numRanks() + to;
        for (int32_t k = 0; k < all; ++k)
          hop.occupancy.push_back(
              link.occupancyNs(problem.bytesOf(&edge - &problem.edges[0], k)));
        hop.latency = link.latencyNs;
      }
      hops.push_back(hop);
    }
  }

  enum class Answer { No, Yes, TooMany };
  Answer below(size_t maxStates) {
    limit = maxStates;
    State state;
    state.clock.assign(problem.numRanks(), 0);
    state.first.assign(problem.numRanks(), -1);
    state.held.assign(problem.numRanks(), 0);
    state.linkFree.assign(size_t(problem.numRanks()) * problem.numRanks(), 0);
    state.phase.assign(size_t(stages) * all, 0);
    state.message.assign(problem.edges.size() * all, absent);
    const bool found = walk(state);
    return found                 ? Answer::Yes
           : seen.size() > limit ? Answer::TooMany
                                 : Answer::No;
  }

private:
  static constexpr int64_t absent = -1;
  struct Hop {
    int32_t link = -1;
    int64_t latency = 0;
    /// Indexed by micro-batch; empty within a rank.
    std::vector<int64_t> occupancy;
  };
  struct State {
    /// Starts never decrease from one step to the next.
    int64_t now = 0;
    std::vector<int64_t> clock, first, held, linkFree;
    /// Indices: stage and micro-batch. 0, or F, I, all done.
    std::vector<int8_t> phase;
    /// Indices: edge and micro-batch. Time at which the message has arrived, or
    /// -2 - the time at which it was made.
    std::vector<int64_t> message;
  };

  /// Index of a task, by its stage, or of a message, by its edge.
  size_t at(int64_t row, int32_t k) const { return size_t(row) * all + k; }

  std::string keyOf(const State &state) const {
    std::string key;
    auto add = [&](int64_t value) {
      key.push_back(char(value & 255));
      key.push_back(char(value >> 8 & 255));
    };
    add(state.now);
    for (const auto *column : {&state.clock, &state.linkFree})
      for (int64_t time : *column)
        add(std::max(time, state.now));
    if (problem.objective == Objective::Span)
      for (int64_t time : state.first)
        add(time);
    for (int8_t phase : state.phase)
      key.push_back(char(phase));
    for (int64_t time : state.message)
      add(time == absent ? time
          : time < 0     ? -2 - std::max(-2 - time, state.now)
                         : std::max(time, state.now));
    return key;
  }

  int64_t leftOf(const State &state, int32_t rank) const {
    int64_t left = 0;
    for (int32_t s = 0; s < stages; ++s)
      if (problem.rankOf(s) == rank) {
        for (int32_t k = 0; k < all; ++k) {
          const int64_t f = problem.cost(s, ActionKind::Forward, k).ns;
          const int64_t i = problem.cost(s, ActionKind::InputGrad, k).ns;
          const int64_t w = problem.cost(s, ActionKind::WeightGrad, k).ns;
          const int64_t b =
              std::min(i + w, problem.cost(s, ActionKind::Backward, k).ns);
          const int8_t phase = state.phase[at(s, k)];
          left += phase == 0 ? f + b : phase == 1 ? b : phase == 2 ? w : 0;
        }
      }
    return left;
  }

  bool walk(const State &state) {
    if (std::all_of(state.phase.begin(), state.phase.end(),
                    [](int8_t phase) { return phase == 3; }))
      return true;
    if (seen.size() > limit || !seen.insert(keyOf(state)).second)
      return false;
    for (int32_t s = 0; s < stages; ++s) {
      bool had[4] = {false, false, false, false};
      for (int32_t k = 0; k < all; ++k)
        for (ActionKind kind : {ActionKind::Forward, ActionKind::InputGrad,
                                ActionKind::WeightGrad, ActionKind::Backward}) {
          const int8_t needs = kind == ActionKind::Forward      ? 0
                               : kind == ActionKind::WeightGrad ? 2
                                                                : 1;
          if (state.phase[at(s, k)] != needs)
            continue;
          if (inOrder && had[needs] && kind != ActionKind::Backward)
            continue;
          if (inOrder && kind == ActionKind::Backward && k > 0 &&
              state.phase[at(s, k - 1)] < 2)
            continue;
          if (kind != ActionKind::Backward)
            had[needs] = true;
          if (runTask(state, s, k, kind))
            return true;
        }
    }
    for (size_t e = 0; e < hops.size(); ++e)
      for (int32_t k = 0; k < all; ++k)
        if (state.message[at(e, k)] < absent && beginsBurst(e)) {
          if (sendBurst(state, e, k))
            return true;
          if (inOrder)
            break;
        }
    return false;
  }

  bool runTask(const State &state, int32_t s, int32_t k, ActionKind kind) {
    const int32_t rank = problem.rankOf(s);
    const Cost &cost = problem.cost(s, kind, k);
    int64_t start = std::max(state.clock[rank], int64_t(0));
    const ActionKind producer =
        kind == ActionKind::Backward ? ActionKind::InputGrad : kind;
    for (size_t e = 0; e < hops.size(); ++e)
      if (problem.edges[e].to == s && problem.edges[e].producer == producer) {
        const int64_t arrived = state.message[at(e, k)];
        if (arrived < 0)
          return false;
        start = std::max(start, arrived);
      }
    if (start < state.now ||
        state.held[rank] + cost.acquireBytes > problem.memoryCaps[rank])
      return false;
    State next = state;
    next.now = start;
    next.clock[rank] = start + cost.ns;
    if (next.first[rank] < 0)
      next.first[rank] = start;
    next.held[rank] += cost.acquireBytes - cost.releaseBytes;
    next.phase[at(s, k)] = kind == ActionKind::Forward     ? 1
                           : kind == ActionKind::InputGrad ? 2
                                                           : 3;
    const int64_t begin =
        problem.objective == Objective::Span ? next.first[rank] : 0;
    if (next.clock[rank] + leftOf(next, rank) - begin >= target)
      return false;
    for (size_t e = 0; e < hops.size(); ++e)
      if (problem.edges[e].from == s && problem.edges[e].producer == producer) {
        const bool isSerial = hops[e].link >= 0 && isBusy(hops[e].link);
        next.message[at(e, k)] = isSerial ? -2 - next.clock[rank]
                                          : next.clock[rank] + hops[e].latency;
      }
    return walk(next);
  }

  bool isBusy(int32_t link) const {
    for (const Hop &hop : hops)
      if (hop.link == link &&
          std::any_of(hop.occupancy.begin(), hop.occupancy.end(),
                      [](int64_t ns) { return ns > 0; }))
        return true;
    return false;
  }

  /// Messages of a task over one link go in a row.
  bool isSameBurst(size_t e, size_t other) const {
    return hops[e].link == hops[other].link &&
           problem.edges[e].from == problem.edges[other].from &&
           problem.edges[e].producer == problem.edges[other].producer;
  }
  bool beginsBurst(size_t e) const {
    for (size_t before = 0; before < e; ++before)
      if (isSameBurst(before, e))
        return false;
    return true;
  }

  bool sendBurst(const State &state, size_t first, int32_t k) {
    const int64_t made = -2 - state.message[at(first, k)];
    const int32_t link = hops[first].link;
    const int64_t start = std::max(made, state.linkFree[link]);
    if (start < state.now)
      return false;
    State next = state;
    next.now = start;
    next.linkFree[link] = start;
    for (size_t e = first; e < hops.size(); ++e)
      if (isSameBurst(first, e)) {
        next.linkFree[link] += hops[e].occupancy[k];
        next.message[at(e, k)] = next.linkFree[link] + hops[e].latency;
      }
    return walk(next);
  }

  const Problem &problem;
  const int64_t target;
  const bool inOrder;
  const int32_t stages, all;
  std::vector<Hop> hops;
  std::unordered_set<std::string> seen;
  size_t limit = 0;
};

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_SCHEDULE_EXHAUSTIVE_H
