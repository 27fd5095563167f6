//===- PlaceGathers.cpp - Gathers and reductions in an order --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/gathers/PlaceGathers.h"

#include "schedule/model/CollectiveTime.h"
#include "schedule/order/Shards.h"

#include <algorithm>

using namespace rondo;

namespace {

/// The chunks of a rank that are whole, for weights or for gradients, and their
/// next uses.
class Whole {
public:
  /// `uses[replica]`: positions in the rank's order, ascending. At most `most`
  /// chunks are whole at once.
  Whole(std::vector<std::vector<int64_t>> uses, int32_t most)
      : uses(std::move(uses)), most(std::max<int32_t>(most, 1)),
        next(this->uses.size(), 0), isThere(this->uses.size(), false) {
    for (size_t replica = 0; replica < this->uses.size(); ++replica)
      if (!this->uses[replica].empty())
        replicas.push_back(static_cast<int32_t>(replica));
  }

  void set(int32_t replica, bool there) { isThere[replica] = there; }
  bool has(int32_t replica) const { return isThere[replica]; }
  /// Call it after the replica's next use.
  void pass(int32_t replica) { ++next[replica]; }
  bool isUsedAgain(int32_t replica) const {
    return next[replica] < uses[replica].size();
  }
  int64_t nextUse(int32_t replica) const {
    return uses[replica][next[replica]];
  }

  /// At most `most` replicas with the nearest next uses, nearest first.
  const std::vector<int32_t> &nearest() {
    found.clear();
    for (int32_t replica : replicas)
      if (isUsedAgain(replica))
        found.push_back(replica);
    std::sort(found.begin(), found.end(),
              [&](int32_t a, int32_t b) { return nextUse(a) < nextUse(b); });
    if (found.size() > size_t(most))
      found.resize(most);
    return found;
  }
  const std::vector<int32_t> &all() const { return replicas; }

private:
  const std::vector<std::vector<int64_t>> uses;
  const int32_t most;
  /// [replica]: index into `uses`.
  std::vector<size_t> next;
  std::vector<bool> isThere;
  /// Replicas with uses.
  std::vector<int32_t> replicas;
  std::vector<int32_t> found;
};

class Placer {
public:
  Placer(const Problem &problem, const Schedule &schedule,
         const Residencies &residencies)
      : problem(problem), schedule(schedule), residencies(residencies),
        numbers(size_t(problem.numReplicas()) * 3, 0) {}

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
  bool isSharded(int32_t replica) const {
    return problem.replicas[replica].isSharded();
  }
  void emit(ActionKind kind, int32_t replica) {
    int64_t &number = numbers[replica * 3 + static_cast<int>(kind) -
                              static_cast<int>(ActionKind::Unshard)];
    result.append(Action(kind, replica, number++));
  }
  std::vector<std::vector<int64_t>> usesOf(ActionRange order,
                                           Done makes) const {
    std::vector<std::vector<int64_t>> uses(problem.numReplicas());
    for (int64_t i = 0; i < order.size(); ++i)
      if (order[i].isTask() && isSharded(order[i].subject) &&
          (makes == nothingDone || (order[i].traits().makes & makes)))
        uses[order[i].subject].push_back(i);
    return uses;
  }
  void writeRank(ActionRange order, Residency residency);
  void gatherFor(Whole &weights, int32_t ahead);
  void reduceUnneeded(Whole &gradients);

  /// Whether a run of consecutive tasks of one replica and micro-batch ends at
  /// `i`: after F, at the end of the order, and before a task of another
  /// replica or micro-batch or an action that is neither task nor copy.
  static bool isLastOfMicrobatch(ActionRange order, int64_t i) {
    int64_t next = i + 1;
    while (next < order.size() && order[next].traits().isCopy())
      ++next;
    return next == order.size() || !order[next].isTask() ||
           order[next].subject != order[i].subject ||
           order[next].index != order[i].index ||
           order[i].kind() == ActionKind::Forward;
  }

  const Problem &problem;
  const Schedule &schedule;
  const Residencies &residencies;
  /// [replica * 3 + kind]: the next number of each.
  std::vector<int64_t> numbers;
  Schedule result;
};

/// Frees the chunks that are not among the nearest, and gathers those that are,
/// at most `ahead` of them before their use.
void Placer::gatherFor(Whole &weights, int32_t ahead) {
  const std::vector<int32_t> &nearest = weights.nearest();
  for (int32_t replica : weights.all())
    if (weights.has(replica) &&
        problem.shardedState(replica) == ShardedState::Weights &&
        std::find(nearest.begin(), nearest.end(), replica) == nearest.end()) {
      emit(ActionKind::Reshard, replica);
      weights.set(replica, false);
    }
  const size_t most = ahead == Residency::allAhead
                          ? nearest.size()
                          : std::min(nearest.size(), size_t(ahead) + 1);
  for (size_t k = 0; k < most; ++k)
    if (const int32_t replica = nearest[k]; !weights.has(replica)) {
      emit(ActionKind::Unshard, replica);
      weights.set(replica, true);
    }
}

/// Reduces the gradients of chunks that are not among the next ones to make
/// gradients.
void Placer::reduceUnneeded(Whole &gradients) {
  const std::vector<int32_t> &nearest = gradients.nearest();
  for (int32_t replica : gradients.all())
    if (gradients.has(replica) &&
        (!gradients.isUsedAgain(replica) ||
         (problem.shardedState(replica) != ShardedState::Optimizer &&
          std::find(nearest.begin(), nearest.end(), replica) ==
              nearest.end()))) {
      emit(ActionKind::ReduceGrad, replica);
      gradients.set(replica, false);
    }
}

void Placer::writeRank(ActionRange order, Residency residency) {
  Whole weights(usesOf(order, nothingDone), residency.weights),
      gradients(usesOf(order, weightGradDone), residency.gradients);
  for (int64_t i = 0; i < order.size(); ++i) {
    const Action action = order[i];
    const auto replica = static_cast<int32_t>(action.subject);
    if (!action.isTask() || !isSharded(replica)) {
      result.append(action);
      continue;
    }
    const bool isWeights =
        problem.shardedState(replica) == ShardedState::Weights;
    gatherFor(weights, residency.ahead);
    result.append(action);
    weights.pass(replica);
    const bool ends = isLastOfMicrobatch(order, i);
    if (!weights.isUsedAgain(replica) ||
        (residency.weights == 0 && isWeights && ends)) {
      emit(ActionKind::Reshard, replica);
      weights.set(replica, false);
    }
    if (!(action.traits().makes & weightGradDone))
      continue;
    gradients.set(replica, true);
    gradients.pass(replica);
    if (residency.gradients == 0 && ends &&
        problem.shardedState(replica) != ShardedState::Optimizer) {
      emit(ActionKind::ReduceGrad, replica);
      gradients.set(replica, false);
    }
    reduceUnneeded(gradients);
  }
}

} // namespace

Schedule rondo::placeGathers(const Problem &problem, const Schedule &schedule,
                             const Residencies &residencies) {
  return Placer(problem, schedule, residencies).run();
}

/// Bytes that a replica sends once an iteration to add its shard of the
/// gradients over the groups of its stage: a part of the shard to each other
/// group, and the sum of its own part.
static int64_t bytesAcross(const Problem &problem, int32_t replica) {
  const int32_t groups = sameShardOfGroups(problem, replica).count;
  return 2 * (shardOfGradients(problem, replica) / groups) * (groups - 1);
}

GatherCounts rondo::countGathers(const Problem &problem, ActionRange order) {
  GatherCounts counts;
  for (Action action : order) {
    if (!action.traits().movesState() || action.kind() == ActionKind::Reshard)
      continue;
    const Cost &cost = problem.cost(action.subject, action.kind());
    // A copy of the gathered weights in another dtype is not sent.
    const int64_t shards = problem.replicas[action.subject].shards,
                  sum = problem.cost(action.subject, ActionKind::ReduceGrad)
                            .releaseBytes,
                  whole = std::min(cost.acquireBytes + cost.releaseBytes, sum);
    ++(action.kind() == ActionKind::Unshard ? counts.gathers
                                            : counts.reductions);
    counts.bytes += whole / shards * (shards - 1);
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
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    if (!problem.replicas[replica].isSharded())
      continue;
    int64_t &bytes = largest[problem.rankOf(replica)];
    bytes = std::max(
        bytes, problem.cost(replica, ActionKind::Unshard).acquireBytes +
                   problem.cost(replica, ActionKind::ReduceGrad).releaseBytes);
    for (ActionKind kind :
         {ActionKind::Unshard, ActionKind::Reshard, ActionKind::ReduceGrad})
      whole.cost(replica, kind) = {};
    whole.replicas.makeWhole(replica);
  }
  whole.sharded.clear();
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    if (whole.memoryCaps[r] != noMemoryCap)
      whole.memoryCaps[r] =
          std::max<int64_t>(0, whole.memoryCaps[r] - largest[r]);
  return whole;
}
