//===- TimeWindowsTest.cpp - Bound LB7 and all schedules ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CaseCount.h"
#include "Examples.h"
#include "Exhaustive.h"
#include "RandomProblem.h"

#include "schedule/bounds/Arguments.h"

#include <limits>

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr int64_t noCeiling = std::numeric_limits<int64_t>::max();

int64_t bound(const Problem &problem, int64_t effort) {
  return timeWindows().compute(problem, noCeiling, effort);
}

TEST(TimeWindows, NoScheduleIsShorter) {
  Engine random(17);
  int64_t checked = 0, above = 0;
  for (int n = 0; n < caseCount(3000); ++n) {
    const Problem problem = drawTiny(random);
    ASSERT_FALSE(problem.check()) << n;
    const int64_t ns = bound(problem, 100000);
    above += ns > quickBound(problem).ns;
    const auto answer = Exhaustive(problem, ns, /*inOrder=*/true).below(20000);
    EXPECT_NE(answer, Exhaustive::Answer::Yes) << n << ", bound " << ns;
    checked += answer == Exhaustive::Answer::No;
  }
  EXPECT_GT(checked, caseCount(2500));
  // It proves more than LB1 to LB4 together.
  EXPECT_GT(above, caseCount(50));
}

/// Graphs, with micro-batches in any order.
TEST(TimeWindows, NoScheduleOfAGraphIsShorter) {
  Engine random(23);
  int64_t checked = 0;
  for (int n = 0; n < 600; ++n) {
    Problem problem = drawGraph(random);
    if (problem.check() || problem.numStages() * problem.microbatches > 6)
      continue;
    const int64_t ns = bound(problem, 100000);
    const auto answer = Exhaustive(problem, ns, /*inOrder=*/false).below(20000);
    EXPECT_NE(answer, Exhaustive::Answer::Yes) << n << ", bound " << ns;
    checked += answer == Exhaustive::Answer::No;
  }
  EXPECT_GT(checked, 100);
}

TEST(TimeWindows, StopsAtTheCeilingAndWithTheEffort) {
  const Problem problem = linearProblem(4, 8, {3, 4, 2, 2, 1});
  const int64_t all = bound(problem, 100000);
  EXPECT_EQ(timeWindows().compute(problem, all, 100000), all);
  EXPECT_LE(bound(problem, 1), all);
  EXPECT_GT(bound(problem, 1), 0);
}

} // namespace
