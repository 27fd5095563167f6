//===- PeersTest.cpp - Published figures of the families ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makespans, spans and peaks by number of ranks and micro-batches. A chunk
// takes 1/v of a rank's time and memory; everything is scaled to whole numbers.
//
//===----------------------------------------------------------------------===//

#include "Examples.h"

#include <cmath>

using namespace rondo;
using namespace rondo::test;

namespace {

enum class Shape { Looped, Wave };

std::vector<int32_t> ranksOf(Shape shape, int32_t ranks, int32_t chunks) {
  return shape == Shape::Wave ? waveRanks(ranks, chunks)
                              : loopedRanks(ranks, chunks);
}

int64_t peakOf(const Simulation &simulation) {
  return *std::max_element(simulation.peakBytes.begin(),
                           simulation.peakBytes.end());
}

//===----------------------------------------------------------------------===//
// Closed forms, F = I = W = 1 and no latency
//===----------------------------------------------------------------------===//

struct ClosedForm {
  const char *family;
  Shape shape;
  int64_t chunks;
  /// The number of micro-batches from which the forms hold, by rank.
  int64_t least;
  /// In times and activations of a rank.
  double (*makespan)(double p, double m);
  double (*span)(double p, double m);
  /// Checked from two micro-batches per rank on.
  double (*peak)(double p, double m);
};

class PeerForms : public testing::TestWithParam<ClosedForm> {};

TEST_P(PeerForms, HoldAtUnitCost) {
  const ClosedForm &form = GetParam();
  for (int32_t p : {4, 8, 16, 32})
    for (int32_t rounds : {1, 2, 3, 4}) {
      const int32_t m = rounds * p;
      if (rounds < form.least)
        continue;
      Problem problem = problemOn(ranksOf(form.shape, p, form.chunks), p, m);
      Schedule schedule = generateFamily(form.family, problem);
      ASSERT_EQ(verdict(problem, schedule), "");
      Simulation simulation = simulate(problem, schedule);
      EXPECT_EQ(simulation.makespanNs, form.chunks * form.makespan(p, m))
          << p << " " << m;
      EXPECT_EQ(simulation.spanNs, form.chunks * form.span(p, m))
          << p << " " << m;
      if (rounds >= 2) {
        EXPECT_EQ(peakOf(simulation), form.chunks * form.peak(p, m))
            << p << " " << m;
      }
      EXPECT_DOUBLE_EQ(simulation.bubble, 1 - 3.0 * m / form.makespan(p, m));
    }
}

double oneP(double p, double) { return p; }
double allM(double, double m) { return m; }
double threeM(double, double m) { return 3 * m; }

INSTANTIATE_TEST_SUITE_P(
    Families, PeerForms,
    testing::Values(
        ClosedForm{"eager-1f1b", Shape::Looped, 1, 1,
                   [](double p, double m) { return 3 * (m + p - 1); },
                   [](double p, double m) { return 3 * (m + p - 1); },
                   [](double p, double m) { return std::min(m, 2 * p - 1); }},
        ClosedForm{"spp", Shape::Looped, 1, 1,
                   [](double p, double m) { return 3 * (m + p - 1); },
                   [](double p, double m) { return 3 * (m + p - 1); },
                   [](double p, double m) { return std::min(m, 4 * p - 3); }},
        ClosedForm{"interleaved-1f1b", Shape::Looped, 2, 1,
                   [](double p, double m) { return 3 * m + 3 * (p - 1) / 2; },
                   [](double p, double m) { return 3 * m + 3 * (p - 1) / 2; },
                   [](double p, double) { return (p + 2 * p - 1) / 2; }},
        ClosedForm{"interleaved-1f1b", Shape::Looped, 4, 1,
                   [](double p, double m) { return 3 * m + 3 * (p - 1) / 4; },
                   [](double p, double m) { return 3 * m + 3 * (p - 1) / 4; },
                   [](double p, double) { return (3 * p + 2 * p - 1) / 4; }},
        ClosedForm{"looped-bfs", Shape::Looped, 2, 1,
                   [](double p, double m) { return 3 * m + 3 * (p - 1) / 2; },
                   [](double p, double m) { return 3 * m + 3 * (p - 1) / 2; },
                   allM},
        ClosedForm{"interleaved-zb", Shape::Looped, 2, 1,
                   [](double p, double m) { return 3 * m + (p - 1) / 2; },
                   [](double p, double m) { return 3 * m + (p - 1) / 2; },
                   oneP},
        ClosedForm{"interleaved-zb", Shape::Looped, 4, 1,
                   [](double p, double m) { return 3 * m + (p - 1) / 4; },
                   [](double p, double m) { return 3 * m + (p - 1) / 4; },
                   oneP},
        ClosedForm{"zb-h2", Shape::Looped, 1, 2,
                   [](double p, double m) { return 3 * m + p - 1; }, threeM,
                   [](double p, double) { return 2 * p; }},
        ClosedForm{"zb-auto", Shape::Looped, 1, 2,
                   [](double p, double m) { return 3 * m + p - 1; },
                   [](double p, double m) { return 3 * m + p - 1; },
                   [](double p, double) { return p + 1; }},
        ClosedForm{"zbv", Shape::Wave, 2, 2,
                   [](double p, double m) { return 3 * m + (p - 1) / 2; },
                   threeM, oneP},
        ClosedForm{"zbv-auto", Shape::Wave, 2, 2,
                   [](double p, double m) { return 3 * m + (p - 1) / 2; },
                   threeM, oneP},
        ClosedForm{"dualpipe-v", Shape::Wave, 2, 2,
                   [](double p, double m) { return 3 * m + (p - 1) / 2; },
                   [](double p, double m) { return 3 * m + (p - 1) / 2; },
                   [](double p, double) { return p + 0.5; }},
        ClosedForm{"v-half", Shape::Wave, 2, 1,
                   [](double p, double m) {
                     return p == 4 && m == 4 ? 17 : 3 * m + 1.5 * p - 3.5;
                   },
                   [](double p, double m) {
                     return p == 4 && m == 4 ? 17 : 3 * m + 1.5 * p - 3.5;
                   },
                   [](double p, double) { return p / 2 + 1; }},
        ClosedForm{"v-min", Shape::Wave, 2, 1,
                   [](double p, double m) { return 3 * m + 2 * p - 2.5; },
                   [](double p, double m) { return 3 * m + 2 * p - 2.5; },
                   [](double p, double) {
                     return p == 4 ? 2 : p == 8 ? 4 : p == 16 ? 6. : 12.;
                   }}),
    [](const auto &info) {
      std::string name = info.param.family;
      for (char &c : name)
        c = std::isalnum(c) ? c : '_';
      return name + "_" + std::to_string(info.param.chunks);
    });

TEST(PeerForms, OneMicrobatchARank) {
  for (int32_t p : {4, 8, 16, 32}) {
    Problem linear = problemOn(loopedRanks(p, 1), p, p);
    Simulation h2 = simulate(linear, generateFamily("zb-h2", linear));
    EXPECT_EQ(2 * h2.makespanNs, 9 * p - 4);
    EXPECT_EQ(h2.spanNs, 4 * p - 1);
    Problem v = problemOn(waveRanks(p, 2), p, p);
    Simulation zbv = simulate(v, generateFamily("zbv", v));
    EXPECT_EQ(zbv.makespanNs, 2 * (4 * p - 1));
    EXPECT_EQ(zbv.spanNs, 2 * (4 * p - 1));
  }
}

//===----------------------------------------------------------------------===//
// 8 ranks, 16 micro-batches
//===----------------------------------------------------------------------===//

/// For a whole rank; the extra time of the first and the last stage.
struct CostPoint {
  double forward, inputGrad, weightGrad, latency;
  double first[3] = {0, 0, 0}, last[3] = {0, 0, 0};
};

/// The last point is a measured profile, known to three decimals.
constexpr CostPoint points[4] = {
    {1, 1, 1, 0},
    {1, 1.1, 0.8, 0.05},
    {1, 0.9972, 0.6321, 0.0156},
    {1, 1.0121, 0.669, 0.0163, {0.059, 0.067, 0}, {0.437, 0.323, 0.463}}};

/// Nanoseconds per time unit: divisible by v with four decimals.
constexpr int64_t unitNs = 40000;

Problem problemAt(const CostPoint &point, Shape shape, int32_t ranks,
                  int32_t chunks, int32_t microbatches) {
  Problem problem =
      problemOn(ranksOf(shape, ranks, chunks), ranks, microbatches);
  auto ns = [](double time) { return std::llround(time * unitNs); };
  const int32_t last = problem.numStages() - 1;
  for (int32_t s = 0; s <= last; ++s) {
    double time[3] = {point.forward / chunks, point.inputGrad / chunks,
                      point.weightGrad / chunks};
    for (int i = 0; i < 3; ++i)
      time[i] +=
          (s == 0 ? point.first[i] : 0) + (s == last ? point.last[i] : 0);
    problem.setStageCost(s, ns(time[0]), ns(time[1]), ns(time[2]), 1, 0);
  }
  problem.link.latencyNs = ns(point.latency);
  return problem;
}

struct PeerRow {
  const char *family;
  Shape shape;
  int32_t chunks;
  /// One entry per cost point.
  double makespan[4], span[4];
  double peak;
};

/// Differences due to rounding of the published figures, and of the last cost
/// point.
constexpr double tolerance[4] = {0, 0.00501, 0.00501, 0.03};

class PeerTable : public testing::TestWithParam<PeerRow> {};

TEST_P(PeerTable, IsMet) {
  const PeerRow &row = GetParam();
  for (int i = 0; i < 4; ++i) {
    Problem problem = problemAt(points[i], row.shape, 8, row.chunks, 16);
    Schedule schedule = generateFamily(row.family, problem);
    ASSERT_EQ(verdict(problem, schedule), "");
    Simulation simulation = simulate(problem, schedule);
    auto hundredths = [](int64_t ns) {
      return std::round(100.0 * ns / unitNs) / 100;
    };
    EXPECT_NEAR(simulation.makespanNs, row.makespan[i] * unitNs,
                tolerance[i] * unitNs)
        << "cost point " << i << ": " << hundredths(simulation.makespanNs);
    EXPECT_NEAR(simulation.spanNs, row.span[i] * unitNs, tolerance[i] * unitNs)
        << "cost point " << i << ": " << hundredths(simulation.spanNs);
    if (i == 0) {
      EXPECT_EQ(peakOf(simulation), row.peak * row.chunks);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, PeerTable,
                         testing::Values(PeerRow{"gpipe",
                                                 Shape::Looped,
                                                 1,
                                                 {69, 67.40, 60.69, 81.60},
                                                 {69, 67.40, 60.69, 81.60},
                                                 16},
                                         PeerRow{"1f1b",
                                                 Shape::Looped,
                                                 1,
                                                 {69, 68.70, 61.10, 81.60},
                                                 {69, 68.70, 61.10, 81.60},
                                                 8},
                                         PeerRow{"interleaved-1f1b",
                                                 Shape::Looped,
                                                 2,
                                                 {58.5, 58.05, 51.74, 73.10},
                                                 {58.5, 58.05, 51.74, 73.10},
                                                 11.5},
                                         PeerRow{"interleaved-1f1b",
                                                 Shape::Looped,
                                                 4,
                                                 {53.25, 54.57, 47.64, 68.93},
                                                 {53.25, 54.57, 47.64, 68.93},
                                                 9.75},
                                         PeerRow{"looped-bfs",
                                                 Shape::Looped,
                                                 2,
                                                 {58.5, 57.25, 51.49, 74.12},
                                                 {58.5, 57.25, 51.49, 74.12},
                                                 16},
                                         PeerRow{"interleaved-zb",
                                                 Shape::Looped,
                                                 2,
                                                 {51.5, 52.75, 47.41, 67.95},
                                                 {51.5, 52.75, 47.41, 67.95},
                                                 8},
                                         PeerRow{"interleaved-zb",
                                                 Shape::Looped,
                                                 4,
                                                 {49.75, 51.27, 45.27, 66.33},
                                                 {49.75, 51.27, 45.27, 66.33},
                                                 8},
                                         PeerRow{"zbv",
                                                 Shape::Wave,
                                                 2,
                                                 {51.5, 51.90, 46.08, 65.62},
                                                 {48, 50.50, 45.26, 64.66},
                                                 8},
                                         PeerRow{"dualpipe-v",
                                                 Shape::Wave,
                                                 2,
                                                 {51.5, 52.90, 47.28, 65.46},
                                                 {51.5, 52.90, 47.28, 65.46},
                                                 8.5},
                                         PeerRow{"eager-1f1b",
                                                 Shape::Looped,
                                                 1,
                                                 {69, 67.40, 60.69, 81.60},
                                                 {69, 67.40, 60.69, 81.60},
                                                 15},
                                         PeerRow{"zb-h1",
                                                 Shape::Looped,
                                                 1,
                                                 {55, 56.90, 52.06, 69.65},
                                                 {55, 56.90, 52.06, 68.53},
                                                 8},
                                         PeerRow{"zb-h2",
                                                 Shape::Looped,
                                                 1,
                                                 {55, 53.75, 49.18, 69.65},
                                                 {48, 50.60, 47.42, 62.48},
                                                 16},
                                         PeerRow{"v-half",
                                                 Shape::Wave,
                                                 2,
                                                 {56.5, 59.05, 52.96, 71.00},
                                                 {56.5, 59.05, 52.96, 71.00},
                                                 5},
                                         PeerRow{"v-min",
                                                 Shape::Wave,
                                                 2,
                                                 {61.5, 71.65, 62.90, 78.00},
                                                 {61.5, 71.65, 62.90, 78.00},
                                                 4}),
                         [](const auto &info) {
                           std::string name = info.param.family;
                           for (char &c : name)
                             c = std::isalnum(c) ? c : '_';
                           return "f" + name + "_" +
                                  std::to_string(info.param.chunks);
                         });

//===----------------------------------------------------------------------===//
// Schedules that follow from times: no worse than published
//===----------------------------------------------------------------------===//

class PeerGenerators : public testing::TestWithParam<PeerRow> {};

TEST_P(PeerGenerators, AreReached) {
  const PeerRow &row = GetParam();
  for (int i = 0; i < 4; ++i)
    for (Objective objective : {Objective::Makespan, Objective::Span}) {
      Problem problem = problemAt(points[i], row.shape, 8, row.chunks, 16);
      problem.objective = objective;
      problem.memoryCaps.assign(8, int64_t(row.peak) * row.chunks);
      Schedule schedule = generateFamily(row.family, problem);
      ASSERT_EQ(verdict(problem, schedule), "");
      Simulation simulation = simulate(problem, schedule);
      const bool isSpan = objective == Objective::Span;
      const double published = (isSpan ? row.span : row.makespan)[i];
      const int64_t found = isSpan ? simulation.spanNs : simulation.makespanNs;
      EXPECT_LE(found, (published + tolerance[i]) * unitNs)
          << "cost point " << i << ": " << 1.0 * found / unitNs;
    }
}

INSTANTIATE_TEST_SUITE_P(Families, PeerGenerators,
                         testing::Values(PeerRow{"zbv-auto",
                                                 Shape::Wave,
                                                 2,
                                                 {51.5, 52.20, 46.12, 66.14},
                                                 {48, 50.20, 44.97, 64.66},
                                                 8}));

} // namespace
