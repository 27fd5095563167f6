//===- estimator.cpp - How long each schedule would take now --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/adaptive/estimator.h"

#include "schedule/program/ProgramSimulator.h"

#include <algorithm>
#include <cmath>
#include <utility>

using namespace rondo;
using namespace rondo::runtime;

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
