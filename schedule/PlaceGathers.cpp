//===- PlaceGathers.cpp - Gathers and reductions in an order --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/PlaceGathers.h"

#include "schedule/CollectiveTime.h"
#include "schedule/Shards.h"

#include <algorithm>

using namespace rondo;

namespace {

/// What a rank has whole of one kind, weights or gradients, and when it needs
/// it next.
class Whole {
public:
  /// `uses` are by home: positions in the rank's order, ascending.
  Whole(std::vector<std::vector<int64_t>> uses, int32_t most)
      : uses(std::move(uses)), most(std::max<int32_t>(most, 1)),
        next(this->uses.size(), 0), isThere(this->uses.size(), false) {
    for (size_t home = 0; home < this->uses.size(); ++home)
      if (!this->uses[home].empty())
        homes.push_back(static_cast<int32_t>(home));
  }

  void set(int32_t home, bool there) { isThere[home] = there; }
  bool has(int32_t home) const { return isThere[home]; }
  /// The use at this position is over.
  void pass(int32_t home) { ++next[home]; }
  bool isUsedAgain(int32_t home) const {
    return next[home] < uses[home].size();
  }
  int64_t nextUse(int32_t home) const { return uses[home][next[home]]; }

  /// The homes that are used next, nearest first, as many as may be whole.
  const std::vector<int32_t> &nearest() {
    found.clear();
    for (int32_t home : homes)
      if (isUsedAgain(home))
        found.push_back(home);
    std::sort(found.begin(), found.end(),
              [&](int32_t a, int32_t b) { return nextUse(a) < nextUse(b); });
    if (found.size() > size_t(most))
      found.resize(most);
    return found;
  }
  const std::vector<int32_t> &all() const { return homes; }

private:
  const std::vector<std::vector<int64_t>> uses;
  const int32_t most;
  /// By home, into `uses`.
  std::vector<size_t> next;
  std::vector<bool> isThere;
  /// Those with uses.
  std::vector<int32_t> homes;
  std::vector<int32_t> found;
};

class Placer {
public:
  Placer(const Problem &problem, const Schedule &schedule,
         const Residencies &residencies)
      : problem(problem), schedule(schedule), residencies(residencies),
        numbers(size_t(problem.numHomes()) * 3, 0) {}

  Schedule run() {
    result.reserve(schedule.numActions());
    for (int32_t r = 0; r < schedule.numRanks(); ++r) {
      writeRank(schedule.rank(r), residencies[residencies.size() == 1 ? 0 : r]);
      result.endRank();
    }
    result.linkOrders = schedule.linkOrders;
    return std::move(result);
  }

private:
  bool isSharded(int32_t home) const { return problem.homes[home].isSharded(); }
  void emit(ActionKind kind, int32_t home) {
    int64_t &number = numbers[home * 3 + static_cast<int>(kind) -
                              static_cast<int>(ActionKind::Unshard)];
    result.append(Action(kind, home, number++));
  }
  std::vector<std::vector<int64_t>> usesOf(ActionRange order,
                                           Done makes) const {
    std::vector<std::vector<int64_t>> uses(problem.numHomes());
    for (int64_t i = 0; i < order.size(); ++i)
      if (order[i].isTask() && isSharded(order[i].subject) &&
          (makes == nothingDone || (order[i].traits().makes & makes)))
        uses[order[i].subject].push_back(i);
    return uses;
  }
  void writeRank(ActionRange order, Residency residency);
  void gatherFor(Whole &weights, int32_t ahead);
  void reduceUnneeded(Whole &gradients);

  /// Whether the tasks of a micro-batch end with the action at `i`: another
  /// micro-batch or home follows.
  static bool isLastOfMicrobatch(ActionRange order, int64_t i) {
    return i + 1 == order.size() || !order[i + 1].isTask() ||
           order[i + 1].subject != order[i].subject ||
           order[i + 1].index != order[i].index ||
           order[i].kind() == ActionKind::Forward;
  }

  const Problem &problem;
  const Schedule &schedule;
  const Residencies &residencies;
  /// [home * 3 + kind]: the next number of each.
  std::vector<int64_t> numbers;
  Schedule result;
};

/// Frees what is none of the nearest chunks, and gathers those, as far ahead as
/// may be.
void Placer::gatherFor(Whole &weights, int32_t ahead) {
  const std::vector<int32_t> &nearest = weights.nearest();
  for (int32_t home : weights.all())
    if (weights.has(home) &&
        problem.shardedState(home) == ShardedState::Weights &&
        std::find(nearest.begin(), nearest.end(), home) == nearest.end()) {
      emit(ActionKind::Reshard, home);
      weights.set(home, false);
    }
  const size_t most = ahead == Residency::allAhead
                          ? nearest.size()
                          : std::min(nearest.size(), size_t(ahead) + 1);
  for (size_t k = 0; k < most; ++k)
    if (const int32_t home = nearest[k]; !weights.has(home)) {
      emit(ActionKind::Unshard, home);
      weights.set(home, true);
    }
}

/// Adds what is none of the next chunks that make gradients.
void Placer::reduceUnneeded(Whole &gradients) {
  const std::vector<int32_t> &nearest = gradients.nearest();
  for (int32_t home : gradients.all())
    if (gradients.has(home) &&
        (!gradients.isUsedAgain(home) ||
         (problem.shardedState(home) != ShardedState::Optimizer &&
          std::find(nearest.begin(), nearest.end(), home) == nearest.end()))) {
      emit(ActionKind::ReduceGrad, home);
      gradients.set(home, false);
    }
}

void Placer::writeRank(ActionRange order, Residency residency) {
  Whole weights(usesOf(order, nothingDone), residency.weights),
      gradients(usesOf(order, weightGradDone), residency.gradients);
  for (int64_t i = 0; i < order.size(); ++i) {
    const Action action = order[i];
    const auto home = static_cast<int32_t>(action.subject);
    if (!action.isTask() || !isSharded(home)) {
      result.append(action);
      continue;
    }
    const bool isWeights = problem.shardedState(home) == ShardedState::Weights;
    gatherFor(weights, residency.ahead);
    result.append(action);
    weights.pass(home);
    const bool ends = isLastOfMicrobatch(order, i);
    if (!weights.isUsedAgain(home) ||
        (residency.weights == 0 && isWeights && ends)) {
      emit(ActionKind::Reshard, home);
      weights.set(home, false);
    }
    if (!(action.traits().makes & weightGradDone))
      continue;
    gradients.set(home, true);
    gradients.pass(home);
    if (residency.gradients == 0 && ends &&
        problem.shardedState(home) != ShardedState::Optimizer) {
      emit(ActionKind::ReduceGrad, home);
      gradients.set(home, false);
    }
    reduceUnneeded(gradients);
  }
}

} // namespace

Schedule rondo::placeGathers(const Problem &problem, const Schedule &schedule,
                             const Residencies &residencies) {
  return Placer(problem, schedule, residencies).run();
}

/// Of a home's piece of the gradients, which the groups of its stage add once
/// an iteration: a part of it to each other group, and the sum of its own part.
static int64_t bytesAcross(const Problem &problem, int32_t home) {
  const int32_t groups = samePieceOfGroups(problem, home).count;
  return 2 * (pieceOfGradients(problem, home) / groups) * (groups - 1);
}

GatherCounts rondo::countGathers(const Problem &problem, ActionRange order) {
  GatherCounts counts;
  for (Action action : order) {
    if (!action.traits().movesState() || action.kind() == ActionKind::Reshard)
      continue;
    const Cost &cost = problem.cost(action.subject, action.kind());
    // A copy of the gathered weights in another dtype does not travel.
    const int64_t pieces = problem.homes[action.subject].pieces,
                  sum = problem.cost(action.subject, ActionKind::ReduceGrad)
                            .releaseBytes,
                  whole = std::min(cost.acquireBytes + cost.releaseBytes, sum);
    ++(action.kind() == ActionKind::Unshard ? counts.gathers
                                            : counts.reductions);
    counts.bytes += whole / pieces * (pieces - 1);
    if (action.kind() == ActionKind::ReduceGrad && action.index == 0)
      counts.bytes += bytesAcross(problem, action.subject);
  }
  return counts;
}

GatherCounts rondo::countGathers(const Problem &problem,
                                 const Schedule &schedule) {
  GatherCounts counts;
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    const GatherCounts own = countGathers(problem, schedule.rank(r));
    counts.gathers += own.gathers;
    counts.reductions += own.reductions;
    counts.bytes += own.bytes;
  }
  return counts;
}

Problem rondo::withWholeState(const Problem &problem) {
  Problem whole = problem;
  std::vector<int64_t> largest(problem.numRanks(), 0);
  for (int32_t home = 0; home < problem.numHomes(); ++home) {
    if (!problem.homes[home].isSharded())
      continue;
    int64_t &bytes = largest[problem.rankOf(home)];
    bytes = std::max(
        bytes, problem.cost(home, ActionKind::Unshard).acquireBytes +
                   problem.cost(home, ActionKind::ReduceGrad).releaseBytes);
    for (ActionKind kind :
         {ActionKind::Unshard, ActionKind::Reshard, ActionKind::ReduceGrad})
      whole.cost(home, kind) = {};
    whole.homes.makeWhole(home);
  }
  whole.sharded.clear();
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    if (whole.memoryCaps[r] != noMemoryCap)
      whole.memoryCaps[r] =
          std::max<int64_t>(0, whole.memoryCaps[r] - largest[r]);
  return whole;
}
