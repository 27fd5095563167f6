//===- OverlapTest.cpp - Iterations that overlap, and their reference -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Overlapped.h"

#include "runtime/base/error.h"
#include "runtime/trainer/trainer.h"

#include "gtest/gtest.h"

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

class Policies
    : public testing::TestWithParam<std::tuple<Overlap::Policy, int, int>> {};

TEST_P(Policies, EqualTheReference) {
  auto [policy, ranks, microbatches] = GetParam();
  for (bool split : {false, true})
    for (int each : {1, 2}) {
      Spec spec = overlappedGpt(policy, ranks, microbatches);
      spec.overlap.each = each;
      spec.overlap.split = split;
      if (split)
        spec.savedSlots = ranks + microbatches;
      Program program(spec);
      for (const char *iterations : {"1", "2", "3", "17"}) {
        Outcome outcome = run(program, {"--verify", "--quiet", "--iterations",
                                        iterations, "--warmup", "0"});
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
        EXPECT_NE(outcome.out.find("are bit-equal after " +
                                   std::string(iterations) + " iteration"),
                  std::string::npos)
            << outcome.out;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Overlap, Policies,
    testing::Combine(testing::Values(Overlap::Stash, Overlap::Live,
                                     Overlap::Extrapolated),
                     testing::Values(1, 2, 4), testing::Values(1, 3, 4)));
// No more ranks than micro-batches: two versions suffice.
INSTANTIATE_TEST_SUITE_P(TwoVersions, Policies,
                         testing::Combine(testing::Values(Overlap::TwoVersions),
                                          testing::Values(1, 2, 4),
                                          testing::Values(4)));

TEST(Overlapping, SegmentsOfEveryLengthEqualTheReference) {
  for (Overlap::Policy policy : {Overlap::Stash, Overlap::Extrapolated}) {
    Program program(overlappedGpt(policy, 3, 2));
    for (const char *every : {"1", "2", "5"})
      EXPECT_EQ(run(program, {"--verify", "--quiet", "--iterations", "7",
                              "--drain-every", every, "--lr-by-delay", "5",
                              "--clip", "0.01"})
                    .code,
                0);
  }
}

TEST(Overlapping, ForwardsRunAgainWithTheWeightsThatTheTablesName) {
  for (Overlap::Policy policy :
       {Overlap::Stash, Overlap::Live, Overlap::Extrapolated})
    for (bool anew : {false, true}) {
      Spec spec = overlappedGpt(policy, 3, 2);
      for (LayerDesc &layer : spec.layers)
        layer.recomputes = true;
      spec.overlap.recomputesAnew = anew;
      // R may read again what F has read.
      spec.weightSlots = 2;
      Program program(spec);
      Outcome outcome =
          run(program, {"--verify", "--quiet", "--iterations", "9"});
      EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    }
}

TEST(Overlapping, GlobalNormsAreThoseOfTheReference) {
  Spec spec = overlappedGpt(Overlap::Stash, 3, 3);
  // Steps wait for the norm, which all ranks have parts in.
  spec.overlap.norm = true;
  Program program(spec);
  EXPECT_EQ(run(program, {"--verify", "--quiet", "--iterations", "6", "--clip",
                          "0.01", "--lr-by-delay", "4"})
                .code,
            0);
}

TEST(Overlapping, LateNormsAreThoseOfTheReference) {
  for (int ranks : {1, 3})
    for (int delay : {1, 2, 3})
      for (int each : {1, 2}) {
        Spec spec = overlappedGpt(Overlap::Stash, ranks, 2);
        spec.overlap.norm = true;
        spec.overlap.normDelay = delay;
        spec.overlap.each = each;
        Program program(spec);
        for (const char *iterations : {"1", "2", "9"}) {
          const Outcome outcome =
              run(program,
                  {"--verify", "--quiet", "--iterations", iterations, "--clip",
                   "0.01", "--lr-by-delay", "4", "--drain-every", "5"});
          EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
        }
      }
}

/// Verifies the pipeline and one whose iterations do not overlap, in turn.
Outcome verifyInTurn(Overlap::Policy policy) {
  Spec spec = overlappedGpt(policy, 2, 2);
  spec.others.push_back(
      {"drained", 2, spec.layers.front().batch,
       [](const Spec &own) { return oneForwardOneBackward(own, false); }});
  Program program(spec);
  Outcome outcome =
      run(program, {"--verify", "--quiet", "--schedule", "drained:3,pipeline:4",
                    "--iterations", "14"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  return outcome;
}

TEST(Overlapping, OrdinaryPipelinesAreVerifiedWithTheSameSlots) {
  const Outcome outcome = verifyInTurn(Overlap::Stash);
  EXPECT_NE(outcome.out.find("verify: PASS all 3"), std::string::npos)
      << outcome.out;
}

TEST(Overlapping, SeveralProgramsInTurnKeepTheChangesOfWeights) {
  verifyInTurn(Overlap::Extrapolated);
}

//===----------------------------------------------------------------------===//
// Other versions than those of the tables.
//===----------------------------------------------------------------------===//

struct Ran {
  Snapshot pipeline, reference;
};

Ran bothOf(const Spec &spec) {
  Program program(spec);
  const Options options = optionsOf({"--warmup", "0"});
  Trainer trainer(program.exe, options, /*useGeneratedData=*/true);
  RunFromStart how;
  how.iterations = 6;
  const Turns turns(program.exe, {});
  Ran ran;
  ran.pipeline = runPipelines(trainer, turns, how);
  ran.reference = runReference(trainer, turns, how);
  return ran;
}

int64_t differences(const Snapshot &a, const Snapshot &b) {
  Program program(overlappedGpt(Overlap::Stash, 3, 2));
  State state(program.exe);
  return compareBits(state, a, b).count;
}

TEST(Overlapping, AReferenceThatReadsOneVersionLaterDiffers) {
  Spec spec = overlappedGpt(Overlap::Stash, 3, 2);
  ++spec.weightSlots;
  const Ran right = bothOf(spec);
  EXPECT_EQ(differences(right.pipeline, right.reference), 0);
  // The backward reads what was there one step earlier.
  spec.overlap.addedDelay = 1;
  const Ran later = bothOf(spec);
  EXPECT_EQ(differences(later.pipeline, later.reference), 0);
  EXPECT_GT(differences(right.pipeline, later.reference), 0);
  EXPECT_GT(differences(later.pipeline, right.reference), 0);
}

std::string failureOf(const Spec &spec) {
  Program program(spec);
  Outcome outcome = run(program, {"--verify", "--quiet", "--iterations", "4"});
  EXPECT_NE(outcome.code, 0);
  return outcome.err;
}

TEST(Overlapping, VersionsMustBeThere) {
  Spec spec = overlappedGpt(Overlap::Stash, 3, 1);
  --spec.weightSlots;
  EXPECT_EQ(failureOf(spec),
            "error: stage 's0': 0I2 reads version 0 of the run's weights, "
            "which is overwritten: the newest is 2, and there is room for 2\n");
}

TEST(Overlapping, ChangesAreThoseOfTheNewestVersion) {
  Spec spec = overlappedGpt(Overlap::Extrapolated, 3, 1);
  spec.overlap.addedDelay = 1;
  spec.weightSlots = 2;
  const std::string error = failureOf(spec);
  EXPECT_NE(error.find("but the mean of changes is that of version "),
            std::string::npos)
      << error;
}

TEST(Overlapping, TablesAreChecked) {
  Spec spec = overlappedGpt(Overlap::Stash, 2, 1);
  spec.overlap.addedDelay = -1;
  EXPECT_NE(failureOf(spec).find("that are -1 steps old"), std::string::npos);
  spec = overlappedGpt(Overlap::Extrapolated, 2, 1);
  spec.keepsChanges = false;
  EXPECT_NE(failureOf(spec).find(
                "stage 's0' moves weights back and plans 0 bytes for their "
                "changes, it needs "),
            std::string::npos);
}

TEST(Overlapping, LateNormsAreChecked) {
  Spec spec = overlappedGpt(Overlap::Stash, 2, 1);
  spec.overlap.norm = true;
  spec.overlap.normDelay = 5000;
  EXPECT_NE(failureOf(spec).find("collective 1 is awaited 5000 iterations "
                                 "later; it may be 0 to 4096"),
            std::string::npos);
}

TEST(Overlapping, StepsThatTheProgramLeavesOutAreMissed) {
  Spec spec = overlappedGpt(Overlap::Live, 2, 1);
  Program program(spec);
  OverlapDesc wrong = *program.programs[1].overlap;
  // The part that repeats has one.
  wrong.iterationsEach = 2;
  program.programs[1].overlap = &wrong;
  Outcome outcome = run(program, {"--verify", "--quiet", "--iterations", "4"});
  EXPECT_NE(outcome.err.find("has done 2 of the 4 steps of stage 's"),
            std::string::npos)
      << outcome.err;
}

} // namespace
