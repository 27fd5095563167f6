//===- CandidatesTest.cpp - Schedules that a program may switch to --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/adaptive/CandidateTable.h"
#include "planning/adaptive/MemoryLimit.h"
#include "schedule/families/Family.h"
#include "schedule/rules/Legality.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace rondo;

namespace {

/// 64 samples an iteration on four ranks. A forward of b samples takes
/// 0.4 + 0.6 b, a backward twice as long, a message b / bandwidth; in units of
/// 1 ms. 16 samples fit a rank.
struct Model {
  static constexpr int64_t samples = 64, stages = 4, megabyte = 1 << 20;

  SizedPlans plans() {
    SizedPlans plans;
    plans.samples = samples;
    plans.microbatches = {1, 2, 4, 8, 16, 32, 64};
    plans.make = [](int64_t microbatches) { return make(microbatches); };
    return plans;
  }

  static Result<SizedPlan> make(int64_t microbatches) {
    if (microbatches == 0)
      microbatches = 16;
    const int64_t b = samples / microbatches;
    SizedPlan plan;
    plan.id = static_cast<size_t>(microbatches);
    Problem &problem = plan.problem;
    problem.microbatches = static_cast<int32_t>(microbatches);
    problem.memoryCaps.assign(stages, 16 * megabyte);
    for (int32_t s = 0; s < stages; ++s)
      problem.replicas.addStage(s);
    for (int32_t s = 0; s < stages; ++s)
      problem.setStageCost(s, 400000 + 600000 * b, 400000 + 600000 * b,
                           400000 + 600000 * b, b * megabyte, b * megabyte);
    problem.makeChain({2000 * b, 2000 * b, 2000 * b, 0});
    EXPECT_FALSE(problem.check());
    ReplicaBuffers buffers{};
    buffers[static_cast<int>(BufferKind::SavedForInputGrad)] = b * megabyte;
    plan.figures.buffers.assign(stages, buffers);
    plan.figures.devices.assign(stages, 16 * megabyte);
    return plan;
  }
};

/// All links at a bandwidth, in samples per ms.
NetworkState at(double bandwidth) {
  return {"state", {0, static_cast<int64_t>(2 * bandwidth)}, {}};
}

WrittenSchedule oneForwardOneBackward() {
  const SizedPlan plan = *Model::make(0);
  return {"main", "1f1b", *generate({findFamily("1f1b"), {}}, plan.problem)};
}

CandidateTable find(const CandidateOptions &options) {
  Model model;
  Result<CandidateTable> found =
      findCandidates(model.plans(), oneForwardOneBackward(), options);
  EXPECT_TRUE(found);
  return *std::move(found);
}

/// The one whose messages are placed best for the last state.
const Candidate &groupOf(const CandidateTable &table, int64_t k, int64_t b) {
  const Candidate *best = nullptr;
  for (const Candidate &candidate : table.candidates)
    if (candidate.group == k && candidate.samples == b && candidate.runs() &&
        (!best || candidate.timeNs.back() < best->timeNs.back()))
      best = &candidate;
  if (!best)
    ADD_FAILURE() << "no candidate with k = " << k << " and b = " << b;
  return best ? *best : table.candidates.front();
}

TEST(MemoryLimit, KeepsWhatNoPointExceedsInBoth) {
  auto kept = [](const std::vector<GroupPoint> &fitting) {
    std::vector<std::pair<int64_t, int64_t>> points;
    for (const GroupPoint &point : onMemoryLimit(fitting))
      points.emplace_back(point.k, point.samples);
    return points;
  };
  using Points = std::vector<std::pair<int64_t, int64_t>>;
  EXPECT_EQ(kept({{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}, {3, 1}, {4, 1}}),
            (Points{{1, 4}, {2, 2}, {4, 1}}));
  // k = 1 stays although k = 2 has micro-batches as large.
  EXPECT_EQ(kept({{1, 2}, {2, 2}}), (Points{{1, 2}, {2, 2}}));
  EXPECT_EQ(kept({}), Points{});
}

/// Ada-Grouper's own table: ../shared/specs/ada-grouper.md, section 8.
TEST(Candidates, AgreeWithTheTableOfAdaGrouper) {
  CandidateOptions options;
  options.searches = false;
  const std::vector<double> bandwidths = {100, 8, 4, 2, 1.5, 1};
  for (double bandwidth : bandwidths)
    options.states.push_back(at(bandwidth));
  const CandidateTable table = find(options);
  struct Row {
    int64_t k, b;
    std::vector<double> times;
  };
  const std::vector<Row> rows = {
      {1, 4, {160.72, 173.6, 187.6, 215.6, 234.27, 271.6}},
      {2, 2, {168.12, 169.5, 171, 174, 176, 180.4}},
      {4, 1, {201.06, 201.75, 202.5, 204, 205, 207}}};
  for (const Row &row : rows) {
    const Candidate &candidate = groupOf(table, row.k, row.b);
    EXPECT_TRUE(candidate.isOnMemoryLimit);
    ASSERT_EQ(candidate.timeNs.size(), row.times.size());
    for (size_t s = 0; s < row.times.size(); ++s)
      EXPECT_NEAR(double(candidate.timeNs[s]) / 1e6, row.times[s], 0.0051)
          << "k = " << row.k << ", bandwidth " << bandwidths[s];
  }
  // No other point is on the limit, and beyond it nothing fits.
  for (const Candidate &candidate : table.candidates)
    if (candidate.group > 0) {
      EXPECT_EQ(candidate.isOnMemoryLimit,
                candidate.group * candidate.samples == 4 &&
                    candidate.group != 3);
      if (candidate.group * candidate.samples > 4 &&
          candidate.microbatches > candidate.group * Model::stages) {
        EXPECT_EQ(candidate.fate, Candidate::Fate::NoMemory);
      }
    }
}

TEST(Candidates, KeepTheFastestOfEveryState) {
  CandidateOptions options;
  options.effort = 2000;
  for (double bandwidth : {100., 8., 2., 1.})
    options.states.push_back(at(bandwidth));
  const CandidateTable table = find(options);
  ASSERT_FALSE(table.kept.empty());
  EXPECT_EQ(table.kept.front(), 0u);
  EXPECT_LE(table.kept.size(), 8u);
  for (size_t s = 0; s < table.states.size(); ++s) {
    const Candidate &best = table.candidates[table.best[s]];
    EXPECT_EQ(best.fate, Candidate::Fate::Kept);
    for (const Candidate &candidate : table.candidates)
      if (candidate.runs()) {
        EXPECT_LE(double(best.timeNs[s]), 1.01 * double(candidate.timeNs[s]));
      }
    // Searched schedules include what no group reaches in the same memory.
    EXPECT_LT(best.timeNs[s], groupOf(table, 2, 2).timeNs[s]);
  }
  for (size_t place : table.kept) {
    const Candidate &candidate = table.candidates[place];
    const Problem &problem = table.plans[candidate.plan].problem;
    EXPECT_FALSE(checkSchedule(problem, candidate.schedule));
    EXPECT_FALSE(checkAccumulation(problem, candidate.schedule));
    for (int64_t bytes : candidate.arenaBytes)
      EXPECT_LE(bytes, 16 * Model::megabyte);
  }
}

TEST(Candidates, AreTheSameForTheSameSeedAndEffort) {
  CandidateOptions options;
  options.effort = 500;
  options.seed = 3;
  const CandidateTable a = find(options), b = find(options);
  ASSERT_EQ(a.candidates.size(), b.candidates.size());
  EXPECT_EQ(a.kept, b.kept);
  for (size_t c = 0; c < a.candidates.size(); ++c)
    EXPECT_EQ(a.candidates[c].timeNs, b.candidates[c].timeNs);
}

TEST(Candidates, AreNoMoreThanAskedFor) {
  CandidateOptions options;
  options.effort = 500;
  options.most = 2;
  const CandidateTable table = find(options);
  EXPECT_EQ(table.kept.size(), 2u);
  EXPECT_TRUE(std::any_of(
      table.candidates.begin(), table.candidates.end(),
      [](const Candidate &c) { return c.fate == Candidate::Fate::TooMany; }));
}

TEST(NetworkStates, SlowOneLinkOrAll) {
  const Problem problem = Model::make(16)->problem;
  const std::vector<NetworkState> states = networkStates(problem);
  ASSERT_EQ(states.size(), 10u);
  // 4 samples: F takes 2.8 ms, a message has 8,000 bytes.
  const NetworkState &half = states[3];
  EXPECT_EQ(half.name, "c/F 0.5");
  EXPECT_NEAR(double(half.link.occupancyNs(8000)), 1.4e6, 0.3e6);
  const NetworkState &slow = states[7];
  EXPECT_EQ(slow.name, "1-2 c/F 2");
  EXPECT_EQ(slow.links.size(), 2u);
  Problem then = problem;
  slow.applyTo(then);
  EXPECT_EQ(then.linkBetween(0, 1).bytesPerUs, problem.link.bytesPerUs);
  EXPECT_GT(then.linkBetween(2, 1).occupancyNs(8000), 4'000'000);
  EXPECT_EQ(states.back().link.latencyNs, 2'800'000);
  // Without messages there is nothing to change.
  Problem alone;
  alone.microbatches = 2;
  alone.memoryCaps = {noMemoryCap};
  alone.replicas.addStage(0);
  alone.setStageCost(0, 1, 1, 1, 0, 0);
  alone.makeChain({0});
  EXPECT_EQ(networkStates(alone).size(), 1u);
}

} // namespace
