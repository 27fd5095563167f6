//===- WindowExamples.h - Windows of iterations for tests -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_SCHEDULE_WINDOWEXAMPLES_H
#define RONDO_TEST_UNIT_SCHEDULE_WINDOWEXAMPLES_H

#include "Examples.h"
#include "schedule/simulate/VersionAnalysis.h"
#include "schedule/transforms/Iterations.h"

namespace rondo::test {

/// S equal stages, N micro-batches in each of K iterations.
inline Problem windowOf(int32_t stages, int32_t each, int32_t iterations,
                        Unit unit = {}, int64_t outputBytes = 0) {
  Problem problem = linearProblem(stages, each * iterations, unit, outputBytes);
  problem.iterations = iterations;
  EXPECT_FALSE(problem.check());
  return problem;
}

struct Window {
  Problem problem;
  Schedule schedule;
  Simulation simulation;
  VersionAnalysis versions;
};

/// A family with its policy on a window whose rules it must keep.
inline Window runFamily(const std::string &family, const Problem &window) {
  Window run;
  const auto choice = *parseFamily(family);
  run.problem = withPolicyOf(choice, window);
  run.schedule = generateFamily(family, run.problem);
  if (auto fault = checkAndSimulate(run.problem, run.schedule, run.simulation,
                                    /*keepTimes=*/true))
    ADD_FAILURE() << describe(*fault, run.problem);
  auto versions = analyzeVersions(run.problem, run.schedule, run.simulation);
  if (!versions)
    ADD_FAILURE() << describe(versions.fault(), run.problem);
  else
    run.versions = *versions;
  return run;
}

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_SCHEDULE_WINDOWEXAMPLES_H
