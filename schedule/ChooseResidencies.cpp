//===- ChooseResidencies.cpp - How many chunks are whole at once ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/ResidencyTrial.h"

#include "schedule/Simulator.h"

#include <algorithm>
#include <optional>
#include <tuple>

using namespace rondo;

namespace {

using Trial = ResidencyTrial;

class Chooser {
public:
  Chooser(const Problem &problem, const Schedule &schedule);

  Residencies run();

private:
  std::optional<Trial> tryOut(const Residencies &residencies) const {
    return tryResidencies(problem, schedule, residencies);
  }
  Residency fewerOn(const std::vector<int32_t> &ranks, Residency wanted) const;
  bool fits(const Trial &trial, const std::vector<int32_t> &ranks) const;

  const Problem &problem;
  const Schedule &schedule;
  /// Of the rank that has most with sharded state.
  const int32_t chunks;
  const std::vector<std::vector<int32_t>> groups;
  /// With the same numbers on all ranks.
  std::vector<Trial> same;
};

} // namespace

/// Lets the ranks of one group have the same label.
static void join(std::vector<int32_t> &labels, int32_t a, int32_t b) {
  const int32_t from = std::max(labels[a], labels[b]),
                to = std::min(labels[a], labels[b]);
  std::replace(labels.begin(), labels.end(), from, to);
}

static std::vector<int32_t> chunksOfRanks(const Problem &problem) {
  std::vector<int32_t> counts(problem.numRanks(), 0);
  for (int32_t home = 0; home < problem.numHomes(); ++home)
    if (problem.homes[home].isSharded())
      ++counts[problem.rankOf(home)];
  return counts;
}

int32_t rondo::mostChunks(const Problem &problem) {
  const std::vector<int32_t> counts = chunksOfRanks(problem);
  return *std::max_element(counts.begin(), counts.end());
}

std::vector<std::vector<int32_t>>
rondo::ranksThatShare(const Problem &problem) {
  const std::vector<int32_t> counts = chunksOfRanks(problem);
  std::vector<int32_t> labels;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    labels.push_back(rank);
  for (int32_t home = 0; home < problem.numHomes(); ++home)
    if (problem.homes[home].isSharded())
      join(labels, problem.rankOf(home),
           problem.rankOf(problem.homes.groupOf(home)));
  std::vector<std::vector<int32_t>> groups(problem.numRanks());
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    if (counts[rank] > 0)
      groups[labels[rank]].push_back(rank);
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [](const auto &ranks) { return ranks.empty(); }),
               groups.end());
  return groups;
}

Chooser::Chooser(const Problem &problem, const Schedule &schedule)
    : problem(problem), schedule(schedule), chunks(mostChunks(problem)),
      groups(ranksThatShare(problem)) {}

std::optional<ResidencyTrial>
rondo::tryResidencies(const Problem &problem, const Schedule &schedule,
                      const Residencies &residencies) {
  Schedule placed = placeGathersByRank(problem, schedule, residencies);
  Simulation simulation = simulate(problem, placed);
  if (!simulation.complete)
    return std::nullopt;
  ResidencyTrial trial{residencies, std::move(simulation.peakBytes), {}, {}};
  int64_t traffic = 0;
  for (int32_t r = 0; r < problem.numRanks(); ++r) {
    trial.trafficBytes.push_back(countGathers(problem, placed.rank(r)).bytes);
    traffic += trial.trafficBytes.back();
  }
  const int64_t peak =
      *std::max_element(trial.peakBytes.begin(), trial.peakBytes.end());
  bool isOver = false;
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    isOver |= trial.peakBytes[r] > problem.memoryCaps[r];
  trial.rating = {isOver, isOver ? peak : simulation.makespanNs,
                  isOver ? simulation.makespanNs : peak, traffic};
  return trial;
}

bool Chooser::fits(const Trial &trial,
                   const std::vector<int32_t> &ranks) const {
  return std::all_of(ranks.begin(), ranks.end(), [&](int32_t rank) {
    return trial.peakBytes[rank] <= problem.memoryCaps[rank];
  });
}

/// Of the numbers up to the wanted ones that fit the ranks, those with the
/// least traffic there; where none fit, those with the least memory. What a
/// rank holds depends on its own order alone, so that trials with the same
/// numbers on all ranks say it.
Residency Chooser::fewerOn(const std::vector<int32_t> &ranks,
                           Residency wanted) const {
  std::tuple<bool, int64_t, int64_t> best;
  std::optional<Residency> chosen;
  for (const Trial &trial : same) {
    const Residency residency = trial.residencies.front();
    if (residency.weights > wanted.weights ||
        residency.gradients > wanted.gradients)
      continue;
    int64_t peak = 0, traffic = 0;
    for (int32_t rank : ranks) {
      peak = std::max(peak, trial.peakBytes[rank]);
      traffic += trial.trafficBytes[rank];
    }
    const bool isOver = !fits(trial, ranks);
    const std::tuple rating(isOver, isOver ? peak : traffic,
                            isOver ? traffic : peak);
    if (!chosen || rating < best) {
      best = rating;
      chosen = residency;
    }
  }
  return *chosen;
}

Residencies Chooser::run() {
  const bool isLarge = schedule.numActions() > mostActionsToTryAll;
  const Trial *best = nullptr;
  // Pointers into it stay.
  same.reserve(size_t(chunks) * chunks);
  for (int32_t weights = 1; weights <= chunks; ++weights)
    for (int32_t gradients = 1; gradients <= chunks; ++gradients) {
      // Of many, the least, and all.
      if (isLarge && ((weights > 3 && weights < chunks) ||
                      (gradients > 1 && gradients < chunks)))
        continue;
      auto trial = tryOut({{weights, gradients}});
      if (!trial)
        return best ? best->residencies : Residencies{{std::min(chunks, 2), 1}};
      same.push_back(std::move(*trial));
      if (!best || same.back().rating < best->rating)
        best = &same.back();
    }
  std::optional<Trial> mixed;
  std::vector<Residencies> tried;
  for (const Trial &wanted : same) {
    if (!wanted.isOver())
      continue;
    Residencies byRank(problem.numRanks(), wanted.residencies.front());
    for (const std::vector<int32_t> &ranks : groups)
      if (!fits(wanted, ranks)) {
        const Residency fewer = fewerOn(ranks, wanted.residencies.front());
        for (int32_t rank : ranks)
          byRank[rank] = fewer;
      }
    if (std::find(tried.begin(), tried.end(), byRank) != tried.end())
      continue;
    tried.push_back(byRank);
    auto trial = tryOut(byRank);
    if (trial && (!mixed || trial->rating < mixed->rating))
      mixed = std::move(trial);
  }
  // Only for time, or to fit at all.
  auto gain = [](const Trial &trial) {
    return std::pair(std::get<0>(trial.rating), std::get<1>(trial.rating));
  };
  return mixed && gain(*mixed) < gain(*best) ? mixed->residencies
                                             : best->residencies;
}

Residencies rondo::chooseResidencies(const Problem &problem,
                                     const Schedule &schedule) {
  return Chooser(problem, schedule).run();
}
