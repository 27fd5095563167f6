//===- PlanTrial.cpp - The best known schedule of a plan ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/PlanTrial.h"

#include "schedule/Simulator.h"

#include <algorithm>

using namespace rondo;

/// Steps that a family may take to write a schedule, beyond a few a task.
static constexpr int64_t mostFamilySteps = 2'000'000;

namespace {

struct Written {
  std::string family;
  Schedule schedule;
  Simulation simulation;
  /// What the rank with least room lacks; at most 0 where all have enough.
  int64_t missingBytes = 0;
  int32_t missingRank = 0;
  /// Activations of the rank that holds most.
  int64_t heldBytes = 0;
};

} // namespace

static void findMissing(const Problem &problem, Written &written) {
  written.missingBytes = std::numeric_limits<int64_t>::min();
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    const int64_t cap = problem.memoryCaps[rank];
    if (cap == noMemoryCap)
      continue;
    int64_t missing = written.simulation.peakBytes[rank] - cap;
    // State alone may be more than a device has.
    if (!problem.devices.empty())
      missing += std::max<int64_t>(0, problem.devices[rank].stateBytes -
                                          problem.devices[rank].deviceBytes);
    if (missing > written.missingBytes) {
      written.missingBytes = missing;
      written.missingRank = rank;
    }
  }
}

/// What all families write, the fastest first, and of equals the one that holds
/// least.
static std::vector<Written> writeAll(const Problem &problem,
                                     std::string &reason) {
  std::vector<Written> all;
  for (const FamilyChoice &choice : allFamilies()) {
    if (choice.family->stepsBeyondTasks(problem) > mostFamilySteps)
      continue;
    FamilyResult result = generate(choice, problem);
    auto *schedule = std::get_if<Schedule>(&result);
    if (!schedule) {
      if (reason.empty())
        reason = describe(std::get<Fault>(result));
      continue;
    }
    Written written;
    written.family = choice.text();
    std::optional<Fault> fault =
        checkSchedule(problem, *schedule, &written.simulation);
    if (fault && fault->rule != Rule::Memory) {
      if (reason.empty())
        reason = describe(*fault, problem);
      continue;
    }
    written.schedule = std::move(*schedule);
    written.heldBytes =
        *std::max_element(written.simulation.peakBytes.begin(),
                          written.simulation.peakBytes.end());
    findMissing(problem, written);
    all.push_back(std::move(written));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Written &a, const Written &b) {
                     return std::pair(a.simulation.makespanNs, a.heldBytes) <
                            std::pair(b.simulation.makespanNs, b.heldBytes);
                   });
  return all;
}

/// What the fullest arena is above its device.
static int64_t missingOf(const ProvedPrograms &proved,
                         const PlanFigures &figures, int32_t &rank) {
  int64_t most = 0;
  for (size_t r = 0; r < proved.arenaBytes.size(); ++r)
    if (figures.devices[r] != noMemoryCap &&
        proved.arenaBytes[r] - figures.devices[r] > most) {
      most = proved.arenaBytes[r] - figures.devices[r];
      rank = static_cast<int32_t>(r);
    }
  return most;
}

bool PlanTrial::improve(Schedule other, std::string name) {
  ProvedPrograms proved = provePrograms(laid.figures, laid.problem, other);
  if (proved.fault) {
    int32_t rank = -1;
    const int64_t missing =
        proved.isOverCap() ? missingOf(proved, laid.figures, rank) : 0;
    if (!fits() && (reason.empty() || (missing > 0 && missing < missingBytes))) {
      missingBytes = missing;
      missingRank = rank;
      reason = describeFault(proved, laid.problem);
    }
    return false;
  }
  if (fits() && proved.iterationNs >= timeNs)
    return false;
  schedule = std::move(other);
  family = std::move(name);
  timeNs = proved.iterationNs;
  arenaBytes = std::move(proved.arenaBytes);
  missingBytes = 0;
  missingRank = -1;
  reason.clear();
  return true;
}

PlanTrial rondo::tryPlan(LaidPlan laid) {
  PlanTrial trial;
  trial.laid = std::move(laid);
  const Problem &problem = trial.laid.problem;
  std::string reason;
  std::vector<Written> all = writeAll(problem, reason);
  // Sums behind the last backward may change which is the fastest, by little.
  constexpr int32_t mostProved = 3;
  int32_t proved = 0;
  for (Written &written : all) {
    if (written.missingBytes > 0) {
      if (!trial.fits() && (trial.missingBytes == 0 ||
                            written.missingBytes < trial.missingBytes)) {
        trial.missingBytes = written.missingBytes;
        trial.missingRank = written.missingRank;
        trial.reason = describe(
            *checkSchedule(problem, written.schedule, nullptr), problem);
      }
      continue;
    }
    trial.improve(std::move(written.schedule), written.family);
    if (trial.fits() && ++proved >= mostProved)
      break;
  }
  if (!trial.fits() && trial.reason.empty())
    trial.reason = reason;
  return trial;
}
