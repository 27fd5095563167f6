//===- FamilyDrafts.cpp - Schedules of families, on all threads -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/FamilyDrafts.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/OrderSearch.h"
#include "schedule/search/Thinned.h"
#include "schedule/simulate/Objective.h"

#include <algorithm>

using namespace rondo;

Result<Judged> FamilyDrafts::write(size_t i) {
  if (!isWritten(i))
    drafts[i].written = Portfolio::write(i);
  return std::move(*drafts[i].written);
}

bool FamilyDrafts::mayThin(const Judged &given) const {
  const Schedule &schedule = given.schedule;
  return problem.iterations == 1 && !problem.replicas.areRoundRobin() &&
         !schedule.hasCounts() && !schedule.hasSteps() &&
         schedule.numActions() <= replayedTasks &&
         isThinnable(problem, schedule);
}

int64_t FamilyDrafts::freeObjective(const Judged &given) const {
  Problem free = problem;
  free.memoryCaps.assign(problem.memoryCaps.size(), noMemoryCap);
  Simulation simulation;
  return checkAndSimulate(free, given.schedule, simulation)
             ? never
             : objectiveOf(problem, simulation);
}

void FamilyDrafts::thin(size_t i, const Judged &given, Budget &part) {
  Draft &draft = drafts[i];
  draft.isThinned = true;
  draft.thinned.reset();
  const int64_t before = part.tasksUsed();
  if (auto fewer = thinned(problem, choices[i], given.schedule, part))
    draft.thinned = judge(problem, std::move(*fewer), inIndexOrder);
  draft.stepsOfThinning = part.tasksUsed() - before;
}

void FamilyDrafts::writeAhead(Workers &workers, Budget &budget, int64_t bound) {
  const int64_t tasks = problem.numTasks();
  const auto count = int64_t(size());
  std::atomic<int64_t> first{count}, least{never};
  auto lower = [](std::atomic<int64_t> &value, int64_t to) {
    for (int64_t known = value; to < known;)
      if (value.compare_exchange_weak(known, to))
        return;
  };
  std::vector<double> seconds(size());
  const double begin = budget.seconds();
  workers.forEach(count, [&](int32_t, int64_t i) {
    Budget part = budget.part(never);
    const double start = part.seconds();
    if (first < i ||
        !part.hasTimeFor((stepsOfJudging + 1) * tasks + stepsOf(i)))
      return;
    drafts[i].written = Portfolio::write(i);
    if (const Result<Judged> &judged = *drafts[i].written) {
      lower(least, judged->objective);
      if (judged->objective <= bound)
        lower(first, i);
      if (mayThin(*judged)) {
        drafts[i].freeNs = freeObjective(*judged);
        if (*drafts[i].freeNs < least)
          thin(i, *judged, part);
      }
    }
    seconds[i] = part.seconds() - start;
  });
  double together = 0;
  for (double each : seconds)
    together += each;
  budget.addSeconds(std::max(0.0, together - (budget.seconds() - begin)));
}

std::optional<Judged> FamilyDrafts::takeThinned(size_t i, const Judged &given,
                                                int64_t objective,
                                                Budget &budget) {
  Draft &draft = drafts[i];
  if (!mayThin(given) || budget.isSpent() ||
      !budget.hasTimeFor(2 * stepsOfJudging * given.schedule.numActions()))
    return std::nullopt;
  budget.use(stepsOfJudging * given.schedule.numActions());
  if (!draft.freeNs)
    draft.freeNs = freeObjective(given);
  if (*draft.freeNs >= objective)
    return std::nullopt;
  // Thinning ahead of the turn does not know the remaining effort: repeat it if
  // it has used more than that.
  if (!draft.isThinned || draft.stepsOfThinning >= budget.tasksLeft())
    thin(i, given, budget);
  else
    budget.use(draft.stepsOfThinning);
  if (draft.thinned)
    budget.use(draft.thinned->steps);
  return std::move(draft.thinned);
}
