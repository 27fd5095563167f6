//===- OwnRanks.cpp - Overlapping iterations, several stages a rank -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/families/OwnRanks.h"

#include "schedule/model/EdgeTable.h"
#include "schedule/order/Repeating.h"
#include "schedule/transforms/Iterations.h"

#include <algorithm>
#include <tuple>

using namespace rondo;

bool rondo::haveSeveralStages(const Problem &problem) {
  std::vector<bool> isTaken(problem.numRanks());
  for (const Replica &replica : problem.replicas) {
    if (isTaken[replica.rank])
      return true;
    isTaken[replica.rank] = true;
  }
  return false;
}

Problem rondo::onOwnRanks(const Problem &problem) {
  Problem own = problem;
  own.replicas = {};
  own.links.clear();
  own.nics = {};
  own.hosts.clear();
  own.devices.clear();
  own.memoryCaps.assign(problem.numStages(), noMemoryCap);
  for (int32_t s = 0; s < problem.numStages(); ++s)
    own.replicas.addStage(s, problem.replicas[s].samples);
  for (const Edge &edge : problem.edges) {
    const int32_t from = problem.rankOf(edge.from),
                  to = problem.rankOf(edge.to);
    own.links[{edge.from, edge.to}] =
        from == to ? Link() : problem.linkBetween(from, to);
  }
  return own;
}

namespace {

/// The slots in which the actions of all stages begin, each stage on a rank of
/// its own: a task takes one slot, a step and a message none.
class Slots {
public:
  Slots(const Problem &own, const Schedule &ofStages)
      : own(own), ofStages(ofStages), edges(own), each(own.microbatchesEach()),
        next(own.numStages(), 0), freeAt(next),
        begins(ofStages.numActions(), 0), isTied(own.numStages()) {
    forwardEnd.assign(own.numStages(),
                      std::vector<int64_t>(own.microbatches, notYet));
    gradientEnd = forwardEnd;
    weightEnd.assign(own.numStages(),
                     std::vector<int64_t>(own.iterations, notYet));
    for (int32_t stage : own.tiedStages)
      isTied[stage] = true;
    // As simulations run: every stage goes on as far as it can, in turns.
    for (bool goesOn = true; goesOn;) {
      goesOn = false;
      for (int32_t s = 0; s < own.numStages(); ++s)
        while (advance(s))
          goesOn = true;
    }
  }

  int64_t beginOf(int32_t stage, int64_t position) const {
    return begins[ofStages.rankBegin(stage) + position];
  }

private:
  static constexpr int64_t notYet = -1;

  /// When what a task of one micro-batch receives has arrived; notYet if it has
  /// not.
  int64_t arrivalOf(int32_t stage, ActionKind kind, int64_t microbatch) const {
    int64_t arrival = 0;
    for (int32_t e : edges.inputs(stage, kind)) {
      const Edge &edge = own.edges[e];
      const int64_t end = (edge.producer == ActionKind::Forward
                               ? forwardEnd
                               : gradientEnd)[edge.from][microbatch];
      if (end == notYet)
        return notYet;
      arrival = std::max(arrival, end);
    }
    return arrival;
  }

  /// When all gradients are there that a stage's step waits for.
  int64_t gradientsOf(int32_t stage, int64_t iteration) const {
    int64_t last = weightEnd[stage][iteration];
    for (int32_t other : own.tiedStages)
      if (isTied[stage]) {
        const int64_t end = weightEnd[other][iteration];
        if (end == notYet)
          return notYet;
        last = std::max(last, end);
      }
    return last;
  }

  int64_t readyAt(int32_t stage, Action action) const {
    if (action.kind() == ActionKind::Step)
      return gradientsOf(stage, action.index);
    const bool isForward = action.kind() == ActionKind::Forward;
    if (!isForward && !(action.traits().makes & inputGradDone))
      return 0;
    int64_t ready = 0;
    for (int64_t m = action.index; m < int64_t(action.index + action.count);
         ++m) {
      const int64_t arrival = arrivalOf(
          stage, isForward ? ActionKind::Forward : ActionKind::InputGrad, m);
      if (arrival == notYet)
        return notYet;
      ready = std::max(ready, arrival);
    }
    return ready;
  }

  /// Runs the next action of a stage if it can.
  bool advance(int32_t stage) {
    const ActionRange order = ofStages.rank(stage);
    if (next[stage] == order.size())
      return false;
    const Action action = order[next[stage]];
    const int64_t ready = readyAt(stage, action);
    if (ready == notYet)
      return false;
    const int64_t begin = std::max(freeAt[stage], ready);
    begins[ofStages.rankBegin(stage) + next[stage]++] = begin;
    freeAt[stage] = begin + (action.isTask() ? 1 : 0);
    for (int64_t m = action.index;
         action.isTask() && m < int64_t(action.index + action.count); ++m) {
      if (action.kind() == ActionKind::Forward)
        forwardEnd[stage][m] = freeAt[stage];
      if (action.traits().makes & inputGradDone)
        gradientEnd[stage][m] = freeAt[stage];
      if ((action.traits().makes & weightGradDone) && (m + 1) % each == 0)
        weightEnd[stage][m / each] = freeAt[stage];
    }
    return true;
  }

  const Problem &own;
  const Schedule &ofStages;
  const EdgeTable edges;
  const int64_t each;
  /// [stage]: the position of its next action, and the slot from which on it
  /// has nothing to do.
  std::vector<int64_t> next, freeAt;
  /// [action of the schedule].
  std::vector<int64_t> begins;
  std::vector<bool> isTied;
  /// [stage][micro-batch]: end of F, and of I or B; [stage][iteration]: end of
  /// the last W or B.
  std::vector<std::vector<int64_t>> forwardEnd, gradientEnd, weightEnd;
};

/// An action of a stage's order, and what it is sorted by.
struct Placed {
  int64_t slot = 0;
  /// Order within a slot: steps, backwards, forwards; each from the last stage
  /// to the first.
  enum class Kind : uint8_t { Step, Backward, Forward } kind = Kind::Step;
  int32_t stage = 0;
  int64_t position = 0;
  Action action;

  bool operator<(const Placed &other) const {
    return std::tuple(slot, kind, -stage, position) <
           std::tuple(other.slot, other.kind, -other.stage, other.position);
  }
};

} // namespace

/// Merges the orders of the stages into those of the ranks.
static Schedule merge(const Problem &problem, const Problem &own,
                      const Schedule &ofStages) {
  const Slots slots(own, ofStages);
  std::vector<std::vector<Placed>> ranks(problem.numRanks());
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const ActionRange order = ofStages.rank(s);
    for (int64_t i = 0; i < order.size(); ++i) {
      const ActionKind kind = order[i].kind();
      ranks[problem.rankOf(s)].push_back(
          {slots.beginOf(s, i),
           kind == ActionKind::Step      ? Placed::Kind::Step
           : kind == ActionKind::Forward ? Placed::Kind::Forward
                                         : Placed::Kind::Backward,
           s, i, order[i]});
    }
  }
  const int64_t each = problem.microbatchesEach();
  Schedule merged;
  merged.reserve(ofStages.numActions());
  for (std::vector<Placed> &rank : ranks) {
    std::sort(rank.begin(), rank.end());
    for (const Placed &placed : rank)
      if (iterationOf(placed.action, each) < problem.iterations)
        merged.append(placed.action);
    merged.endRank();
  }
  return merged;
}

Result<Schedule> rondo::orderOnOwnRanks(
    const Problem &problem, int64_t underWay,
    const std::function<Result<Schedule>(const Problem &)> &write) {
  Problem longer = problem;
  if (problem.iterations > 1)
    if (auto more = overIterations(problem, problem.iterations + underWay))
      longer = std::move(*more);
  const Problem own = onOwnRanks(longer);
  Result<Schedule> ofStages = write(own);
  if (!ofStages)
    return ofStages;
  return merge(problem, own, *ofStages);
}
