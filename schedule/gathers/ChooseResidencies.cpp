//===- ChooseResidencies.cpp - Number of whole chunks ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/gathers/ResidencyTrial.h"

#include "schedule/order/Shards.h"
#include "schedule/rules/Legality.h"
#include "schedule/simulate/Simulator.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <tuple>

using namespace rondo;

namespace {

using Trial = ResidencyTrial;
using Caps = std::vector<int64_t>;

class Chooser {
public:
  Chooser(const Problem &problem, const Schedule &schedule,
          const FixResidencies &fix);

  FittingResidencies run(const ArenaLimits &arenas);

private:
  std::optional<Trial> tryOut(Residencies residencies) const {
    return tryResidencies(problem, schedule,
                          fix ? fix(std::move(residencies)) : residencies);
  }
  void tryAll();
  Trial choose(const Caps &caps) const;
  bool judge(const Trial &trial, const ArenaLimits &arenas, bool byLack,
             Caps &caps, FittingResidencies::Lack &worst) const;
  const Trial &fewerOn(const std::vector<int32_t> &ranks, const Trial &wanted,
                       const Caps &caps) const;

  const Problem &problem;
  const Schedule &schedule;
  const FixResidencies &fix;
  /// The most chunks with sharded state on one rank.
  const int32_t chunks;
  const std::vector<std::vector<int32_t>> groups;
  /// Trials with the same numbers on all ranks, except those that `fix` fixes.
  std::vector<Trial> same;
};

/// Residency of a rank.
Residency of(const Residencies &residencies, int32_t rank) {
  return residencies[residencies.size() == 1 ? 0 : rank];
}

bool fits(const Trial &trial, const std::vector<int32_t> &ranks,
          const Caps &caps) {
  return std::all_of(ranks.begin(), ranks.end(), [&](int32_t rank) {
    return trial.peakBytes[rank] <= caps[rank];
  });
}

} // namespace

/// Merges the labels of two ranks of a group.
static void join(std::vector<int32_t> &labels, int32_t a, int32_t b) {
  const int32_t from = std::max(labels[a], labels[b]),
                to = std::min(labels[a], labels[b]);
  std::replace(labels.begin(), labels.end(), from, to);
}

static std::vector<int32_t> chunksOfRanks(const Problem &problem) {
  std::vector<int32_t> counts(problem.numRanks(), 0);
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    if (problem.replicas[replica].isSharded())
      ++counts[problem.rankOf(replica)];
  return counts;
}

int32_t rondo::maxChunks(const Problem &problem) {
  const std::vector<int32_t> counts = chunksOfRanks(problem);
  return *std::max_element(counts.begin(), counts.end());
}

std::vector<std::vector<int32_t>>
rondo::ranksThatShare(const Problem &problem) {
  const std::vector<int32_t> counts = chunksOfRanks(problem);
  std::vector<int32_t> labels;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    labels.push_back(rank);
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    if (problem.replicas[replica].isSharded())
      join(labels, problem.rankOf(replica),
           problem.rankOf(problem.replicas.groupOf(replica)));
  std::vector<std::vector<int32_t>> groups(problem.numRanks());
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    if (counts[rank] > 0)
      groups[labels[rank]].push_back(rank);
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [](const auto &ranks) { return ranks.empty(); }),
               groups.end());
  return groups;
}

Chooser::Chooser(const Problem &problem, const Schedule &schedule,
                 const FixResidencies &fix)
    : problem(problem), schedule(schedule), fix(fix),
      chunks(maxChunks(problem)), groups(ranksThatShare(problem)) {}

/// Whether a group shares only some of its ranks with another group. Such ranks
/// have different chunks, so they may gather or reduce a shared one at
/// different times. Otherwise all ranks of a group have the same tasks.
static bool overlapInPart(const Problem &problem) {
  std::vector<size_t> sharing(problem.numRanks(), 0);
  for (const std::vector<int32_t> &ranks : ranksThatShare(problem))
    for (int32_t rank : ranks)
      sharing[rank] = ranks.size();
  return std::any_of(problem.replicas.begin(), problem.replicas.end(),
                     [&](const Replica &replica) {
                       return replica.isSharded() &&
                              sharing[replica.rank] != size_t(replica.shards);
                     });
}

std::optional<ResidencyTrial>
rondo::tryResidencies(const Problem &problem, const Schedule &schedule,
                      const Residencies &residencies) {
  Schedule placed = placeGathersByRank(problem, schedule, residencies);
  Simulation simulation = simulate(problem, placed);
  if (!simulation.complete ||
      (overlapInPart(problem) && checkGathers(problem, placed)))
    return std::nullopt;
  ResidencyTrial trial{
      residencies, std::move(simulation.peakBytes), {}, simulation.makespanNs};
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    trial.trafficBytes.push_back(countGathers(problem, placed.rank(r)).bytes);
  return trial;
}

bool ResidencyTrial::isOver(const Caps &caps) const {
  return !std::equal(peakBytes.begin(), peakBytes.end(), caps.begin(),
                     std::less_equal<>());
}

ResidencyTrial::Rating ResidencyTrial::rate(const Caps &caps) const {
  const int64_t peak = *std::max_element(peakBytes.begin(), peakBytes.end()),
                traffic = std::accumulate(trafficBytes.begin(),
                                          trafficBytes.end(), int64_t(0));
  const bool over = isOver(caps);
  return {over, over ? peak : makespanNs, over ? makespanNs : peak, traffic};
}

/// Chooses among the trials with at most the wanted numbers: of those that fit
/// the ranks, the one with the least traffic there; if none fits, the one with
/// the least memory. A rank's memory depends on its own order alone, so trials
/// with the same numbers on all ranks are enough.
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
    const bool isOver = !fits(trial, ranks, caps);
    const std::tuple rating(isOver, isOver ? peak : traffic,
                            isOver ? traffic : peak);
    if (!chosen || rating < best) {
      best = rating;
      chosen = &trial;
    }
  }
  return *chosen;
}

/// Fills `same`. If groups overlap in part, their ranks order the same gathers
/// differently, and some numbers deadlock; these are left out. With all chunks
/// whole, each chunk is gathered once, in the order of the stages.
void Chooser::tryAll() {
  const bool isLarge = schedule.numActions() > maxActionsToTryAll;
  for (int32_t weights = 1; weights <= chunks; ++weights)
    for (int32_t gradients = 1; gradients <= chunks; ++gradients) {
      // For a large schedule, only small numbers and the number of all chunks.
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

/// The best trial under `caps`.
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
      if (!fits(wanted, ranks, caps)) {
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
  // Mixed numbers must gain time, or fit where `best` does not.
  auto gain = [&](const Trial &trial) {
    const Trial::Rating rating = trial.rate(caps);
    return std::pair(std::get<0>(rating), std::get<1>(rating));
  };
  return mixed && gain(*mixed) < gain(*best) ? *mixed : *best;
}

/// Whether the programs of a trial fit. `worst` receives the rank that lacks
/// most memory. Lowers the caps of all ranks that lack memory: to one byte less
/// than the trial holds or, if `byLack`, by the bytes that they lack.
bool Chooser::judge(const Trial &trial, const ArenaLimits &arenas, bool byLack,
                    Caps &caps, FittingResidencies::Lack &worst) const {
  worst = {trial.residencies};
  std::vector<int64_t> held = trial.peakBytes, limits = problem.memoryCaps;
  if (!trial.isOver(limits) && arenas.arenaOf) {
    const Schedule placed =
        placeGathersByRank(problem, schedule, trial.residencies);
    if (arenas.runs && !arenas.runs(placed)) {
      worst.bytes = infinite;
      return false;
    }
    auto arena = arenas.arenaOf(placed);
    if (!arena)
      return true;
    held = std::move(*arena);
    limits = arenas.devices;
  }
  for (size_t rank = 0; rank < held.size(); ++rank) {
    if (limits[rank] == noMemoryCap || held[rank] <= limits[rank])
      continue;
    const int64_t bytes = held[rank] - limits[rank];
    if (bytes > worst.bytes) {
      worst.bytes = bytes;
      worst.rank = static_cast<int32_t>(rank);
    }
    caps[rank] = std::min(
        caps[rank], std::max<int64_t>(0, trial.peakBytes[rank] -
                                             (byLack ? bytes : int64_t(1))));
  }
  return worst.bytes == 0;
}

FittingResidencies Chooser::run(const ArenaLimits &arenas) {
  tryAll();
  if (same.empty()) {
    const Residencies few = {{std::min(chunks, 2), 1}};
    return {fix ? fix(few) : few, std::nullopt};
  }
  const Trial fastest = choose(Caps(problem.numRanks(), noMemoryCap));
  FittingResidencies::Lack lack, worst;
  Caps caps = problem.memoryCaps;
  if (judge(fastest, arenas, /*byLack=*/false, caps, lack))
    return {fastest.residencies, std::nullopt};
  Trial least = fastest;
  int64_t leastLack = lack.bytes;
  auto fitsNow = [&](const Trial &trial, bool byLack) {
    if (judge(trial, arenas, byLack, caps, worst))
      return true;
    if (worst.bytes < leastLack) {
      leastLack = worst.bytes;
      least = trial;
    }
    return false;
  };
  auto result = [&](const Trial &chosen) {
    FittingResidencies found{chosen.residencies, std::nullopt};
    if (chosen.makespanNs > fastest.makespanNs)
      found.lack = lack;
    return found;
  };
  // A cap that is lower by one byte leads to the next best trial. After
  // `smallSteps` attempts, caps are lowered by what is lacking.
  constexpr int maxAttempts = 12, smallSteps = 6;
  Trial last = fastest;
  for (int attempt = 0; attempt < maxAttempts; ++attempt) {
    Trial next = choose(caps);
    if (next.residencies == last.residencies)
      break;
    if (fitsNow(next, attempt >= smallSteps))
      return result(next);
    last = std::move(next);
  }
  for (int32_t whole : {1, 0})
    if (auto trial = tryOut({{whole, whole}}); trial && fitsNow(*trial, false))
      return result(*trial);
  // An arena may shrink if more chunks are whole. As a last resort, try the
  // `mostAtLast` fastest of all trials.
  std::vector<const Trial *> all;
  for (const Trial &trial : same)
    all.push_back(&trial);
  std::stable_sort(all.begin(), all.end(), [](const Trial *a, const Trial *b) {
    return a->makespanNs < b->makespanNs;
  });
  constexpr size_t mostAtLast = 32;
  all.resize(std::min(all.size(), mostAtLast));
  for (const Trial *trial : all)
    if (fitsNow(*trial, false))
      return result(*trial);
  return {least.residencies, std::nullopt};
}

Residencies rondo::chooseResidencies(const Problem &problem,
                                     const Schedule &schedule) {
  return chooseFitting(problem, schedule, {}).residencies;
}

FittingResidencies rondo::chooseFitting(const Problem &problem,
                                        const Schedule &schedule,
                                        const ArenaLimits &arenas,
                                        const FixResidencies &fix) {
  return Chooser(problem, schedule, fix).run(arenas);
}
