//===- PlanTrial.cpp - The best known schedule of a plan ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/PlanTrial.h"

#include "planning/FitLoop.h"
#include "planning/PlanArenas.h"
#include "planning/PlanCandidates.h"
#include "schedule/families/Replicas.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/Portfolio.h"

#include <algorithm>

using namespace rondo;

/// The number of fitting schedules that are compared as programs; one if they
/// have more than maxActionsOfSeveral actions.
static constexpr int32_t maxProved = 3;
static constexpr int64_t maxActionsOfSeveral = 50000;
/// The number of schedules of a plan that get copies, and how often each does:
/// again if its programs do not fit.
static constexpr int32_t maxCopied = 6;
static constexpr int64_t maxCopyAttempts = 4;

namespace {

struct Written {
  std::string family;
  Judged judged;
  /// [group]: the largest excess of a rank over its memory; at most 0 if it
  /// fits.
  std::vector<int64_t> excessBytes;
  /// Activations of the rank that holds most.
  int64_t heldBytes = 0;
};

} // namespace

/// [group]: the largest excess of state alone over a device, in bytes.
static std::vector<int64_t> excessOfState(const Problem &problem,
                                          const Problem &groups) {
  std::vector<int64_t> excess(groups.numRanks());
  if (problem.devices.empty())
    return excess;
  for (const Replica &replica : problem.replicas) {
    const DeviceMemory &device = problem.devices[replica.rank];
    int64_t &most = excess[groups.replicas.of(replica.stage).begin()->rank];
    most = std::max(most, device.stateBytes - device.deviceBytes);
  }
  return excess;
}

static void findExcess(const Problem &groups,
                       const std::vector<int64_t> &ofState, Written &written) {
  written.excessBytes.assign(groups.numRanks(), 0);
  for (int32_t group = 0; group < groups.numRanks(); ++group)
    if (groups.memoryCaps[group] != noMemoryCap)
      written.excessBytes[group] = written.judged.simulation.peakBytes[group] -
                                   groups.memoryCaps[group] + ofState[group];
}

/// The schedules of all families for groups of ranks, the fastest first; of
/// equals, the one with the least memory.
static std::vector<Written> writeAll(const Problem &problem,
                                     const Problem &groups,
                                     const std::vector<FamilyChoice> &choices,
                                     std::string &reason) {
  const std::vector<int64_t> excess = excessOfState(problem, groups);
  std::vector<Written> all;
  // Keeps orders that exceed caps, to find the missing memory.
  auto judge = [&](Schedule schedule) {
    Judged judged;
    std::optional<Fault> fault = checkAccumulation(groups, schedule);
    if (!fault)
      fault = checkAndSimulate(groups, schedule, judged.simulation);
    if (fault && fault->rule != Rule::Memory)
      reason = describe(*fault, groups);
    else
      judged.objective = judged.simulation.makespanNs;
    judged.schedule = std::move(schedule);
    return judged;
  };
  Portfolio families(groups, choices, judge);
  families.forEach(
      [&](size_t i) { return families.stepsOf(i) <= maxFamilySteps; },
      [&](size_t i, Judged judged) {
        if (!judged.isLegal())
          return;
        const std::vector<int64_t> &peaks = judged.simulation.peakBytes;
        Written written;
        written.family = families.choice(i).text();
        written.heldBytes = *std::max_element(peaks.begin(), peaks.end());
        written.judged = std::move(judged);
        findExcess(groups, excess, written);
        all.push_back(std::move(written));
      },
      [&](const Fault &fault) { reason = describe(fault); });
  std::stable_sort(all.begin(), all.end(),
                   [](const Written &a, const Written &b) {
                     return std::pair(a.judged.objective, a.heldBytes) <
                            std::pair(b.judged.objective, b.heldBytes);
                   });
  return all;
}

static int64_t largestOf(const std::vector<int64_t> &bytes) {
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

/// [group]: the largest of the values of its ranks.
static std::vector<int64_t> byGroup(const ModelPlan &plan,
                                    const std::vector<int64_t> &ofRank) {
  std::vector<int64_t> values;
  for (int32_t stage : plan.firstStages()) {
    int64_t &most = values.emplace_back(0);
    for (int32_t rank : plan.stages[stage].devices)
      most = std::max(most, ofRank[rank]);
  }
  return values;
}

void PlanTrial::noteShortage(const std::vector<int64_t> &excessBytes,
                             const std::vector<int64_t> &arenas) {
  neededBytes = 0;
  for (size_t rank = 0; rank < arenas.size(); ++rank)
    if (excessBytes[rank] > 0)
      neededBytes = std::max(neededBytes, arenas[rank]);
  missingBytes = largestOf(excessBytes);
  shortRank = static_cast<int32_t>(
      std::max_element(excessBytes.begin(), excessBytes.end()) -
      excessBytes.begin());
}

bool PlanTrial::improve(Schedule other, std::string name) {
  ProvedPrograms proved = provePrograms(laid.figures, laid.problem, other);
  return take(std::move(other), std::move(name), std::move(proved));
}

bool PlanTrial::take(Schedule other, std::string name, ProvedPrograms proved) {
  if (proved.fault) {
    std::vector<int64_t> excess;
    if (proved.isOverCap())
      excess = excessOver(laid.figures.devices, proved.arenaBytes);
    const int64_t missing = largestOf(excess);
    if (!fits()) {
      if (missing > 0)
        misfits.push_back({std::move(name), 0, {}, byGroup(laid.plan, excess)});
      if (missing > 0 && (missingBytes == 0 || missing < missingBytes))
        noteShortage(excess, proved.arenaBytes);
      reason = describeFault(proved, laid.problem);
    }
    return false;
  }
  if (fits() && proved.iterationNs >= timeNs)
    return false;
  schedule = std::move(other);
  family = std::move(name);
  isOwnOrder = family.empty();
  timeNs = proved.iterationNs;
  arenaBytes = std::move(proved.arenaBytes);
  hostBytes = std::move(proved.pipeline.hostArenaBytes);
  missingBytes = 0;
  reason.clear();
  return true;
}

std::optional<Misfit> PlanTrial::improveByCopies(const Schedule &plain,
                                                 const std::string &choice,
                                                 OffloadOptions::Pairs pairs,
                                                 int64_t ceilingNs) {
  using Caps = std::vector<int64_t>;
  const Problem &problem = laid.problem;
  Problem lowered = problem;
  std::optional<Misfit> misfit;
  lowerUntilFitting(
      problem.memoryCaps, maxCopyAttempts, [](int64_t) { return false; },
      [&](int64_t number, const Caps &caps) -> std::optional<Caps> {
        lowered.memoryCaps = caps;
        Schedule copied = withCopies(lowered, plain, {pairs, 0});
        Simulation run;
        const std::optional<Fault> fault =
            checkAndSimulate(problem, copied, run);
        if (fault && fault->rule != Rule::Memory) {
          reason = describe(*fault, problem);
          return std::nullopt;
        }
        std::vector<int64_t> excess =
            excessOver(problem.memoryCaps, run.peakBytes);
        misfit = {choice + ":" + offloadName + "=" +
                      offloadWords[static_cast<int>(pairs)],
                  run.makespanNs, byGroup(laid.plan, run.peakBytes),
                  byGroup(laid.plan, excess)};
        if (fault || !copied.hasCopies() || run.makespanNs > ceilingNs)
          return std::nullopt;
        ProvedPrograms proved = provePrograms(laid.figures, problem, copied);
        if (proved.isOverCap()) {
          excess = excessOver(laid.figures.devices, proved.arenaBytes);
          misfit->excessBytes = byGroup(laid.plan, excess);
          Caps next = caps;
          for (size_t rank = 0; rank < next.size(); ++rank)
            next[rank] = next[rank] == noMemoryCap
                             ? noMemoryCap
                             : std::max<int64_t>(0, next[rank] - excess[rank]);
          return next;
        }
        if (take(std::move(copied), misfit->family, std::move(proved)))
          isOwnOrder = number > 0;
        misfit.reset();
        return std::nullopt;
      });
  return misfit;
}

PlanTrial rondo::tryPlan(LaidPlan laid,
                         const std::vector<FamilyChoice> &choices,
                         int64_t ceilingNs) {
  PlanTrial trial;
  trial.laid = std::move(laid);
  const Problem &problem = trial.laid.problem;
  const Result<RankGroups> found = RankGroups::of(problem);
  if (!found) {
    trial.reason = describe(found.fault());
    return trial;
  }
  const auto &groups = *found;
  const Problem ofGroups = groups.groupProblem();
  std::string reason;
  std::vector<Written> all = writeAll(problem, ofGroups, choices, reason);
  int32_t proved = 0, copied = 0;
  for (Written &written : all) {
    const int64_t missing = largestOf(written.excessBytes);
    if (missing > 0) {
      if (!trial.fits() &&
          (trial.missingBytes == 0 || missing < trial.missingBytes)) {
        trial.missingBytes = missing;
        trial.shortRank = -1;
      }
      if (!trial.fits())
        trial.misfits.push_back({written.family, written.judged.objective,
                                 written.judged.simulation.peakBytes,
                                 written.excessBytes});
      if (!problem.hostMemory.hasCopies() || copied == maxCopied ||
          written.judged.objective > ceilingNs ||
          written.judged.schedule.numActions() > maxActionsOfSeveral)
        continue;
      ++copied;
      const Schedule plain = groups.spread(written.judged.schedule);
      // A few copies may not suffice where many do.
      for (const OffloadOptions::Pairs pairs :
           {OffloadOptions::Pairs::Fit, OffloadOptions::Pairs::All}) {
        std::optional<Misfit> misfit =
            trial.improveByCopies(plain, written.family, pairs, ceilingNs);
        if (!misfit) {
          proved += trial.fits();
          break;
        }
        if (!trial.fits())
          trial.misfits.push_back(std::move(*misfit));
      }
      if (proved >= maxProved)
        break;
      continue;
    }
    if (written.judged.objective > ceilingNs) {
      trial.isSlow = !trial.fits();
      break;
    }
    const size_t before = trial.misfits.size();
    trial.improve(groups.spread(written.judged.schedule), written.family);
    if (trial.misfits.size() > before) {
      trial.misfits.back().timeNs = written.judged.objective;
      trial.misfits.back().heldBytes = written.judged.simulation.peakBytes;
    }
    // Compare a few of the fastest: sums after the last backward may change
    // which one is fastest.
    if (trial.fits() && (++proved >= maxProved ||
                         trial.schedule->numActions() > maxActionsOfSeveral))
      break;
  }
  if (!trial.fits() && trial.reason.empty())
    trial.reason = reason;
  return trial;
}
