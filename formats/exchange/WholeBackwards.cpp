//===- WholeBackwards.cpp - Stages whose I and W become B -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/Adapt.h"

#include "schedule/rules/Legality.h"
#include "schedule/simulate/Simulator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Format.h"

using namespace rondo;
using namespace rondo::exchange;

namespace {

Action wholeOf(Action inputGrad) {
  return Action(ActionKind::Backward, int64_t(inputGrad.subject),
                int64_t(inputGrad.index));
}

/// `+1.2 %`.
std::string changeText(int64_t beforeNs, int64_t afterNs) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(
      "%+.1f %%", 100.0 * double(afterNs - beforeNs) / double(beforeNs));
  return text;
}

} // namespace

void exchange::renamePairs(ExchangedSchedule &schedule) {
  for (auto &[first, second] : schedule.overlap)
    if (second.kind() == ActionKind::InputGrad) {
      const ActionRange order = schedule.schedule.rank(
          schedule.problem.rankOf(int32_t(second.subject)));
      if (std::find(order.begin(), order.end(), wholeOf(second)) != order.end())
        second = wholeOf(second);
    }
}

std::optional<Fault>
exchange::runWholeBackwards(ExchangedSchedule &schedule,
                            const std::vector<int32_t> &stages,
                            std::vector<std::string> &notes) {
  const auto isWhole = [&](Action action, ActionKind kind) {
    return action.isTask() && action.kind() == kind &&
           llvm::is_contained(stages,
                              schedule.problem.replicas[action.subject].stage);
  };
  Schedule changed;
  changed.reserve(schedule.schedule.numActions());
  int64_t numWhole = 0;
  for (int32_t rank = 0; rank < schedule.schedule.numRanks(); ++rank) {
    for (Action action : schedule.schedule.rank(rank)) {
      if (isWhole(action, ActionKind::WeightGrad))
        continue;
      const bool isInputGrad = isWhole(action, ActionKind::InputGrad);
      numWhole += isInputGrad;
      changed.append(isInputGrad ? wholeOf(action) : action);
    }
    changed.endRank();
  }
  if (numWhole == 0) {
    notes.push_back("--backward: these stages have no I and W");
    return std::nullopt;
  }
  changed.linkOrders = schedule.schedule.linkOrders;
  for (auto &[pair, producers] : changed.linkOrders)
    for (Action &producer : producers)
      if (isWhole(producer, ActionKind::InputGrad))
        producer = wholeOf(producer);
  if (std::optional<Fault> fault = checkSchedule(schedule.problem, changed))
    return fail("with whole backwards in these stages the schedule breaks a "
                "rule: " +
                describe(*fault, schedule.problem));
  const int64_t beforeNs =
      simulate(schedule.problem, schedule.schedule).makespanNs;
  const int64_t afterNs = simulate(schedule.problem, changed).makespanNs;
  notes.push_back("--backward: " + std::to_string(numWhole) +
                  " I and W became B; predicted " + std::to_string(beforeNs) +
                  " ns before, " + std::to_string(afterNs) + " ns after (" +
                  changeText(beforeNs, afterNs) + ")");
  schedule.schedule = std::move(changed);
  renamePairs(schedule);
  return std::nullopt;
}

std::optional<Fault>
exchange::changeBackwards(ExchangedSchedule &schedule,
                          const ExportOptions &options,
                          std::vector<std::string> &notes) {
  if (!options.wholeStages.empty())
    if (std::optional<Fault> fault =
            runWholeBackwards(schedule, options.wholeStages, notes))
      return fault;
  if (options.fuse)
    fuseBackwards(schedule, notes);
  return std::nullopt;
}
