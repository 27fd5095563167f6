//===- WeightSlots.cpp - S8: versions of the weights and their slots ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/program/Program.h"
#include "schedule/rules/ProgramRules.h"
#include "schedule/simulate/DelayTable.h"

using namespace rondo;

std::optional<Fault> rondo::checkWeightSlots(const Problem &problem,
                                             const Program &program,
                                             const DelayTable &delays) {
  if (auto fault = checkNames(problem, program, Rule::Versions))
    return fault;
  const int64_t each = problem.microbatchesEach();
  std::vector<int64_t> steps(problem.numReplicas(), 0);
  for (int32_t r = 0; r < program.order.numRanks(); ++r) {
    const ActionRange actions = program.order.rank(r);
    for (int64_t i = 0; i < actions.size(); ++i) {
      const Action action = actions[i];
      const int32_t replica = action.subject;
      if (action.kind() == ActionKind::Step)
        ++steps[replica];
      if (!action.isTask())
        continue;
      const int64_t m = action.index, newest = steps[replica];
      const int64_t read =
          m / each - delays.of(replica, action.kind())[delays.indexOf(m)];
      if (read > newest)
        return makeFaultAt<FaultKind::VersionNotMade>(Rule::Versions, r, i,
                                                      action, read, m, newest);
      const Place &place = program.place(replica, BufferKind::Weights);
      const auto slots = static_cast<int64_t>(place.slotOf.size());
      if (place.pool >= 0 && newest - read >= slots)
        return makeFaultAt<FaultKind::VersionOverwritten>(
            Rule::Versions, r, i, action, read, slots, newest);
    }
  }
  return std::nullopt;
}
