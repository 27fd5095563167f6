//===- ranks.cpp - Problems of equal ranks --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "bench/search/ranks.h"

using namespace rondo;

Problem rankProblem(const Costs &costs, int32_t ranks, int32_t rows,
                    int32_t microbatches, Shape shape, int64_t capBytes) {
  Problem problem;
  problem.microbatches = microbatches;
  problem.memoryCaps.assign(ranks, capBytes);
  const int32_t stages = ranks * rows;
  for (int32_t s = 0; s < stages; ++s) {
    const bool isDown = shape == Shape::Looped || s / ranks % 2 == 0;
    problem.replicas.addStage(isDown ? s % ranks : ranks - 1 - s % ranks);
  }
  for (int32_t s = 0; s < stages; ++s) {
    const int64_t more =
        (s == 0 ? costs.firstNs : 0) + (s + 1 == stages ? costs.lastNs : 0);
    problem.setStageCost(s, costs.forwardNs / rows + more,
                         costs.inputGradNs / rows + more,
                         costs.weightGradNs / rows + more, 8 / rows, 0);
  }
  problem.makeChain(std::vector<int64_t>(stages, 0));
  problem.link.latencyNs = costs.latencyNs;
  return problem;
}
