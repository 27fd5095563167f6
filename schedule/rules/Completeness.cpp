//===- Completeness.cpp - S1: every task once -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/Legality.h"
#include "schedule/rules/ProgramRules.h"

#include <algorithm>

using namespace rondo;

namespace {

constexpr Rule rule = Rule::Completeness;

constexpr uint8_t bitOf(ActionKind kind) {
  return static_cast<uint8_t>(1u << static_cast<int>(kind));
}
constexpr uint8_t forwardBit = bitOf(ActionKind::Forward),
                  inputGradBit = bitOf(ActionKind::InputGrad),
                  weightGradBit = bitOf(ActionKind::WeightGrad),
                  backwardBit = bitOf(ActionKind::Backward),
                  recomputeBit = bitOf(ActionKind::Recompute);

/// Whether `action` is the task `one`, which has count 1, or a B that includes
/// it.
constexpr bool serves(Action action, Action one) {
  return action.kind() == one.kind() && action.subject == one.subject &&
         one.index >= action.index && one.index < action.index + action.count;
}

struct Position {
  int32_t rank = -1;
  int64_t position = -1;
};

/// The first position of `action`; -1 if it is missing.
Position findFirst(const Schedule &schedule, Action action) {
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange order = schedule.rank(r);
    for (int64_t i = 0; i < order.size(); ++i)
      if (serves(order[i], action))
        return {r, i};
  }
  return {};
}

/// Whether the tasks of one replica and micro-batch are complete. `seen` has
/// one bit per kind. `recomputes` is the replica's bit of R, if it has that
/// task.
constexpr bool isComplete(uint8_t seen, uint8_t recomputes) {
  return seen == (forwardBit | recomputes | backwardBit) ||
         seen == (forwardBit | recomputes | inputGradBit | weightGradBit);
}

/// The number of missing tasks. Counts B as one task if there is no backward at
/// all.
constexpr int64_t numMissing(uint8_t seen, uint8_t recomputes) {
  const bool hasInputGrad = seen & inputGradBit,
             hasWeightGrad = seen & weightGradBit;
  return !(seen & forwardBit) + ((recomputes & ~seen) != 0) +
         (!(seen & backwardBit) && !(hasInputGrad && hasWeightGrad));
}

/// Number of tasks that a schedule lacks.
struct Extent {
  int64_t tasks = 0;
  /// Micro-batches of the problem, and of the schedule if it has fewer; else 0.
  int64_t microbatches = 0, ordered = 0;
};

uint8_t recomputeOf(const Problem &problem, int32_t replica) {
  return problem.recomputes(replica) ? recomputeBit : 0;
}

/// `seen` is [replica * microbatches + microbatch].
Extent extentOf(const Problem &problem, const std::vector<uint8_t> &seen) {
  const int64_t microbatches = problem.microbatches;
  Extent extent;
  int64_t ordered = 0;
  for (size_t place = 0; place < seen.size(); ++place) {
    const auto replica = static_cast<int32_t>(place / microbatches);
    if (problem.replicas[replica].takes(int64_t(place) % microbatches))
      extent.tasks += numMissing(seen[place], recomputeOf(problem, replica));
    if (seen[place] != 0)
      ordered = std::max<int64_t>(ordered, int64_t(place) % microbatches + 1);
  }
  if (ordered > 0 && ordered < microbatches) {
    extent.microbatches = microbatches;
    extent.ordered = ordered;
  }
  return extent;
}

/// The fault of a replica and micro-batch whose tasks are the bits `seen`, each
/// found once.
Fault judge(const Problem &problem, const Schedule &schedule, uint8_t seen,
            int32_t replica, int64_t microbatch, const Extent &extent) {
  auto make = [&](ActionKind kind) {
    return Action(kind, replica, microbatch);
  };
  if ((seen & backwardBit) && (seen & (inputGradBit | weightGradBit))) {
    const Action part = make(seen & inputGradBit ? ActionKind::InputGrad
                                                 : ActionKind::WeightGrad);
    const Position whole = findFirst(schedule, make(ActionKind::Backward)),
                   one = findFirst(schedule, part);
    return makeFaultAt<FaultKind::Mixture>(rule, one.rank, one.position, part)
        .withOther(whole.rank, whole.position, make(ActionKind::Backward));
  }
  const int32_t rank = problem.rankOf(replica);
  const int64_t others = extent.tasks - 1;
  if ((seen & forwardBit) &&
      !(seen & (inputGradBit | weightGradBit | backwardBit)))
    return makeFaultAt<FaultKind::MissingBackward>(
        rule, rank, -1, make(ActionKind::Backward), others, extent.microbatches,
        extent.ordered, make(ActionKind::InputGrad),
        make(ActionKind::WeightGrad));
  return makeFaultAt<FaultKind::MissingTask>(
      rule, rank, -1,
      make(!(seen & forwardBit)                    ? ActionKind::Forward
           : recomputeOf(problem, replica) & ~seen ? ActionKind::Recompute
           : seen & inputGradBit                   ? ActionKind::WeightGrad
                                                   : ActionKind::InputGrad),
      others, extent.microbatches, extent.ordered);
}

using Found = std::optional<Fault>;

/// Records the tasks and steps of the orders.
class Inventory {
public:
  Inventory(const Problem &problem, const Schedule &schedule)
      : problem(problem), schedule(schedule),
        microbatches(problem.microbatches),
        seen(problem.numReplicas() * microbatches),
        seenSteps(size_t(problem.numReplicas()) * problem.iterations) {}

  /// Records all actions. A fault if the problem lacks an action or it appears
  /// twice.
  Found takeStock();
  /// Check that no task and no step is missing.
  Found checkTasks() const;
  Found checkSteps() const;

private:
  Found checkExists(Action action) const;
  Found checkCount(Action action) const;
  Found note(Action action);

  template <FaultKind kind, typename... Parts>
  Fault fault(Action action, const Parts &...parts) const {
    return makeFaultAt<kind>(rule, rank, position, action, parts...);
  }
  /// Cites the first position of `action` as the conflicting one.
  Fault besideFirst(Fault fault, Action action) const {
    const Position first = findFirst(schedule, action);
    return std::move(fault).withOther(first.rank, first.position, action);
  }

  const Problem &problem;
  const Schedule &schedule;
  const int64_t microbatches;
  /// [replica * microbatches + microbatch]: bits of the kinds of its tasks.
  std::vector<uint8_t> seen;
  /// [replica * iterations + iteration].
  std::vector<uint8_t> seenSteps;
  std::optional<Action> firstStep;
  /// Rank and position of the current action.
  int32_t rank = 0;
  int64_t position = 0;
};

Found Inventory::takeStock() {
  for (rank = 0; rank < schedule.numRanks(); ++rank) {
    const ActionRange order = schedule.rank(rank);
    for (position = 0; position < order.size(); ++position) {
      const Action action = order[position];
      if (Found wrong = checkExists(action))
        return wrong;
      // Rules S9 and S10 check gathers, reductions and copies.
      if (action.traits().movesState() || action.traits().isCopy())
        continue;
      if (Found wrong = checkCount(action))
        return wrong;
      if (Found wrong = note(action))
        return wrong;
    }
  }
  return std::nullopt;
}

/// Checks that the problem has such an action.
Found Inventory::checkExists(Action action) const {
  if (!action.traits().hasCost())
    return fault<FaultKind::UnsupportedKind>(action);
  const bool isReplica = int64_t(action.subject) < problem.numReplicas();
  const bool isStep = action.kind() == ActionKind::Step;
  const int64_t numIndices = isStep ? problem.iterations : microbatches;
  if (isReplica && (action.traits().movesState() ||
                    (action.count > 0 &&
                     int64_t(action.index) + action.count <= numIndices)))
    return std::nullopt;
  const int32_t lastStage = problem.numStages() - 1;
  return isStep ? fault<FaultKind::UnknownStep>(action, int64_t(action.index),
                                                lastStage, problem.iterations)
                : fault<FaultKind::UnknownTask>(action, lastStage,
                                                microbatches - 1);
}

/// Checks that only a B serves several micro-batches, all of one iteration, and
/// that an R is on a replica that recomputes.
Found Inventory::checkCount(Action action) const {
  if (action.count > 1) {
    if (action.kind() != ActionKind::Backward)
      return fault<FaultKind::CountOfKind>(action, int64_t(action.count));
    const int64_t each = problem.microbatchesEach();
    if (int64_t(action.index) / each !=
        int64_t(action.index + action.count - 1) / each)
      return fault<FaultKind::CountOverIterations>(action, each);
  }
  if (action.kind() == ActionKind::Recompute &&
      !problem.recomputes(static_cast<int32_t>(action.subject)))
    return fault<FaultKind::NotRecomputed>(action);
  return std::nullopt;
}

/// Records an action. Checks that each of its micro-batches belongs to the
/// replica and is seen once.
Found Inventory::note(Action action) {
  const bool isTask = action.isTask();
  const Replica &replica =
      problem.replicas[static_cast<int32_t>(action.subject)];
  const uint8_t bit = isTask ? bitOf(action.kind()) : 1;
  for (int64_t index = action.index, end = index + action.count; index < end;
       ++index) {
    if (isTask && !replica.takes(index))
      return fault<FaultKind::RoundRobinElsewhere>(
          action,
          problem.replicas.of(replica.stage).first[index % replica.turns].rank,
          index);
    uint8_t &bits =
        isTask ? seen[action.subject * microbatches + index]
               : seenSteps[action.subject * problem.iterations + index];
    if (bits & bit) {
      const Action twin(action.kind(), action.subject, index);
      return besideFirst(fault<FaultKind::Twice>(twin), twin);
    }
    bits |= bit;
  }
  if (!isTask && !firstStep)
    firstStep = action;
  return std::nullopt;
}

Found Inventory::checkTasks() const {
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    for (int64_t i = 0; i < microbatches; ++i) {
      const uint8_t bits = seen[replica * microbatches + i];
      if (problem.replicas[replica].takes(i) &&
          !isComplete(bits, recomputeOf(problem, replica)))
        return judge(problem, schedule, bits, replica, i,
                     extentOf(problem, seen));
    }
  return std::nullopt;
}

Found Inventory::checkSteps() const {
  if (!firstStep && problem.iterations == 1)
    return std::nullopt;
  const auto missing = std::find(seenSteps.begin(), seenSteps.end(), 0);
  if (missing == seenSteps.end())
    return std::nullopt;
  const int64_t place = missing - seenSteps.begin();
  const auto replica = static_cast<int32_t>(place / problem.iterations);
  const Action step(ActionKind::Step, replica, place % problem.iterations);
  if (problem.iterations > 1)
    return makeFaultAt<FaultKind::MissingStepOfIteration>(
        rule, problem.rankOf(replica), -1, step, int64_t(step.index),
        problem.iterations);
  return besideFirst(makeFaultAt<FaultKind::MissingStep>(
                         rule, problem.rankOf(replica), -1, step),
                     *firstStep);
}

} // namespace

std::optional<Fault> rondo::checkCompleteness(const Problem &problem,
                                              const Schedule &schedule) {
  if (schedule.numRanks() != problem.numRanks())
    return makeRuleFault<FaultKind::RankCount>(rule).withFigures(
        schedule.numRanks(), problem.numRanks());
  Inventory inventory(problem, schedule);
  if (Found wrong = inventory.takeStock())
    return wrong;
  if (Found wrong = inventory.checkTasks())
    return wrong;
  return inventory.checkSteps();
}
