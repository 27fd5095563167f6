//===- Portfolio.cpp - Orders of many families, judged --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/Portfolio.h"

#include "schedule/rules/Legality.h"
#include "schedule/search/LessMemory.h"
#include "schedule/search/Orders.h"
#include "schedule/search/Search.h"
#include "schedule/simulate/Objective.h"

#include <algorithm>

using namespace rondo;

Judged rondo::judge(const Problem &problem, Schedule schedule,
                    bool inIndexOrder) {
  Judged result;
  result.schedule = std::move(schedule);
  result.steps = result.schedule.numActions() / 8;
  if (!keepsCaps(problem, result.schedule))
    return result;
  result.steps = stepsOfJudging * result.schedule.numActions();
  if (!checkAndSimulate(problem, result.schedule, result.simulation) &&
      !(inIndexOrder && checkAccumulation(problem, result.schedule)))
    result.objective = objectiveOf(problem, result.simulation);
  return result;
}

bool rondo::takeOrder(const Problem &problem, const SearchOptions &options,
                      Schedule &schedule) {
  if (!problem.isUneven())
    return options.inIndexOrder;
  const bool hasOrder = ordersWeightGrads(options.orders);
  if (hasOrder && schedule.accumulation.empty())
    schedule.accumulation = orderByLength(problem, LengthOrder::Given);
  return hasOrder;
}

Judged rondo::judge(const Problem &problem, Schedule schedule,
                    const SearchOptions &options) {
  const bool inIndexOrder = takeOrder(problem, options, schedule);
  return judge(problem, std::move(schedule), inIndexOrder);
}

void rondo::appendVariants(std::vector<FamilyChoice> &choices,
                           const Problem &problem) {
  for (FamilyChoice &choice : familyVariants(problem))
    choices.push_back(std::move(choice));
}

void rondo::appendCopies(std::vector<FamilyChoice> &choices,
                         const Problem &problem) {
  if (!problem.hostMemory.hasCopies())
    return;
  for (size_t i = 0, count = choices.size(); i < count; ++i) {
    choices.push_back(choices[i]);
    choices.back().offload = OffloadOptions{OffloadOptions::Pairs::Fit, 0};
  }
}

void rondo::sortQuickFirst(std::vector<FamilyChoice> &choices,
                           const Problem &problem) {
  std::stable_sort(choices.begin(), choices.end(),
                   [&](const FamilyChoice &a, const FamilyChoice &b) {
                     return a.family->stepsBeyondTasks(problem) <
                            b.family->stepsBeyondTasks(problem);
                   });
}

Result<Judged> Portfolio::write(size_t i) {
  FamilyResult made = generate(choices[i], problem);
  if (!made)
    return std::move(made.fault());
  return judgeOrder(std::move(*made));
}

void Portfolio::forEach(const MayTry &mayTry, const Visit &visit,
                        const Refuse &refuse) {
  for (size_t i = 0; i < size(); ++i) {
    if (!mayTry(i))
      continue;
    Result<Judged> written = write(i);
    if (written)
      visit(i, std::move(*written));
    else if (refuse)
      refuse(written.fault());
  }
}
