//===- Completeness.cpp - S1: every task once -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/Legality.h"

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

/// Whether an action of an order is `one`, which has count 1, or holds it.
constexpr bool serves(Action action, Action one) {
  return action.kind() == one.kind() && action.subject == one.subject &&
         one.index >= action.index && one.index < action.index + action.count;
}

/// Fills in the first place where `action` stands; -1 where it does not.
void findFirst(const Schedule &schedule, Action action, int32_t &rank,
               int64_t &position) {
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange order = schedule.rank(r);
    for (int64_t i = 0; i < order.size(); ++i)
      if (serves(order[i], action)) {
        rank = r;
        position = i;
        return;
      }
  }
}

/// The tasks of one replica and micro-batch: bits by kind, each seen once.
/// `recomputes` is the replica's bit of R, if it has that task.
constexpr bool isComplete(uint8_t seen, uint8_t recomputes) {
  return seen == (forwardBit | recomputes | backwardBit) ||
         seen == (forwardBit | recomputes | inputGradBit | weightGradBit);
}

/// How many are missing, where B counts as one if there is no backward at all.
constexpr int64_t numMissing(uint8_t seen, uint8_t recomputes) {
  const bool hasInputGrad = seen & inputGradBit,
             hasWeightGrad = seen & weightGradBit;
  return !(seen & forwardBit) + ((recomputes & ~seen) != 0) +
         (!(seen & backwardBit) && !(hasInputGrad && hasWeightGrad));
}

/// How much is missing from a schedule.
struct Extent {
  int64_t tasks = 0;
  /// Of the problem and of the schedule, if the schedule ends before the
  /// problem does; else 0.
  int64_t microbatches = 0, ordered = 0;
};

uint8_t recomputeOf(const Problem &problem, int32_t replica) {
  return problem.recomputes(replica) ? recomputeBit : 0;
}

/// `seen` is by replica and micro-batch.
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

/// What is wrong with a replica and micro-batch whose tasks are the bits
/// `seen`, each of them there once.
Fault judge(const Problem &problem, const Schedule &schedule, uint8_t seen,
            int32_t replica, int64_t microbatch, const Extent &extent) {
  auto make = [&](ActionKind kind) {
    return Action(kind, replica, microbatch);
  };
  if ((seen & backwardBit) && (seen & (inputGradBit | weightGradBit))) {
    Fault fault = makeRuleFault<FaultKind::Mixture>(rule);
    fault.action = make(seen & inputGradBit ? ActionKind::InputGrad
                                            : ActionKind::WeightGrad);
    fault.other = make(ActionKind::Backward);
    findFirst(schedule, fault.action, fault.rank, fault.position);
    findFirst(schedule, fault.other, fault.otherRank, fault.otherPosition);
    return fault;
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

} // namespace

std::optional<Fault> rondo::checkCompleteness(const Problem &problem,
                                              const Schedule &schedule) {
  if (schedule.numRanks() != problem.numRanks()) {
    Fault fault = makeRuleFault<FaultKind::RankCount>(rule);
    fault.found = schedule.numRanks();
    fault.allowed = problem.numRanks();
    return fault;
  }
  const int64_t microbatches = problem.microbatches;
  std::vector<uint8_t> seen(problem.numReplicas() * microbatches);
  // By replica and iteration.
  std::vector<uint8_t> seenSteps(size_t(problem.numReplicas()) *
                                 problem.iterations);
  std::optional<Action> firstStep;
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange order = schedule.rank(r);
    for (int64_t i = 0; i < order.size(); ++i) {
      Action action = order[i];
      if (!action.traits().hasCost())
        return makeFaultAt<FaultKind::UnsupportedKind>(rule, r, i, action);
      if (action.traits().movesState()) {
        // S9 looks at the rest.
        if (static_cast<int64_t>(action.subject) >= problem.numReplicas())
          return makeFaultAt<FaultKind::UnknownTask>(
              rule, r, i, action, problem.numStages() - 1, microbatches - 1);
        continue;
      }
      const bool isTask = action.isTask();
      if (static_cast<int64_t>(action.subject) >= problem.numReplicas() ||
          action.count == 0 ||
          static_cast<int64_t>(action.index) + action.count >
              (isTask ? microbatches : problem.iterations))
        return isTask ? makeFaultAt<FaultKind::UnknownTask>(
                            rule, r, i, action, problem.numStages() - 1,
                            microbatches - 1)
                      : makeFaultAt<FaultKind::UnknownStep>(
                            rule, r, i, action, int64_t(action.index),
                            problem.numStages() - 1, problem.iterations);
      if (action.count > 1) {
        if (action.kind() != ActionKind::Backward)
          return makeFaultAt<FaultKind::CountOfKind>(rule, r, i, action,
                                                     int64_t(action.count));
        const int64_t each = problem.microbatchesEach();
        if (int64_t(action.index) / each !=
            int64_t(action.index + action.count - 1) / each)
          return makeFaultAt<FaultKind::CountOverIterations>(rule, r, i, action,
                                                             each);
      }
      if (action.kind() == ActionKind::Recompute &&
          !problem.recomputes(static_cast<int32_t>(action.subject)))
        return makeFaultAt<FaultKind::NotRecomputed>(rule, r, i, action);
      const Replica &replica =
          problem.replicas[static_cast<int32_t>(action.subject)];
      const uint8_t bit = isTask ? bitOf(action.kind()) : 1;
      for (int64_t index = action.index, end = index + action.count;
           index < end; ++index) {
        if (isTask && !replica.takes(index))
          return makeFaultAt<FaultKind::RoundRobinElsewhere>(
              rule, r, i, action,
              problem.replicas.of(replica.stage)
                  .first[index % replica.turns]
                  .rank,
              index);
        uint8_t &bits =
            isTask ? seen[action.subject * microbatches + index]
                   : seenSteps[action.subject * problem.iterations + index];
        if (bits & bit) {
          Fault fault = makeFaultAt<FaultKind::Twice>(rule, r, i, action);
          fault.action = Action(action.kind(), action.subject, index);
          fault.other = fault.action;
          findFirst(schedule, fault.action, fault.otherRank,
                    fault.otherPosition);
          return fault;
        }
        bits |= bit;
      }
      if (!isTask && !firstStep)
        firstStep = action;
    }
  }
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    for (int64_t i = 0; i < microbatches; ++i) {
      uint8_t bits = seen[replica * microbatches + i];
      if (problem.replicas[replica].takes(i) &&
          !isComplete(bits, recomputeOf(problem, replica)))
        return judge(problem, schedule, bits, replica, i,
                     extentOf(problem, seen));
    }
  if (!firstStep && problem.iterations == 1)
    return std::nullopt;
  for (size_t place = 0; place < seenSteps.size(); ++place) {
    if (seenSteps[place])
      continue;
    const auto replica = static_cast<int32_t>(place / problem.iterations);
    const Action step(ActionKind::Step, replica, place % problem.iterations);
    if (problem.iterations > 1)
      return makeFaultAt<FaultKind::MissingStepOfIteration>(
          rule, problem.rankOf(replica), -1, step, int64_t(step.index),
          problem.iterations);
    Fault fault = makeFaultAt<FaultKind::MissingStep>(
        rule, problem.rankOf(replica), -1, step);
    fault.other = *firstStep;
    findFirst(schedule, *firstStep, fault.otherRank, fault.otherPosition);
    return fault;
  }
  return std::nullopt;
}
