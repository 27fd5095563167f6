//===- Scenarios.cpp - Problems with sampled times ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/Random.h"
#include "schedule/search/Robust.h"
#include "schedule/simulate/Objective.h"

#include <algorithm>

using namespace rondo;

Scenarios::Scenarios(const Problem &problem, const Robustness &robustness,
                     uint64_t seed)
    : statistic(robustness.statistic), problems(robustness.samples, problem) {
  Random random(seed * 0x9e3779b97f4a7c15u + 77);
  // In millionths, so that all machines round the same way.
  auto scaled = [&](int64_t ns) {
    const int64_t width = int64_t(20000) * robustness.jitterPercent;
    const int64_t factor = 1000000 - width / 2 + random.below(width + 1);
    return ns / 1000000 * factor + ns % 1000000 * factor / 1000000;
  };
  for (Problem &sample : problems)
    for (int32_t s = 0; s < problem.numReplicas(); ++s) {
      int64_t split = 0, sampled = 0;
      for (ActionKind kind : {ActionKind::Forward, ActionKind::InputGrad,
                              ActionKind::WeightGrad}) {
        int64_t &ns = sample.cost(s, kind).ns;
        const int64_t nominal = ns;
        ns = scaled(ns);
        if (kind != ActionKind::Forward) {
          split += nominal;
          sampled += ns;
        }
      }
      if (problem.recomputes(s))
        sample.cost(s, ActionKind::Recompute).ns =
            scaled(sample.cost(s, ActionKind::Recompute).ns);
      int64_t &fused = sample.cost(s, ActionKind::Backward).ns;
      fused = split == fused || split == 0
                  ? fused - split + sampled
                  : int64_t(double(fused) * double(sampled) / double(split));
    }
}

int64_t Scenarios::statisticOf(std::vector<int64_t> objectives) const {
  if (statistic == Robustness::Statistic::Mean) {
    int64_t whole = 0, rest = 0;
    const int64_t count = int64_t(objectives.size());
    for (int64_t ns : objectives) {
      whole += ns / count;
      rest += ns % count;
    }
    return whole + rest / count;
  }
  const size_t rank = (objectives.size() * 95 + 99) / 100 - 1;
  std::nth_element(objectives.begin(), objectives.begin() + int64_t(rank),
                   objectives.end());
  return objectives[rank];
}

int64_t Scenarios::value(const Schedule &schedule) const {
  std::vector<int64_t> objectives;
  for (const Problem &sample : problems)
    objectives.push_back(objectiveOf(sample, simulate(sample, schedule)));
  return statisticOf(std::move(objectives));
}
