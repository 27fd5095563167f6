//===- FuseBackwards.cpp - I and W that may as well be B ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/Adapt.h"

#include "schedule/model/EdgeTable.h"
#include "schedule/simulate/Simulator.h"

using namespace rondo;
using namespace rondo::exchange;

namespace {

class Fuser {
public:
  explicit Fuser(const ExchangedSchedule &given)
      : given(given), problem(given.problem), edges(given.problem),
        before(simulate(problem, given.schedule, /*keepTimes=*/true)) {
    startOf.assign(int64_t(problem.numReplicas()) * problem.microbatches, 0);
    for (int32_t rank = 0; rank < given.schedule.numRanks(); ++rank) {
      int64_t position = given.schedule.rankBegin(rank);
      for (Action action : given.schedule.rank(rank)) {
        if (action.kind() == ActionKind::InputGrad ||
            action.kind() == ActionKind::Backward)
          startOf[numberOf(action)] = before.startNs[position];
        ++position;
      }
    }
  }

  /// The schedule with fused backwards, and how many there are.
  Schedule fuse(bool onlyWithoutMessage, int64_t &numFused) const;

  int64_t numAdjacent() const {
    int64_t count = 0;
    for (int32_t rank = 0; rank < given.schedule.numRanks(); ++rank)
      for (int64_t i = 0; i < given.schedule.rank(rank).size(); ++i)
        count += isAdjacent(given.schedule.rank(rank), i);
    return count;
  }
  int64_t makespanNs() const { return before.makespanNs; }

private:
  int64_t numberOf(Action action) const {
    return int64_t(action.subject) * problem.microbatches +
           int64_t(action.index);
  }
  static bool isAdjacent(ActionRange order, int64_t i) {
    return i + 1 < order.size() && order[i].kind() == ActionKind::InputGrad &&
           order[i + 1].kind() == ActionKind::WeightGrad &&
           order[i].subject == order[i + 1].subject &&
           order[i].index == order[i + 1].index;
  }
  /// Whether something would start later if the gradient left at `endNs`.
  bool isWaitedFor(Action inputGrad, int64_t endNs) const {
    for (int32_t e : edges.outputs(inputGrad.subject, inputGrad.kind())) {
      const Edge &edge = problem.edges[e];
      const int32_t from = problem.rankOf(edge.from),
                    to = problem.rankOf(edge.to);
      int64_t arrivalNs = endNs;
      if (from != to) {
        const Link link = problem.linkBetween(from, to);
        arrivalNs += link.occupancyNs(edge.bytes) + link.latencyNs;
      }
      const Action consumer(ActionKind::InputGrad, edge.to, inputGrad.index);
      if (startOf[numberOf(consumer)] < arrivalNs)
        return true;
    }
    return false;
  }

  const ExchangedSchedule &given;
  const Problem &problem;
  EdgeTable edges;
  Simulation before;
  /// Indexed by replica and micro-batch: the I or B.
  std::vector<int64_t> startOf;
};

Schedule Fuser::fuse(bool onlyWithoutMessage, int64_t &numFused) const {
  Schedule fused;
  fused.reserve(given.schedule.numActions());
  fused.linkOrders = given.schedule.linkOrders;
  numFused = 0;
  std::vector<bool> isFused(startOf.size(), false);
  for (int32_t rank = 0; rank < given.schedule.numRanks(); ++rank) {
    const ActionRange order = given.schedule.rank(rank);
    const int64_t begin = given.schedule.rankBegin(rank);
    for (int64_t i = 0; i < order.size(); ++i) {
      Action action = order[i];
      const bool sends = isAdjacent(order, i) &&
                         !edges.outputs(action.subject, action.kind()).empty();
      if (isAdjacent(order, i) &&
          !(sends && (onlyWithoutMessage ||
                      isWaitedFor(action, before.endNs[begin + i + 1])))) {
        isFused[numberOf(action)] = true;
        action = Action(ActionKind::Backward, int64_t(action.subject),
                        int64_t(action.index));
        ++numFused;
        ++i;
      }
      fused.append(action);
    }
    fused.endRank();
  }
  for (auto &[pair, producers] : fused.linkOrders)
    for (Action &producer : producers)
      if (producer.kind() == ActionKind::InputGrad &&
          isFused[numberOf(producer)])
        producer = Action(ActionKind::Backward, int64_t(producer.subject),
                          int64_t(producer.index));
  return fused;
}

} // namespace

void exchange::fuseBackwards(ExchangedSchedule &schedule,
                             std::vector<std::string> &notes) {
  const Fuser fuser(schedule);
  const int64_t numAdjacent = fuser.numAdjacent();
  if (numAdjacent == 0) {
    notes.push_back("--fuse: no I is followed by its W");
    return;
  }
  int64_t numFused = 0;
  Schedule fused = fuser.fuse(/*onlyWithoutMessage=*/false, numFused);
  int64_t afterNs = simulate(schedule.problem, fused).makespanNs;
  if (afterNs > fuser.makespanNs()) {
    fused = fuser.fuse(/*onlyWithoutMessage=*/true, numFused);
    afterNs = simulate(schedule.problem, fused).makespanNs;
  }
  notes.push_back("--fuse: " + std::to_string(numFused) + " of " +
                  std::to_string(numAdjacent) +
                  " adjacent I and W became B; predicted " +
                  std::to_string(fuser.makespanNs()) + " ns before, " +
                  std::to_string(afterNs) + " ns after");
  schedule.schedule = std::move(fused);
  renamePairs(schedule);
}
