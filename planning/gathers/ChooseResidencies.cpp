//===- ChooseResidencies.cpp - Number of chunks that are whole ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/FitLoop.h"
#include "planning/gathers/FittingGathers.h"
#include "planning/gathers/ResidencyTrial.h"

#include <algorithm>
#include <limits>
#include <tuple>

using namespace rondo;

namespace {

using Trial = ResidencyTrial;
using Caps = std::vector<int64_t>;

class Chooser {
public:
  Chooser(const Problem &problem, const Schedule &schedule,
          const PlanArenas &arenas, const FixResidencies &fix)
      : problem(problem), schedule(schedule), arenas(arenas), fix(fix),
        chunks(maxChunks(problem)), groups(ranksThatShare(problem)) {}

  FittingResidencies run();

private:
  using Lack = FittingResidencies::Lack;

  std::optional<Trial> tryOut(Residencies residencies) const {
    return tryResidencies(problem, schedule,
                          fix ? fix(std::move(residencies)) : residencies);
  }
  void tryAll();
  Trial choose(const Caps &caps) const;
  bool fits(const Trial &trial, bool byLack, Caps &caps, Lack &lack) const;
  /// Sets `found` to the trial if it fits, or if it lacks less than all before.
  bool take(const Trial &trial, bool byLack, Caps &caps);
  bool takeUnderCaps(Caps caps);
  bool takeAny(Caps caps);
  const Trial &fewerOn(const std::vector<int32_t> &ranks, const Trial &wanted,
                       const Caps &caps) const;

  const Problem &problem;
  const Schedule &schedule;
  const PlanArenas &arenas;
  const FixResidencies &fix;
  /// The most chunks of a rank with sharded state.
  const int32_t chunks;
  const std::vector<std::vector<int32_t>> groups;
  /// Trials of the same residency on all ranks, except for values that `fix`
  /// overrides.
  std::vector<Trial> same;
  /// The best trial with unlimited memory, and what it lacks.
  Trial fastest;
  Lack lackOfFastest;
  FittingResidencies found;
  /// The fewest missing bytes of trials that do not fit.
  int64_t leastLack = 0;
};

/// The residency of a rank; a single element applies to all ranks.
Residency of(const Residencies &residencies, int32_t rank) {
  return residencies[residencies.size() == 1 ? 0 : rank];
}

bool keepsCaps(const Trial &trial, const std::vector<int32_t> &ranks,
               const Caps &caps) {
  return std::all_of(ranks.begin(), ranks.end(), [&](int32_t rank) {
    return trial.peakBytes[rank] <= caps[rank];
  });
}

} // namespace

/// Chooses, among `same`, a trial with at most as many whole chunks on `ranks`
/// as `wanted` has there: of those that keep the caps of these ranks, the one
/// with the least traffic on them; if none does, the one with the least memory
/// on them. The memory of a rank depends on its own order alone, so trials of
/// the same residency on all ranks show what it would be.
const Trial &Chooser::fewerOn(const std::vector<int32_t> &ranks,
                              const Trial &wanted, const Caps &caps) const {
  const Residency most = of(wanted.residencies, ranks.front());
  std::tuple<bool, int64_t, int64_t> best;
  const Trial *chosen = nullptr;
  for (const Trial &trial : same) {
    const Residency residency = of(trial.residencies, ranks.front());
    if (residency.weights > most.weights ||
        residency.gradients > most.gradients)
      continue;
    int64_t peak = 0, traffic = 0;
    for (int32_t rank : ranks) {
      peak = std::max(peak, trial.peakBytes[rank]);
      traffic += trial.trafficBytes[rank];
    }
    const bool isOver = !keepsCaps(trial, ranks, caps);
    const std::tuple rating(isOver, isOver ? peak : traffic,
                            isOver ? traffic : peak);
    if (!chosen || rating < best) {
      best = rating;
      chosen = &trial;
    }
  }
  return *chosen;
}

/// Tries each residency on all ranks alike. If groups overlap in part, the
/// ranks of a group run their tasks in different orders, so that some
/// residencies deadlock; the one with all chunks whole gathers each chunk once,
/// in the order of the stages.
void Chooser::tryAll() {
  const bool isLarge = schedule.numActions() > maxActionsToTryAll;
  for (int32_t weights = 1; weights <= chunks; ++weights)
    for (int32_t gradients = 1; gradients <= chunks; ++gradients) {
      // For a large schedule, tries only the smallest values and the largest.
      if (isLarge && ((weights > 3 && weights < chunks) ||
                      (gradients > 1 && gradients < chunks)))
        continue;
      const Residencies numbers = {{weights, gradients}};
      const auto isKnown = [&](const Trial &trial) {
        return fix && trial.residencies == fix(numbers);
      };
      if (std::any_of(same.begin(), same.end(), isKnown))
        continue;
      if (auto trial = tryOut(numbers))
        same.push_back(std::move(*trial));
    }
}

/// The best trial under these caps.
Trial Chooser::choose(const Caps &caps) const {
  const Trial *best = &same.front();
  for (const Trial &trial : same)
    if (trial.rate(caps) < best->rate(caps))
      best = &trial;
  std::optional<Trial> mixed;
  std::vector<Residencies> tried;
  for (const Trial &wanted : same) {
    if (!wanted.isOver(caps))
      continue;
    Residencies byRank;
    for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
      byRank.push_back(of(wanted.residencies, rank));
    for (const std::vector<int32_t> &ranks : groups)
      if (!keepsCaps(wanted, ranks, caps)) {
        const Trial &fewer = fewerOn(ranks, wanted, caps);
        for (int32_t rank : ranks)
          byRank[rank] = of(fewer.residencies, rank);
      }
    if (std::find(tried.begin(), tried.end(), byRank) != tried.end())
      continue;
    tried.push_back(byRank);
    auto trial = tryOut(byRank);
    if (trial && (!mixed || trial->rate(caps) < mixed->rate(caps)))
      mixed = std::move(trial);
  }
  // Residencies that differ by rank are chosen only if they save time or if the
  // others exceed a cap.
  auto gain = [&](const Trial &trial) {
    const Trial::Rating rating = trial.rate(caps);
    return std::pair(std::get<0>(rating), std::get<1>(rating));
  };
  return mixed && gain(*mixed) < gain(*best) ? *mixed : *best;
}

/// Whether programs with the trial's residencies fit. If not, sets `lack` and
/// lowers the caps of the ranks that lack memory: to the trial's peak minus the
/// missing bytes if `byLack`, else minus one byte.
bool Chooser::fits(const Trial &trial, bool byLack, Caps &caps,
                   Lack &lack) const {
  lack = {trial.residencies};
  std::vector<int64_t> held = trial.peakBytes, limits = problem.memoryCaps;
  if (!trial.isOver(limits) && arenas.areKnown()) {
    const Schedule placed = placeGathers(problem, schedule, trial.residencies);
    if (!arenas.run(placed)) {
      lack.bytes = std::numeric_limits<int64_t>::max();
      return false;
    }
    auto arena = arenas.of(placed);
    if (!arena)
      return true;
    held = std::move(*arena);
    limits = arenas.devices();
  }
  const std::vector<int64_t> excess = excessOver(limits, held);
  for (size_t rank = 0; rank < excess.size(); ++rank)
    if (excess[rank] > 0)
      caps[rank] = std::min(
          caps[rank], std::max<int64_t>(0, trial.peakBytes[rank] -
                                               (byLack ? excess[rank] : 1)));
  const auto worst = std::max_element(excess.begin(), excess.end());
  if (*worst == 0)
    return true;
  lack.bytes = *worst;
  lack.rank = static_cast<int32_t>(worst - excess.begin());
  return false;
}

bool Chooser::take(const Trial &trial, bool byLack, Caps &caps) {
  Lack lack;
  if (fits(trial, byLack, caps, lack)) {
    found = {trial.residencies, std::nullopt};
    if (trial.makespanNs > fastest.makespanNs)
      found.lack = lackOfFastest;
    return true;
  }
  if (lack.bytes < leastLack) {
    leastLack = lack.bytes;
    found.residencies = trial.residencies;
  }
  return false;
}

/// Takes the best trial under caps, which are lowered while its programs do not
/// fit.
bool Chooser::takeUnderCaps(Caps caps) {
  // First lowers caps by a byte, to get the next best trial; after `smallSteps`
  // attempts by the missing bytes.
  constexpr int64_t maxAttempts = 12, smallSteps = 6;
  bool isFound = false;
  Residencies last = fastest.residencies;
  lowerUntilFitting(
      std::move(caps), maxAttempts, [](int64_t) { return false; },
      [&](int64_t attempt, const Caps &now) -> std::optional<Caps> {
        const Trial next = choose(now);
        Caps lower = now;
        isFound = next.residencies != last &&
                  take(next, attempt >= smallSteps, lower);
        if (isFound || next.residencies == last)
          return std::nullopt;
        last = next.residencies;
        return lower;
      });
  return isFound;
}

/// Tries residencies of one whole chunk, then of none (one micro-batch at a
/// time), then the trials of tryAll(), the fastest first: arenas may be smaller
/// with more whole chunks.
bool Chooser::takeAny(Caps caps) {
  for (int32_t whole : {1, 0})
    if (auto trial = tryOut({{whole, whole}});
        trial && take(*trial, false, caps))
      return true;
  std::vector<const Trial *> all;
  for (const Trial &trial : same)
    all.push_back(&trial);
  std::stable_sort(all.begin(), all.end(), [](const Trial *a, const Trial *b) {
    return a->makespanNs < b->makespanNs;
  });
  constexpr size_t mostAtLast = 32;
  all.resize(std::min(all.size(), mostAtLast));
  return std::any_of(all.begin(), all.end(), [&](const Trial *trial) {
    return take(*trial, false, caps);
  });
}

FittingResidencies Chooser::run() {
  tryAll();
  if (same.empty()) {
    const Residencies few = {{std::min(chunks, 2), 1}};
    return {fix ? fix(few) : few, std::nullopt};
  }
  fastest = choose(Caps(problem.numRanks(), noMemoryCap));
  found = {fastest.residencies, std::nullopt};
  Caps caps = problem.memoryCaps;
  if (fits(fastest, /*byLack=*/false, caps, lackOfFastest))
    return std::move(found);
  leastLack = lackOfFastest.bytes;
  if (!takeUnderCaps(caps))
    takeAny(caps);
  return std::move(found);
}

Residencies rondo::chooseResidencies(const Problem &problem,
                                     const Schedule &schedule) {
  return chooseFitting(problem, schedule, {}).residencies;
}

FittingResidencies rondo::chooseFitting(const Problem &problem,
                                        const Schedule &schedule,
                                        const PlanArenas &arenas,
                                        const FixResidencies &fix) {
  return Chooser(problem, schedule, arenas, fix).run();
}
