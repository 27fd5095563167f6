//===- estimator.cpp - How long each schedule would take now --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/adaptive/estimator.h"

#include "schedule/program/ProgramSimulator.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

using namespace rondo::runtime;
using namespace rondo;

/// The value that a share of all do not exceed. Reorders them; there are some.
static int64_t quantile(std::vector<int64_t> &values, double share) {
  const auto place =
      static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(),
                   values.begin() + static_cast<ptrdiff_t>(place),
                   values.end());
  return values[place];
}

LinkEstimate
rondo::runtime::estimateLink(const std::vector<Transfer> &transfers,
                             int64_t assumedLatencyNs) {
  LinkEstimate link;
  for (const Transfer &transfer : transfers)
    link.bytes = std::max(link.bytes, transfer.bytes);
  std::vector<int64_t> alone;
  for (size_t n = 0; n < transfers.size(); ++n) {
    const Transfer &own = transfers[n];
    if (own.bytes != link.bytes)
      continue;
    ++link.messages;
    if (n == 0 || own.beginNs >= transfers[n - 1].endNs)
      alone.push_back(own.endNs - own.beginNs);
  }
  if (alone.empty())
    return link;
  link.medianNs = quantile(alone, 0.5);
  link.spreadNs = (quantile(alone, 0.75) - quantile(alone, 0.25)) / 2;
  // Delayed by the one before, by more than noise: how long after it they come.
  // Not delayed although it has not arrived: it has left the link, so what it
  // still takes is latency.
  std::vector<int64_t> gaps, onTheWay;
  const int64_t mostAlone =
      link.medianNs + std::max(link.medianNs / 20, 2 * link.spreadNs);
  for (size_t n = 1; n < transfers.size(); ++n) {
    const Transfer &own = transfers[n], &before = transfers[n - 1];
    if (own.bytes != link.bytes || own.beginNs >= before.endNs)
      continue;
    if (own.endNs - own.beginNs > mostAlone)
      gaps.push_back(own.endNs - before.endNs);
    else
      onTheWay.push_back(before.endNs - own.beginNs);
  }
  int64_t latencyNs = assumedLatencyNs;
  if (gaps.size() >= 2)
    latencyNs = link.medianNs - quantile(gaps, 0.5);
  else if (onTheWay.size() >= 2)
    latencyNs = std::max(latencyNs, quantile(onTheWay, 0.9));
  link.latencyNs = std::clamp<int64_t>(latencyNs, 0, link.medianNs);
  if (const int64_t occupancyNs = link.medianNs - link.latencyNs;
      occupancyNs > 0) {
    // The nearest whole rate; the latency takes up the rest.
    link.bytesPerUs = std::max<int64_t>(
        1, (1000 * link.bytes + occupancyNs / 2) / occupancyNs);
    link.latencyNs = std::max<int64_t>(0, link.medianNs - 1000 * link.bytes /
                                                              link.bytesPerUs);
  }
  return link;
}

/// Upper limit of a measured time.
static constexpr int64_t maxNs = int64_t(1) << 40;

static bool isSound(int64_t ns) { return ns > 0 && ns <= maxNs; }

Estimator::Estimator(const Executable &executable,
                     const std::vector<const ProgramDesc *> &programs) {
  for (const ProgramDesc *program : programs)
    candidates.push_back(
        {program, valuesOf(executable, *program), false, nullptr});
}

static bool hasSize(const ProgramDesc &program, const Measurements &measured) {
  return program.microbatches == measured.microbatches &&
         program.samples == measured.samples;
}

void Estimator::take(const Measurements &measured) {
  // The predictions for the size that was measured.
  const int64_t *predicted = nullptr;
  for (const Candidate &candidate : candidates)
    if (hasSize(*candidate.desc, measured))
      predicted = candidate.desc->workNs;
  for (Candidate &candidate : candidates) {
    std::vector<Cost> &costs = candidate.values.problem.costs;
    const bool isOwn = hasSize(*candidate.desc, measured);
    candidate.isMeasured |= isOwn;
    for (size_t k = 0; k < std::min(costs.size(), measured.workNs.size());
         ++k) {
      const int64_t ns = measured.workNs[k];
      if (!isSound(ns))
        continue;
      if (isOwn)
        costs[k].ns = ns;
      else if (!candidate.isMeasured && predicted && predicted[k] > 0)
        costs[k].ns =
            std::min(maxNs, static_cast<int64_t>(std::llround(
                                static_cast<double>(candidate.desc->workNs[k]) *
                                (static_cast<double>(ns) /
                                 static_cast<double>(predicted[k])))));
    }
    // A backward is measured as its two halves; found programs may have it.
    Problem &problem = candidate.values.problem;
    for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
      problem.cost(replica, ActionKind::Backward).ns =
          problem.cost(replica, ActionKind::InputGrad).ns +
          problem.cost(replica, ActionKind::WeightGrad).ns;
    for (const LinkEstimate &link : measured.links)
      if (isSound(link.medianNs))
        candidate.values.problem.links[{link.from, link.to}] = {
            link.latencyNs, link.bytesPerUs};
  }
}

void Estimator::put(size_t place, size_t like,
                    std::shared_ptr<const FoundProgram> program) {
  Candidate added{&program->desc(),
                  {candidates[like].values.problem, program->program()},
                  candidates[like].isMeasured,
                  std::move(program)};
  if (place == candidates.size())
    candidates.push_back(std::move(added));
  else
    candidates[place] = std::move(added);
}

size_t Estimator::like(const Measurements &measured) const {
  for (size_t place = 0; place < candidates.size(); ++place)
    if (hasSize(*candidates[place].desc, measured))
      return place;
  return 0;
}

std::vector<int64_t> Estimator::estimate() const {
  std::vector<int64_t> times;
  for (const Candidate &candidate : candidates) {
    const ProgramSimulation simulation =
        simulateProgram(candidate.values.problem, candidate.values.program);
    times.push_back(simulation.complete ? simulation.makespanNs : -1);
  }
  return times;
}
