//===- ResidencyTrial.cpp - Simulation of a residency ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/gathers/ResidencyTrial.h"

#include "schedule/order/Shards.h"
#include "schedule/rules/Legality.h"
#include "schedule/simulate/Simulator.h"

#include <algorithm>
#include <functional>
#include <numeric>

using namespace rondo;

/// Gives the groups of two ranks the same label.
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

/// Whether a group shares some but not all of its ranks with another. Such
/// ranks have different chunks, so they may gather or reduce a shared chunk at
/// different times; otherwise all ranks of a group have the same tasks.
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
  Schedule placed = placeGathers(problem, schedule, residencies);
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

bool ResidencyTrial::isOver(const std::vector<int64_t> &caps) const {
  return !std::equal(peakBytes.begin(), peakBytes.end(), caps.begin(),
                     std::less_equal<>());
}

ResidencyTrial::Rating
ResidencyTrial::rate(const std::vector<int64_t> &caps) const {
  const int64_t peak = *std::max_element(peakBytes.begin(), peakBytes.end()),
                traffic = std::accumulate(trafficBytes.begin(),
                                          trafficBytes.end(), int64_t(0));
  const bool over = isOver(caps);
  return {over, over ? peak : makespanNs, over ? makespanNs : peak, traffic};
}
