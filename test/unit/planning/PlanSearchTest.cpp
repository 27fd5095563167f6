//===- PlanSearchTest.cpp - Plans are searched by values only -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/PlanSearch.h"

#include "schedule/families/Placement.h"
#include "schedule/partition/Partition.h"
#include "schedule/rules/Legality.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <numeric>

using namespace rondo;

namespace {

using State = PlanCandidate::State;

/// A model whose layers each take the same time for F, I and W, on ranks
/// without memory limits; counts the plans it has made.
struct Model {
  std::vector<int64_t> layerNs;
  int64_t ranks = 2;
  int made = 0;

  Result<ShapedPlan> make(const PlanShape &shape);
  PlanSpace space() {
    PlanSpace space;
    space.name = "model";
    space.ranks = ranks;
    space.layers = static_cast<int64_t>(layerNs.size());
    space.make = [this](const PlanShape &shape) { return make(shape); };
    space.isWrittenAs = [](const PlanShape &shape) {
      return shape.placing == Placing::Linear;
    };
    return space;
  }
};

Result<ShapedPlan> Model::make(const PlanShape &shape) {
  ++made;
  const auto layers = static_cast<int32_t>(layerNs.size());
  const int32_t stages =
      static_cast<int32_t>(ranks) * std::max(shape.chunks, 1);
  if (stages > layers)
    return makeFault<FaultKind::FewLayers>(stages, layers);
  const bool isWave =
      shape.placing == Placing::V || shape.placing == Placing::Wave;
  ShapedPlan plan;
  plan.id = made;
  PartitionInput input;
  const Chunks chunks{static_cast<int32_t>(ranks), std::max(shape.chunks, 1),
                      isWave};
  input.rankOfStage.resize(stages);
  for (int32_t c = 0; c < chunks.count; ++c)
    for (int32_t r = 0; r < chunks.ranks; ++r)
      input.rankOfStage[chunks.stage(c, r)] = r;
  input.workNs.assign(ranks, layerNs);
  input.bytes.assign(layers, 0);
  input.memoryCaps.assign(ranks, noMemoryCap);
  plan.ranks = input.rankOfStage;
  // As written: each later stage has one layer, the first has all others.
  plan.begins.assign(1, 0);
  for (int32_t s = 1; s <= stages; ++s)
    plan.begins.push_back(layers - stages + s);
  if (shape.placing != Placing::AsWritten)
    plan.begins = partitionLayers(input, shape.maxLabels)->begins;
  Problem &problem = plan.problem;
  problem.microbatches = static_cast<int32_t>(shape.microbatches);
  problem.memoryCaps = input.memoryCaps;
  for (int32_t s = 0; s < stages; ++s)
    problem.replicas.addStage(plan.ranks[s]);
  for (int32_t s = 0; s < stages; ++s) {
    const int64_t ns =
        std::accumulate(layerNs.begin() + plan.begins[s],
                        layerNs.begin() + plan.begins[s + 1], int64_t(0));
    problem.setStageCost(s, ns, ns, ns, 1, 0);
  }
  problem.makeChain(std::vector<int64_t>(stages, 0));
  EXPECT_FALSE(problem.check());
  plan.figures.buffers.resize(stages);
  plan.figures.devices = input.memoryCaps;
  return plan;
}

PlanSearchOptions withEffort(int64_t effort) {
  PlanSearchOptions options;
  options.search.effort = effort;
  return options;
}

const PlanCandidate &bestOf(const PlanSearchResult &result) {
  EXPECT_TRUE(result.best);
  return result.candidates[result.best.value_or(0)];
}

TEST(PlanSearch, TakesTheFastestPlan) {
  Model model{{9000, 1000, 1000, 1000}};
  const std::vector<PlanShape> shapes = shapesOf({}, model.ranks, 8);
  PlanSearchResult result = searchPlans(model.space(), shapes, withEffort(200));
  ASSERT_EQ(result.candidates.size(), shapes.size());
  const PlanCandidate &best = bestOf(result);
  int64_t least = infinite;
  for (const PlanCandidate &candidate : result.candidates) {
    least = std::min(least, candidate.objective());
    if (candidate.found) {
      EXPECT_FALSE(
          checkSchedule(candidate.plan->problem, *candidate.found->schedule));
      EXPECT_GE(candidate.objective(), result.boundNs);
    }
  }
  EXPECT_EQ(best.objective(), least);
  // The first layer is three quarters of the work and is alone on a rank.
  EXPECT_EQ(best.plan->begins[1], 1);
  // F, I and W of the busiest rank, eight times.
  EXPECT_GE(best.objective(), 8 * 3 * 9000);
}

TEST(PlanSearch, SaysWhyAShapeHasNoPlan) {
  Model model{{1000, 1000, 1000}};
  PlanSearchResult result =
      searchPlans(model.space(), {{Placing::Linear, 1, 4}, {Placing::V, 2, 4}},
                  withEffort(50));
  EXPECT_EQ(result.best, size_t(0));
  EXPECT_EQ(result.candidates[1].state, State::NoPlan);
  ASSERT_TRUE(result.candidates[1].fault);
  EXPECT_EQ(describe(*result.candidates[1].fault),
            "4 stages need as many layers; there are 3");
}

TEST(PlanSearch, SearchesEqualStagesOnce) {
  Model model{{1000, 1000, 1000, 1000}};
  PlanSearchResult result =
      searchPlans(model.space(), {{Placing::V, 2, 4}, {Placing::Wave, 2, 4}},
                  withEffort(50));
  EXPECT_TRUE(result.candidates[0].found);
  EXPECT_EQ(result.candidates[1].state, State::SameStages);
  EXPECT_EQ(result.candidates[1].twin, 0u);
  EXPECT_FALSE(result.candidates[1].found);
}

TEST(PlanSearch, ReportsProgressOfEachCandidate) {
  Model model{{9000, 1000, 1000, 1000}};
  std::vector<std::string> seen;
  PlanSearchOptions options = withEffort(100);
  options.observer = [&](const PlanCandidate &candidate,
                         const SearchProgress &progress) {
    EXPECT_GT(progress.bound.ns, 0);
    seen.push_back(candidate.shape.text());
  };
  PlanSearchResult result = searchPlans(
      model.space(), {{Placing::Linear, 1, 4}, {Placing::V, 2, 4}}, options);
  for (const PlanCandidate &candidate : result.candidates) {
    const auto name =
        std::find(seen.begin(), seen.end(), candidate.shape.text());
    EXPECT_EQ(name != seen.end(), candidate.found.has_value());
  }
  EXPECT_FALSE(seen.empty());
}

TEST(PlanSearch, EndsWhereItIsInterrupted) {
  Model model{{1000, 1000, 1000, 1000}};
  std::atomic<bool> interrupt{true};
  PlanSearchOptions options = withEffort(50);
  options.search.interrupt = &interrupt;
  PlanSearchResult result =
      searchPlans(model.space(), {{Placing::Linear, 1, 4}}, options);
  EXPECT_TRUE(result.isInterrupted);
  EXPECT_FALSE(result.best);
}

/// Seconds that pass only when a test moves the clock.
double now = 0;

TEST(PlanSearch, LeavesOutShapesWhereTimeIsOver) {
  now = 0;
  Model model{{1000, 1000, 1000, 1000}};
  PlanSpace space = model.space();
  // Making a plan takes one of the one and a half seconds.
  space.make = [&](const PlanShape &shape) {
    now += 1;
    return model.make(shape);
  };
  space.isWrittenAs = [](const PlanShape &) { return false; };
  PlanSearchOptions options = withEffort(20);
  options.search.clock = [] { return now; };
  options.deadline = Deadline(1500, options.search.clock);
  PlanSearchResult result = searchPlans(
      space, {{Placing::Linear, 1, 4}, {Placing::V, 2, 4}}, options);
  EXPECT_EQ(model.made, 1);
  EXPECT_TRUE(result.candidates[0].found);
  EXPECT_EQ(result.candidates[1].state, State::NoTime);
  EXPECT_FALSE(result.candidates[1].plan);
  EXPECT_EQ(result.best, size_t(0));
}

TEST(PlanSearch, SearchesTheObjectiveThatIsGiven) {
  Model model{{1000, 1000}};
  PlanSearchOptions options = withEffort(20);
  options.objective = Objective::Span;
  PlanSearchResult result =
      searchPlans(model.space(), {{Placing::Linear, 1, 4}}, options);
  const PlanCandidate &best = bestOf(result);
  EXPECT_EQ(best.objective(), best.found->simulation.spanNs);
}

TEST(PlanShape, OfAChoiceOnlyThoseThatMakeSense) {
  auto texts = [](const ShapeChoice &choice, int64_t ranks) {
    std::vector<std::string> all;
    for (const PlanShape &shape : shapesOf(choice, ranks, 8))
      all.push_back(shape.text());
    return all;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts({}, 4),
            (Texts{"as written m=8", "linear m=8", "interleaved v=2 m=8",
                   "interleaved v=3 m=8", "interleaved v=4 m=8", "v m=8",
                   "wave v=4 m=8"}));
  EXPECT_EQ(texts({}, 1), (Texts{"as written m=8", "linear m=8"}));
  ShapeChoice onlySizes;
  onlySizes.onlyAsWritten = true;
  onlySizes.microbatches = {4, 16};
  EXPECT_EQ(texts(onlySizes, 4), (Texts{"as written m=4", "as written m=16"}));
  ShapeChoice odd;
  odd.placings = {Placing::Wave};
  odd.chunks = {3};
  EXPECT_TRUE(texts(odd, 4).empty());
}

TEST(PlanShape, FirstStagesRecompute) {
  std::vector<PlanShape> shapes = {{Placing::AsWritten, 0, 8},
                                   {Placing::Interleaved, 5, 8}};
  appendRecomputed(shapes, /*ranks=*/4, /*written=*/3);
  ASSERT_EQ(shapes.size(), 2 + 3 + size_t(maxRecomputed));
  EXPECT_EQ(shapes[3].text(), "as written m=8, first 2 recompute");
  EXPECT_EQ(shapes.back().text(), "interleaved v=5 m=8, first 20 recompute");
}

} // namespace
