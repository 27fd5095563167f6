//===- BeamRun.h - Beams alone, and problems for them -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_SCHEDULE_BEAMRUN_H
#define RONDO_TEST_UNIT_SCHEDULE_BEAMRUN_H

#include "Examples.h"
#include "RandomProblem.h"

#include "schedule/search/Beam.h"

namespace rondo::test {

/// A wave or V of uneven stages under caps.
inline Problem drawLooped(Engine &random) {
  const auto ranks = int32_t(pick(random, 2, 6)),
             chunks = int32_t(pick(random, 1, 3));
  Problem problem = problemOn(pick(random, 0, 1) ? waveRanks(ranks, chunks)
                                                 : loopedRanks(ranks, chunks),
                              ranks, int32_t(pick(random, 12, 24)));
  for (int32_t s = 0; s < problem.numStages(); ++s)
    problem.setStageCost(s, pick(random, 20, 60), pick(random, 20, 60),
                         pick(random, 10, 50), 4, pick(random, 0, 4));
  problem.memoryCaps.assign(ranks, 4 * chunks * pick(random, 2, ranks + 1));
  problem.link.latencyNs = pick(random, 0, 9);
  if (pick(random, 0, 2) == 0) {
    problem.makeChain(std::vector<int64_t>(problem.numStages(), 9));
    problem.link.bytesPerUs = 1000;
  }
  return problem;
}

/// Report of a beam.
struct BeamRun {
  Incumbent best;
  bool isExhausted = false;
  int64_t tasks = 0;
};

inline BeamRun runBeam(const FlatProblem &flat, int64_t width, int64_t effort,
                       Workers *workers = nullptr) {
  SearchOptions options;
  options.timeLimitMs = 0;
  Budget budget(options);
  budget.limitEffort(effort);
  BeamRun run;
  run.isExhausted = beam(flat, width, run.best, budget, workers);
  run.tasks = budget.tasksUsed();
  return run;
}

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_SCHEDULE_BEAMRUN_H
