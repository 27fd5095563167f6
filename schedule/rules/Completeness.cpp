//===- Completeness.cpp - S1: every task once -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Legality.h"

#include <string>

using namespace rondo;

namespace {

constexpr uint8_t bitOf(ActionKind kind) {
  return static_cast<uint8_t>(1u << static_cast<int>(kind));
}
constexpr uint8_t forwardBit = bitOf(ActionKind::Forward),
                  inputGradBit = bitOf(ActionKind::InputGrad),
                  weightGradBit = bitOf(ActionKind::WeightGrad),
                  backwardBit = bitOf(ActionKind::Backward);

/// Fills in the first place where `action` stands; -1 where it does not.
void findFirst(const Schedule &schedule, Action action, int32_t &rank,
               int64_t &position) {
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange order = schedule.rank(r);
    for (int64_t i = 0; i < order.size(); ++i)
      if (order[i] == action) {
        rank = r;
        position = i;
        return;
      }
  }
}

/// What is wrong with a stage and micro-batch whose tasks are the bits `seen`,
/// each of them there once.
Violation judge(const Problem &problem, const Schedule &schedule, uint8_t seen,
                int32_t stage, int64_t microbatch) {
  Violation violation;
  violation.rule = Rule::Completeness;
  auto make = [&](ActionKind kind) { return Action(kind, stage, microbatch); };
  if ((seen & backwardBit) && (seen & (inputGradBit | weightGradBit))) {
    violation.what = Violation::What::Mixture;
    violation.action = make(seen & inputGradBit ? ActionKind::InputGrad
                                                : ActionKind::WeightGrad);
    violation.other = make(ActionKind::Backward);
    findFirst(schedule, violation.action, violation.rank, violation.position);
    findFirst(schedule, violation.other, violation.otherRank,
              violation.otherPosition);
    return violation;
  }
  violation.what = Violation::What::Missing;
  violation.rank = problem.homeOf(stage).rank;
  violation.action = make(!(seen & forwardBit)   ? ActionKind::Forward
                          : seen & inputGradBit  ? ActionKind::WeightGrad
                          : seen & weightGradBit ? ActionKind::InputGrad
                                                 : ActionKind::Backward);
  return violation;
}

} // namespace

std::optional<Violation> rondo::checkCompleteness(const Problem &problem,
                                                  const Schedule &schedule) {
  Violation violation;
  violation.rule = Rule::Completeness;
  if (schedule.numRanks() != problem.numRanks()) {
    violation.what = Violation::What::RankCount;
    violation.found = schedule.numRanks();
    violation.allowed = problem.numRanks();
    return violation;
  }
  const int64_t microbatches = problem.microbatches;
  std::vector<uint8_t> seen(problem.numStages() * microbatches);
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange order = schedule.rank(r);
    for (int64_t i = 0; i < order.size(); ++i) {
      Action action = order[i];
      violation.rank = r;
      violation.position = i;
      violation.action = action;
      if (!action.isTask()) {
        violation.what = Violation::What::UnsupportedKind;
        return violation;
      }
      if (static_cast<int64_t>(action.stage) >= problem.numStages() ||
          static_cast<int64_t>(action.index) >= microbatches ||
          action.replica != 0 || action.count != 1) {
        violation.what = Violation::What::UnknownTask;
        return violation;
      }
      uint8_t &bits = seen[action.stage * microbatches + action.index];
      if (bits & bitOf(action.kind())) {
        violation.what = Violation::What::Twice;
        violation.other = action;
        findFirst(schedule, action, violation.otherRank,
                  violation.otherPosition);
        return violation;
      }
      bits |= bitOf(action.kind());
    }
  }
  for (int32_t stage = 0; stage < problem.numStages(); ++stage)
    for (int64_t i = 0; i < microbatches; ++i) {
      uint8_t bits = seen[stage * microbatches + i];
      if (bits != (forwardBit | backwardBit) &&
          bits != (forwardBit | inputGradBit | weightGradBit))
        return judge(problem, schedule, bits, stage, i);
    }
  return std::nullopt;
}
