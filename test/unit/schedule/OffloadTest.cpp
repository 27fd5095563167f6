//===- OffloadTest.cpp - Copies for the orders of families ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/schedule/Examples.h"

#include "schedule/transforms/Offload.h"
#include "schedule/transforms/SlowCopies.h"

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr int64_t activation = 4;
using Pairs = OffloadOptions::Pairs;

/// F = I = W = 4, so T = 12; each stage may copy all that it holds, in `ns`
/// each way. `cap` is in activations; 0: none.
Problem chainOf(int32_t ranks, int32_t microbatches, int64_t ns, int64_t cap) {
  Problem problem = linearProblem(ranks, microbatches, {4, 4, 4, activation});
  if (cap > 0)
    problem.memoryCaps.assign(ranks, cap * activation);
  for (int32_t s = 0; s < ranks; ++s)
    problem.setCopies(s, {activation, LoadBefore::InputGrad, ns, ns});
  EXPECT_EQ(problem.check(), std::nullopt);
  return problem;
}

int64_t numPairs(const Schedule &schedule) {
  return std::count_if(
      schedule.all().begin(), schedule.all().end(),
      [](Action action) { return action.kind() == ActionKind::Save; });
}

/// The makespan of 1F1B with copies, after checking that it keeps all rules;
/// 0 if it breaks one.
int64_t makespanOf(const Problem &problem, const OffloadOptions &options,
                   Simulation &run) {
  const Schedule base =
      generateFamily("1f1b", linearProblem(problem.numRanks(),
                                           problem.microbatches, {4, 4, 4, 4}));
  const Schedule schedule = withCopies(problem, base, options);
  if (auto fault = checkSchedule(problem, schedule)) {
    EXPECT_EQ(fault->rule, Rule::Memory) << describe(*fault, problem);
    return 0;
  }
  run = simulate(problem, schedule);
  return run.makespanNs;
}

int64_t makespanOf(const Problem &problem, Pairs pairs = Pairs::All) {
  Simulation run;
  return makespanOf(problem, {pairs, 0}, run);
}

/// Without copies and caps.
int64_t baseOf(int32_t ranks, int32_t microbatches) {
  const Problem problem = linearProblem(ranks, microbatches, {4, 4, 4, 4});
  return simulate(problem, generateFamily("1f1b", problem)).makespanNs;
}

TEST(Offload, TwoActivationsIfBothCopiesFitInTheWork) {
  for (int32_t ranks : {4, 6, 8})
    for (int32_t microbatches : {ranks, 2 * ranks, 4 * ranks})
      for (int64_t ns : {1, 3, 6})
        EXPECT_EQ(makespanOf(chainOf(ranks, microbatches, ns, 2)),
                  baseOf(ranks, microbatches))
            << ranks << " " << microbatches << " " << ns;
}

TEST(Offload, ThreeActivationsIfEachCopyFitsInTheWork) {
  for (int32_t ranks : {4, 6, 8})
    for (int32_t microbatches : {2 * ranks, 4 * ranks})
      for (int64_t ns : {7, 10, 12})
        EXPECT_EQ(makespanOf(chainOf(ranks, microbatches, ns, 3)),
                  baseOf(ranks, microbatches))
            << ranks << " " << microbatches << " " << ns;
}

TEST(Offload, LessThanTwoActivationsHoldNothing) {
  // If only one activation fits, nothing overlaps.
  EXPECT_GT(makespanOf(chainOf(4, 8, 3, 1)), baseOf(4, 8));
}

TEST(Offload, FitCopiesAsFewAsTheCapNeeds) {
  const Schedule base =
      generateFamily("1f1b", linearProblem(8, 16, {4, 4, 4, 4}));
  // Nothing is copied where all fits.
  EXPECT_EQ(numPairs(withCopies(chainOf(8, 16, 6, 8), base, {Pairs::Fit, 0})),
            0);
  const Problem problem = chainOf(8, 16, 16, 7);
  const Schedule schedule = withCopies(problem, base, {Pairs::Fit, 0});
  EXPECT_EQ(verdict(problem, schedule), "");
  EXPECT_EQ(simulate(problem, schedule).makespanNs, baseOf(8, 16));
  EXPECT_LE(numPairs(schedule), 3);
  EXPECT_GT(numPairs(schedule), 0);
}

/// The least cap of all ranks with which copies keep the makespan of the order
/// without them.
int64_t leastCap(Problem problem, const Schedule &base,
                 const OffloadOptions &options) {
  const int64_t makespan = simulate(problem, base).makespanNs;
  for (int64_t cap = 1;; ++cap) {
    problem.memoryCaps.assign(problem.numRanks(), cap);
    const Schedule schedule = withCopies(problem, base, options);
    if (!checkSchedule(problem, schedule) &&
        simulate(problem, schedule).makespanNs <= makespan)
      return cap;
  }
}

TEST(Offload, FirstChunksOfEachRank) {
  Problem problem = problemOn(loopedRanks(4, 2), 4, 8, {2, 2, 2, 2});
  const Schedule base = generateFamily("interleaved-1f1b", problem);
  for (int32_t s = 0; s < 8; ++s)
    problem.setCopies(s, {2, LoadBefore::InputGrad, 2, 2});
  const Schedule first = withCopies(problem, base, {Pairs::All, 1}),
                 all = withCopies(problem, base, {Pairs::All, 0});
  EXPECT_EQ(verdict(problem, first), "");
  EXPECT_EQ(verdict(problem, all), "");
  EXPECT_GT(numPairs(first), 0);
  EXPECT_GT(numPairs(all), numPairs(first));
  for (Action action : first.all())
    if (action.traits().isCopy()) {
      EXPECT_LT(action.subject, 4u);
    }
  const int64_t held = fullestPeak(simulate(problem, base)),
                heldFirst = leastCap(problem, base, {Pairs::All, 1});
  EXPECT_LT(heldFirst, held);
  EXPECT_LT(leastCap(problem, base, {Pairs::All, 0}), heldFirst);
}

TEST(Offload, HalfDuplexAndSlowCopies) {
  // Copies that take longer than the time away are left out.
  EXPECT_EQ(numPairs(withCopies(
                chainOf(4, 8, 1000, 0),
                generateFamily("1f1b", linearProblem(4, 8, {4, 4, 4, 4})), {})),
            0);
  // Both directions on one lane.
  const Schedule base =
      generateFamily("1f1b", linearProblem(6, 12, {4, 4, 4, 4}));
  int64_t before = 0;
  for (int64_t ns : {3, 6}) {
    Problem problem = chainOf(6, 12, ns, 0);
    problem.hostMemory.links.assign(6, HostLink{0, 0, true});
    const int64_t cap = leastCap(problem, base, {});
    EXPECT_LT(cap, 6 * activation) << ns;
    EXPECT_GE(cap, before) << ns;
    before = cap;
  }
}

TEST(Offload, TheHostHoldsWhatIsCopied) {
  const Schedule base =
      generateFamily("1f1b", linearProblem(8, 16, {4, 4, 4, 4}));
  for (auto [pairs, cap] : {std::pair(Pairs::All, 0), {Pairs::Fit, 7}}) {
    Problem problem = chainOf(8, 16, 3, cap);
    problem.hostMemory.caps.assign(8, 2 * activation);
    const Schedule schedule = withCopies(problem, base, {pairs, 0});
    EXPECT_EQ(verdict(problem, schedule), "");
    EXPECT_GT(numPairs(schedule), 0);
    problem.hostMemory.caps.clear();
    EXPECT_GE(numPairs(withCopies(problem, base, {pairs, 0})),
              numPairs(schedule));
  }
}

/// Quadratic in the copies, this would take minutes.
TEST(Offload, TheHostHoldsWhatIsCopiedOfManyMicrobatches) {
  constexpr int32_t microbatches = 10000;
  Problem problem = chainOf(4, microbatches, 3, 0);
  const Schedule base =
      generateFamily("1f1b", linearProblem(4, microbatches, {4, 4, 4, 4}));
  const int64_t all = numPairs(withCopies(problem, base, {Pairs::All, 0}));
  problem.hostMemory.caps.assign(4, 2 * activation);
  const Schedule capped = withCopies(problem, base, {Pairs::All, 0});
  EXPECT_EQ(checkSchedule(problem, capped), std::nullopt);
  EXPECT_LT(numPairs(capped), all);
  EXPECT_GT(numPairs(capped), microbatches);
}

TEST(Offload, CopiesThatNoGapHoldsAreNamed) {
  const Schedule base =
      generateFamily("1f1b", linearProblem(4, 8, {4, 4, 4, 4}));
  EXPECT_FALSE(findSlowCopies(chainOf(4, 8, 3, 2), base));
  // If all activations fit, none needs to be copied.
  EXPECT_FALSE(findSlowCopies(chainOf(4, 8, 1000, 0), base));
  const auto slow = findSlowCopies(chainOf(4, 8, 1000, 2), base);
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->replica, 0);
  EXPECT_EQ(slow->copiesNs, 2000);
  EXPECT_GT(slow->idleNs, 0);
  EXPECT_LT(slow->idleNs, 2000);
}

} // namespace
