//===- PlaceGathersByUnit.cpp - Gathers for units of micro-batches --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/gathers/PlaceGathers.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

using namespace rondo;

namespace {

/// Range of positions [first, last] in a rank's order that use one gather of a
/// chunk's weights.
struct Phase {
  int32_t replica = 0;
  bool isForward = false;
  int64_t first = 0, last = 0;
  /// Position of the action before which the gather is issued.
  int64_t gathered = 0;
};

class UnitPlacer {
public:
  UnitPlacer(const Problem &problem, const Schedule &schedule, int64_t unit)
      : problem(problem), schedule(schedule), unit(unit),
        numbers(size_t(problem.numReplicas()) * 3, 0) {}

  Schedule run() {
    result.reserve(schedule.numActions());
    for (int32_t r = 0; r < schedule.numRanks(); ++r) {
      writeRank(schedule.rank(r));
      result.endRank();
    }
    result.linkOrders = schedule.linkOrders;
    return std::move(result);
  }

private:
  bool isTaskOfSharded(Action action) const {
    return action.isTask() && problem.replicas[action.subject].isSharded();
  }
  std::vector<Phase> phasesOf(ActionRange order) const;
  std::vector<Phase> merged(const std::vector<Phase> &phases,
                            ActionRange order) const;
  std::vector<std::pair<int64_t, int32_t>>
  reductionsOf(ActionRange order) const;
  void writeRank(ActionRange order);
  void emit(ActionKind kind, int32_t replica) {
    int64_t &number = numbers[replica * 3 + static_cast<int>(kind) -
                              static_cast<int>(ActionKind::Unshard)];
    result.append(Action(kind, replica, number++));
  }

  const Problem &problem;
  const Schedule &schedule;
  const int64_t unit;
  /// [replica * 3 + kind]: next number.
  std::vector<int64_t> numbers;
  Schedule result;
};

/// The replica of the next F, I or B from a position on; -1: none.
int64_t nextReplica(ActionRange order, int64_t from) {
  for (int64_t i = from; i < order.size(); ++i)
    if (order[i].isTask() && (order[i].kind() == ActionKind::Forward ||
                              (order[i].traits().makes & inputGradDone)))
      return order[i].subject;
  return -1;
}

} // namespace

/// The phases of a rank, by first position: for each replica and unit, its Fs
/// and its other tasks. One phase for a stage that does not shard weights.
std::vector<Phase> UnitPlacer::phasesOf(ActionRange order) const {
  // Keyed by replica, unit, and whether the tasks are not F.
  std::map<std::tuple<int32_t, int64_t, bool>, size_t> known;
  std::vector<Phase> phases;
  for (int64_t i = 0; i < order.size(); ++i) {
    if (!isTaskOfSharded(order[i]))
      continue;
    const auto replica = static_cast<int32_t>(order[i].subject);
    const bool isForward = order[i].kind() == ActionKind::Forward,
               isOne = problem.shardedState(replica) != ShardedState::Weights;
    auto [place, isNew] = known.insert(
        {isOne
             ? std::tuple(replica, int64_t(0), false)
             : std::tuple(replica, int64_t(order[i].index) / unit, !isForward),
         phases.size()});
    if (isNew)
      phases.push_back({replica, isForward, i, i});
    phases[place->second].last = i;
  }
  return phases;
}

/// Merges phases that share a gather. A phase is gathered when the rank's phase
/// before it begins, but after the chunk's own earlier phase.
std::vector<Phase> UnitPlacer::merged(const std::vector<Phase> &phases,
                                      ActionRange order) const {
  std::vector<Phase> result;
  // [replica]: index into `result`.
  std::map<int32_t, size_t> latest;
  int64_t ahead = phases.empty() ? 0 : phases.front().first;
  for (Phase phase : phases) {
    phase.gathered = std::exchange(ahead, phase.first);
    auto before = latest.find(phase.replica);
    if (before != latest.end()) {
      Phase &earlier = result[before->second];
      const bool follows =
          earlier.isForward && !phase.isForward &&
          nextReplica(order, earlier.last + 1) == phase.replica;
      phase.gathered = std::max(phase.gathered, earlier.last + 1);
      // A chunk that would be gathered again as soon as it is freed stays.
      if (follows || phase.gathered == earlier.last + 1) {
        earlier.last = std::max(earlier.last, phase.last);
        earlier.isForward = phase.isForward;
        continue;
      }
    }
    latest[phase.replica] = result.size();
    result.push_back(phase);
  }
  return result;
}

/// Pairs of a position and a replica: the replica's gradients are reduced after
/// the action at the position.
std::vector<std::pair<int64_t, int32_t>>
UnitPlacer::reductionsOf(ActionRange order) const {
  // Keyed by replica and unit.
  std::map<std::pair<int32_t, int64_t>, int64_t> last;
  for (int64_t i = 0; i < order.size(); ++i)
    if (isTaskOfSharded(order[i]) &&
        (order[i].traits().makes & weightGradDone)) {
      const auto replica = static_cast<int32_t>(order[i].subject);
      const bool isOnce =
          problem.shardedState(replica) == ShardedState::Optimizer;
      last[{replica, isOnce ? 0 : int64_t(order[i].index) / unit}] = i;
    }
  std::vector<std::pair<int64_t, int32_t>> result;
  for (const auto &[key, position] : last)
    result.push_back({position, key.first});
  std::sort(result.begin(), result.end());
  return result;
}

void UnitPlacer::writeRank(ActionRange order) {
  const std::vector<Phase> phases = merged(phasesOf(order), order);
  const auto reductions = reductionsOf(order);
  // Sorted by position; ties keep the order of the phases.
  std::vector<std::pair<int64_t, int32_t>> gathers, frees;
  for (const Phase &phase : phases) {
    gathers.push_back({phase.gathered, phase.replica});
    frees.push_back({phase.last, phase.replica});
  }
  auto isEarlier = [](const auto &a, const auto &b) {
    return a.first < b.first;
  };
  std::stable_sort(gathers.begin(), gathers.end(), isEarlier);
  std::stable_sort(frees.begin(), frees.end(), isEarlier);
  auto gather = gathers.begin(), freed = frees.begin();
  auto reduced = reductions.begin();
  for (int64_t i = 0; i < order.size(); ++i) {
    for (; gather != gathers.end() && gather->first == i; ++gather)
      emit(ActionKind::Unshard, gather->second);
    result.append(order[i]);
    for (; freed != frees.end() && freed->first == i; ++freed)
      emit(ActionKind::Reshard, freed->second);
    for (; reduced != reductions.end() && reduced->first == i; ++reduced)
      emit(ActionKind::ReduceGrad, reduced->second);
  }
}

Schedule rondo::placeGathersByUnit(const Problem &problem,
                                   const Schedule &schedule, int64_t unit) {
  return UnitPlacer(problem, schedule, unit).run();
}
