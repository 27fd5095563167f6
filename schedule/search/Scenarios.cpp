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
  const int64_t width = int64_t(20000) * robustness.jitterPercent;
  auto scale = [](int64_t &ns, int64_t factor) {
    ns = ns / 1000000 * factor + ns % 1000000 * factor / 1000000;
  };
  constexpr ActionKind scaled[] = {ActionKind::Forward, ActionKind::InputGrad,
                                   ActionKind::WeightGrad,
                                   ActionKind::Recompute};
  for (Problem &sample : problems)
    for (int32_t s = 0; s < problem.numReplicas(); ++s) {
      int64_t factors[std::size(scaled)] = {};
      for (size_t k = 0; k < (problem.recomputes(s) ? 4 : 3); ++k)
        factors[k] = 1000000 - width / 2 + random.below(width + 1);
      // One factor for all micro-batches of a kind.
      auto scaleAll = [&](const auto &nsOf) {
        auto both = [&] {
          return nsOf(ActionKind::InputGrad) + nsOf(ActionKind::WeightGrad);
        };
        const int64_t split = both();
        for (size_t k = 0; k < std::size(scaled); ++k)
          scale(nsOf(scaled[k]), factors[k]);
        int64_t &fused = nsOf(ActionKind::Backward);
        fused = split == fused || split == 0
                    ? fused - split + both()
                    : int64_t(double(fused) * double(both()) / double(split));
      };
      scaleAll([&](ActionKind kind) -> int64_t & {
        return sample.cost(s, kind).ns;
      });
      for (int64_t i = 0;
           !problem.unevenCosts.empty() && i < problem.microbatches; ++i)
        scaleAll([&](ActionKind kind) -> int64_t & {
          return sample
              .unevenCosts[(s * numCostColumns + costColumn(kind)) *
                               int64_t(problem.microbatches) +
                           i]
              .ns;
        });
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
