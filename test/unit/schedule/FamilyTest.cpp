//===- FamilyTest.cpp - Published orders and closed forms -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// `F0 B0` on a rank of a linear placement, as papers write it.
std::string shortOrder(const Schedule &schedule, int32_t rank) {
  std::string text;
  for (Action action : schedule.rank(rank))
    text += (text.empty() ? "" : " ") + std::string(1, action.traits().letter) +
            std::to_string(action.index);
  return text;
}

std::string run(char letter, int first, int end) {
  std::string text;
  for (int i = first; i < end; ++i)
    text += " " + std::string(1, letter) + std::to_string(i);
  return text;
}

//===----------------------------------------------------------------------===//
// kfkb: Ada-Grouper
//===----------------------------------------------------------------------===//

TEST(Kfkb, OrdersOfThreeStagesSixMicrobatches) {
  Problem problem = linearProblem(3, 6);
  Schedule k1 = generateFamily("kfkb:k=1", problem);
  EXPECT_EQ(shortOrder(k1, 0), "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5");
  EXPECT_EQ(shortOrder(k1, 1), "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5");
  EXPECT_EQ(shortOrder(k1, 2), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
  Schedule k2 = generateFamily("kfkb", problem); // the default is 2
  EXPECT_EQ(shortOrder(k2, 0), "F0 F1 F2 F3 F4 F5 B0 B1 B2 B3 B4 B5");
  EXPECT_EQ(shortOrder(k2, 1), "F0 F1 F2 F3 B0 B1 F4 F5 B2 B3 B4 B5");
  EXPECT_EQ(shortOrder(k2, 2), "F0 F1 B0 B1 F2 F3 B2 B3 F4 F5 B4 B5");
}

TEST(Kfkb, OrdersOfFourStagesEightMicrobatches) {
  Problem problem = linearProblem(4, 8);
  Schedule k1 = generateFamily("kfkb:k=1", problem);
  EXPECT_EQ(shortOrder(k1, 0),
            "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7");
  EXPECT_EQ(shortOrder(k1, 3),
            "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7");
  Schedule k2 = generateFamily("kfkb:k=2", problem);
  EXPECT_EQ(" " + shortOrder(k2, 0), run('F', 0, 8) + run('B', 0, 8));
  EXPECT_EQ(" " + shortOrder(k2, 1),
            run('F', 0, 6) + run('B', 0, 2) + run('F', 6, 8) + run('B', 2, 8));
  EXPECT_EQ(" " + shortOrder(k2, 2), run('F', 0, 4) + run('B', 0, 2) +
                                         run('F', 4, 6) + run('B', 2, 4) +
                                         run('F', 6, 8) + run('B', 4, 8));
  EXPECT_EQ(shortOrder(k2, 3),
            "F0 F1 B0 B1 F2 F3 B2 B3 F4 F5 B4 B5 F6 F7 B6 B7");
}

TEST(Kfkb, ClosedFormHoldsWhereKDoesNotDivideM) {
  Schedule schedule = generateFamily("kfkb:k=2", linearProblem(2, 5));
  EXPECT_EQ(shortOrder(schedule, 0), "F0 F1 F2 F3 B0 B1 F4 B2 B3 B4");
  EXPECT_EQ(shortOrder(schedule, 1), "F0 F1 B0 B1 F2 F3 B2 B3 F4 B4");
}

/// Times are 4 times the paper's, to make quarters whole: F = I = W = 4, a
/// message occupies its link for 4c ns.
Problem occupiedLinks(int32_t stages, int32_t microbatches, int64_t fourC) {
  Problem problem = linearProblem(stages, microbatches, {4, 4, 4, 1, 0}, fourC);
  problem.link.bytesPerUs = 1000;
  return problem;
}

int64_t makespanOf(const Problem &problem, const std::string &family) {
  return simulate(problem, generateFamily(family, problem)).makespanNs;
}

struct MakespanRow {
  int32_t stages, microbatches, k;
  /// Four times the makespan at 4c = 0, 1, 2, 4, 6, 8, 12.
  int64_t quarters[7];
};

class KfkbMakespans : public testing::TestWithParam<MakespanRow> {};

TEST_P(KfkbMakespans, AreThoseOfOccupiedLinks) {
  const MakespanRow &row = GetParam();
  const int64_t fourC[7] = {0, 1, 2, 4, 6, 8, 12};
  for (int i = 0; i < 7; ++i) {
    Problem problem = occupiedLinks(row.stages, row.microbatches, fourC[i]);
    EXPECT_EQ(makespanOf(problem, "kfkb:k=" + std::to_string(row.k)),
              row.quarters[i])
        << "4c = " << fourC[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, KfkbMakespans,
    testing::Values(MakespanRow{3, 6, 1, {96, 106, 116, 136, 156, 176, 216}},
                    MakespanRow{3, 6, 2, {96, 100, 104, 112, 124, 140, 180}},
                    MakespanRow{3, 6, 3, {96, 100, 104, 112, 124, 136, 168}},
                    MakespanRow{4, 8, 1, {132, 148, 164, 196, 228, 260, 324}},
                    MakespanRow{4, 8, 2, {132, 138, 144, 156, 172, 196, 252}},
                    MakespanRow{4, 8, 4, {132, 138, 144, 156, 174, 192, 252}},
                    MakespanRow{4, 8, 8, {132, 138, 144, 156, 182, 208, 288}},
                    MakespanRow{4, 16, 1, {228, 256, 284, 340, 396, 452, 564}},
                    MakespanRow{4, 16, 2, {228, 234, 240, 252, 272, 308, 396}},
                    MakespanRow{4, 16, 4, {228, 234, 240, 252, 270, 288, 372}},
                    MakespanRow{4, 16, 8, {228, 234, 240, 252, 278, 308, 444}},
                    MakespanRow{
                        4, 16, 16, {228, 234, 240, 252, 294, 336, 480}}));

TEST(Kfkb, KOneIs1F1BAndKOfAllIsGpipe) {
  for (int32_t stages : {1, 2, 3, 5, 8})
    for (int32_t microbatches : {1, 2, 3, 7, 12}) {
      Problem problem = linearProblem(stages, microbatches);
      auto sameAs = [&](const std::string &a, const std::string &b) {
        Schedule left = generateFamily(a, problem),
                 right = generateFamily(b, problem);
        for (int32_t r = 0; r < stages; ++r)
          EXPECT_EQ(textOf(left.rank(r)), textOf(right.rank(r))) << a;
      };
      sameAs("kfkb:k=1", "1f1b");
      sameAs("kfkb:k=" + std::to_string(microbatches), "gpipe");
      sameAs("kfkb:k=9223372036854775807", "gpipe");
    }
}

TEST(Kfkb, IsLegalAndKeepsItsPeakForEveryK) {
  for (int32_t stages : {1, 2, 3, 4, 6})
    for (int32_t microbatches = 1; microbatches <= 12; ++microbatches)
      for (int32_t k = 1; k <= microbatches + 1; ++k) {
        Problem problem = linearProblem(stages, microbatches, {1, 1, 1, 3, 1});
        Schedule schedule =
            generateFamily("kfkb:k=" + std::to_string(k), problem);
        ASSERT_EQ(verdict(problem, schedule), "");
        Simulation simulation = simulate(problem, schedule);
        for (int32_t s = 0; s < stages; ++s)
          EXPECT_EQ(simulation.peakBytes[s],
                    3 * std::min(k * (stages - s), microbatches));
      }
}

TEST(Kfkb, ClosedFormsOfOccupiedLinks) {
  for (int32_t stages : {2, 3, 4, 6})
    for (int32_t rounds : {1, 2, 3})
      for (int64_t fourC : {0, 1, 3, 4}) {
        const int64_t microbatches = stages * rounds;
        Problem problem = occupiedLinks(stages, microbatches, fourC);
        const int64_t work = 12 * (microbatches + stages - 1);
        EXPECT_EQ(makespanOf(problem, "1f1b"),
                  work + 2 * fourC * ((stages - 1) * rounds + stages - 2));
        for (int32_t k : {2, 3, 5}) {
          if (k > microbatches)
            continue;
          EXPECT_EQ(makespanOf(problem, "kfkb:k=" + std::to_string(k)),
                    work + 2 * fourC * (stages - 1))
              << stages << " " << microbatches << " " << k;
        }
      }
}

//===----------------------------------------------------------------------===//
// gpipe, 1f1b, zb-h1
//===----------------------------------------------------------------------===//

TEST(Gpipe, Order) {
  Schedule schedule = generateFamily("gpipe", linearProblem(2, 3));
  EXPECT_EQ(textOf(schedule.rank(0)), "0F0 0F1 0F2 0B0 0B1 0B2");
  EXPECT_EQ(textOf(schedule.rank(1)), "1F0 1F1 1F2 1B0 1B1 1B2");
}

TEST(OneFOneB, Order) {
  Problem problem = linearProblem(3, 4);
  Schedule schedule = generateFamily("1f1b", problem);
  EXPECT_EQ(textOf(schedule.rank(0)), "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3");
  EXPECT_EQ(textOf(schedule.rank(1)), "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3");
  EXPECT_EQ(textOf(schedule.rank(2)), "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3");
  EXPECT_EQ(simulate(problem, schedule).makespanNs, 18);
}

TEST(ZbH1, OrderOfTwoStages) {
  Problem problem = linearProblem(2, 2);
  Schedule schedule = generateFamily("zb-h1", problem);
  EXPECT_EQ(textOf(schedule.rank(0)), "0F0 0F1 0I0 0W0 0I1 0W1");
  EXPECT_EQ(textOf(schedule.rank(1)), "1F0 1I0 1F1 1I1 1W0 1W1");
  EXPECT_EQ(simulate(problem, schedule).makespanNs, 7);
}

TEST(ZbH1, OrderOfThreeStages) {
  Problem problem = linearProblem(3, 4);
  Schedule schedule = generateFamily("zb-h1", problem);
  EXPECT_EQ(textOf(schedule.rank(0)),
            "0F0 0F1 0F2 0I0 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3");
  EXPECT_EQ(textOf(schedule.rank(1)),
            "1F0 1F1 1I0 1F2 1I1 1W0 1F3 1I2 1W1 1I3 1W2 1W3");
  EXPECT_EQ(textOf(schedule.rank(2)),
            "2F0 2I0 2F1 2I1 2F2 2I2 2W0 2F3 2I3 2W1 2W2 2W3");
  EXPECT_EQ(simulate(problem, schedule).makespanNs, 14);
}

struct ClosedForm {
  const char *family;
  int64_t (*makespan)(int64_t p, int64_t m);
  int64_t (*peak)(int64_t p, int64_t m);
};

class ClosedForms : public testing::TestWithParam<ClosedForm> {};

TEST_P(ClosedForms, HoldAtUnitCost) {
  for (int64_t p : {2, 4, 8, 16, 32})
    for (int64_t rounds : {1, 2, 3, 4}) {
      const int64_t m = rounds * p;
      Problem problem = linearProblem(p, m);
      Schedule schedule = generateFamily(GetParam().family, problem);
      ASSERT_EQ(verdict(problem, schedule), "");
      Simulation simulation = simulate(problem, schedule);
      EXPECT_EQ(simulation.makespanNs, GetParam().makespan(p, m));
      EXPECT_EQ(simulation.spanNs, GetParam().makespan(p, m));
      EXPECT_EQ(*std::max_element(simulation.peakBytes.begin(),
                                  simulation.peakBytes.end()),
                GetParam().peak(p, m));
      EXPECT_DOUBLE_EQ(simulation.bubble,
                       1 - 3.0 * m / GetParam().makespan(p, m));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Families, ClosedForms,
    testing::Values(
        ClosedForm{"gpipe",
                   [](int64_t p, int64_t m) { return 3 * (m + p - 1); },
                   [](int64_t, int64_t m) { return m; }},
        ClosedForm{"1f1b", [](int64_t p, int64_t m) { return 3 * (m + p - 1); },
                   [](int64_t p, int64_t) { return p; }},
        ClosedForm{"zb-h1", [](int64_t p, int64_t m) { return 3 * m + p - 1; },
                   [](int64_t p, int64_t) { return p; }}));

/// The row "p = 8, m = 16" of peers, at the cost points with latency.
TEST(Families, MakespansOfPeersWithLatency) {
  struct Row {
    const char *family;
    int64_t second, third;
  };
  for (Row row : {Row{"gpipe", 6740, 606900}, Row{"1f1b", 6870, 611000},
                  Row{"zb-h1", 5690, 520600}}) {
    // (1, 1.1, 0.8, 0.05) in hundredths.
    Problem problem = linearProblem(8, 16, {100, 110, 80, 1, 0});
    problem.link.latencyNs = 5;
    EXPECT_EQ(makespanOf(problem, row.family), row.second) << row.family;
    // (1, 0.9972, 0.6321, 0.0156) in ten-thousandths; peers give hundredths.
    problem = linearProblem(8, 16, {10000, 9972, 6321, 1, 0});
    problem.link.latencyNs = 156;
    EXPECT_NEAR(makespanOf(problem, row.family), row.third, 50) << row.family;
  }
}

TEST(Families, EveryOneIsLegalAtEverySmallSize) {
  for (const Family &family : families()) {
    int legal = 0;
    FamilyChoice choice = *parseFamily(family.name);
    for (int32_t ranks = 1; ranks <= 6; ++ranks)
      for (int32_t chunks : {1, 2, 3, 4, 6})
        for (bool isWave : {false, true})
          for (int32_t microbatches = 1; microbatches <= 14; ++microbatches) {
            Problem problem = problemOn(isWave ? waveRanks(ranks, chunks)
                                               : loopedRanks(ranks, chunks),
                                        ranks, microbatches);
            FamilyResult result = generate(choice, problem);
            if (!result)
              continue;
            const Schedule &schedule = *result;
            ASSERT_EQ(verdict(problem, schedule), "")
                << family.name << " " << ranks << " " << chunks << " "
                << microbatches;
            // Backwards of looped-bfs are in descending order; all others keep
            // rule S7.
            if (std::string(family.name) != "looped-bfs") {
              ASSERT_EQ(checkAccumulation(problem, schedule), std::nullopt)
                  << family.name << " " << ranks << " " << microbatches;
            }
            ++legal;
          }
    EXPECT_GE(legal, 60) << family.name;
  }
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::string reasonOf(const char *family, const Problem &problem) {
  auto choice = *parseFamily(family);
  FamilyResult result = generate(choice, problem);
  return result ? "applies" : describe(result.fault());
}

TEST(Families, SayWhyTheyDoNotApply) {
  Problem swapped = problemOn({1, 0}, 2, 2);
  Problem idle = problemOn({3, 1}, 4, 2);
  Problem looped = problemOn({0, 1, 0, 1}, 2, 2);
  Problem v = problemOn({0, 1, 1, 0}, 2, 2);
  Problem three = problemOn({0, 1, 0}, 2, 2);
  for (const char *linear : {"gpipe", "1f1b", "eager-1f1b", "kfkb", "zb-h1",
                             "zb-h2", "zb-auto", "spp"}) {
    std::string name(linear);
    // Stages are in order whatever the ranks are called.
    EXPECT_EQ(reasonOf(linear, swapped), "applies");
    EXPECT_EQ(reasonOf(linear, idle), "applies");
    EXPECT_EQ(reasonOf(linear, looped),
              name +
                  " needs one stage per rank; there are 4 stages and 2 ranks");
  }
  for (const char *any :
       {"interleaved-1f1b", "interleaved-zb", "looped-bfs", "blockwise"}) {
    std::string name(any);
    EXPECT_EQ(reasonOf(any, looped), "applies");
    EXPECT_EQ(reasonOf(any, v),
              name + " needs stage s on rank s mod 2; stage 2 is on rank 1");
    EXPECT_EQ(reasonOf(any, three), name + " needs the same number of stages "
                                           "on every rank; there are 3 stages "
                                           "and 2 ranks");
  }
  for (const char *inAV :
       {"zbv", "zbv-auto", "v-half", "v-min", "dualpipe-v"}) {
    std::string name(inAV);
    EXPECT_EQ(reasonOf(inAV, looped),
              name + " needs the stages r and 3 - r on rank r; stage 2 is on "
                     "rank 0");
    EXPECT_EQ(reasonOf(inAV, swapped),
              name + " needs two stages per rank; there are 2 stages and 2 "
                     "ranks");
  }
  EXPECT_EQ(reasonOf("zbv", v), "applies");
  EXPECT_EQ(reasonOf("dualpipe-v", v),
            "dualpipe-v needs two micro-batches per rank; there are 2 for 2 "
            "ranks, 2 too few");
  EXPECT_EQ(reasonOf("wave", looped),
            "wave needs stages that go down and up the ranks; stage 2 is on "
            "rank 0");
  EXPECT_EQ(reasonOf("wave", three),
            "wave needs an even number of stages on every rank; there are 3 "
            "stages and 2 ranks");
  EXPECT_EQ(reasonOf("wave", problemOn(waveRanks(2, 4), 2, 2)), "applies");
}

std::string wrongWith(const std::string &text) {
  auto choice = parseFamily(text);
  return choice ? choice->text() : describe(choice.fault());
}

TEST(Families, TextForms) {
  EXPECT_EQ(wrongWith("1f1b"), "1f1b");
  EXPECT_EQ(wrongWith("kfkb"), "kfkb:k=2");
  EXPECT_EQ(wrongWith("kfkb:k=7"), "kfkb:k=7");
  EXPECT_EQ(wrongWith("2f2b"),
            "there is no family '2f2b'; did you mean '1f1b'? there are gpipe, "
            "1f1b, eager-1f1b, kfkb, "
            "zb-h1, zb-h2, zb-auto, interleaved-1f1b, interleaved-zb, "
            "looped-bfs, blockwise, zbv, zbv-auto, v-half, v-min, dualpipe-v, "
            "wave, spp, "
            "pipedream, 2bw, pipemare, timeprest");
  EXPECT_EQ(wrongWith("kfkb:k=0"), "k of kfkb is 0; it must be 1 or more");
  EXPECT_EQ(wrongWith("pipemare:spatial=7"),
            "spatial of pipemare is 7; it must be from 0 to 1");
  EXPECT_EQ(wrongWith("kfkb:j=1"), "kfkb has no parameter 'j'; it has k");
  EXPECT_EQ(wrongWith("1f1b:k=1"), "1f1b has no parameter 'k'; it takes none");
  EXPECT_EQ(wrongWith("kfkb:k=1,k=2"), "'kfkb:k=1,k=2' gives k twice");
  for (const char *text : {"kfkb:", "kfkb:k", "kfkb:k=", "kfkb:k=1x",
                           "kfkb:k=1,", "kfkb:k=99999999999999999999"})
    EXPECT_NE(wrongWith(text).find("is not name=number"), std::string::npos)
        << text;
}

TEST(Families, VariantsFitTheCapsAndAreNoDefaults) {
  Problem problem = linearProblem(4, 40, {1, 1, 1, 2, 0});
  problem.memoryCaps.assign(4, 2 * 17);
  std::vector<std::string> texts;
  for (const FamilyChoice &choice : familyVariants(problem)) {
    texts.push_back(choice.text());
    const FamilyResult schedule = generate(choice, problem);
    ASSERT_TRUE(schedule) << choice.text();
    EXPECT_FALSE(checkSchedule(problem, *schedule)) << choice.text();
  }
  // With 17 micro-batches, groups of 4 on 4 ranks and units up to 17 fit.
  EXPECT_EQ(texts,
            (std::vector<std::string>{"kfkb:k=3", "kfkb:k=4", "blockwise:u=17",
                                      "blockwise:u=6", "blockwise:u=8"}));
}

} // namespace
