//===- ExactSearchTest.cpp - What is called optimal is optimal ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CaseCount.h"
#include "Examples.h"
#include "Exhaustive.h"

#include "schedule/bounds/Bounds.h"
#include "schedule/search/Search.h"

#include <limits>
#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

using Generator = std::mt19937;

int64_t pick(Generator &random, int64_t least, int64_t most) {
  return least + int64_t(random() % uint64_t(most - least + 1));
}

/// Properties of a random problem.
struct Kind {
  const char *name;
  std::vector<std::vector<int32_t>> placements;
  int64_t leastNs = 1, maxNs = 6;
  /// Every stage has its own costs.
  bool isUneven = false;
  /// Bytes of a message, at a nanosecond each; links differ if `isUneven`.
  int64_t maxOccupancy = 0;
  bool hasCheaperBackward = false;
  /// Stages take inputs from any stages before them; a stage that feeds none
  /// goes to the last.
  bool isGraph = false;
  bool hasSeveralEnds = false;
  /// I takes bytes that W releases.
  bool inputGradTakes = false;
};

std::vector<std::vector<int32_t>> randomInputs(const Kind &kind, int32_t stages,
                                               Generator &random) {
  std::vector<std::vector<int32_t>> inputs(stages);
  std::vector<bool> feeds(stages);
  for (int32_t s = 1; s < stages; ++s)
    for (int32_t from = 0; from < s; ++from)
      if (random() % 2) {
        inputs[s].push_back(from);
        feeds[from] = true;
      }
  for (int32_t s = 0; s + 1 < stages && !kind.hasSeveralEnds; ++s)
    if (!feeds[s])
      inputs.back().push_back(s);
  return inputs;
}

Problem randomProblem(const Kind &kind, Generator &random) {
  const auto &rankOfStage = kind.placements[random() % kind.placements.size()];
  const int32_t stages = int32_t(rankOfStage.size());
  const int32_t ranks =
      1 + *std::max_element(rankOfStage.begin(), rankOfStage.end());
  const int32_t most = stages == 2 ? 4 : stages == 3 ? 3 : 2;
  Problem problem =
      problemOn(rankOfStage, ranks, int32_t(pick(random, 1, most)));
  std::vector<int64_t> outputs(stages), least(ranks), all(ranks), kept(ranks);
  Unit unit;
  for (int32_t s = 0; s < stages; ++s) {
    if (s == 0 || kind.isUneven) {
      unit.forward = pick(random, kind.leastNs, kind.maxNs);
      unit.inputGrad = pick(random, kind.leastNs, kind.maxNs);
      unit.weightGrad = pick(random, kind.leastNs, kind.maxNs);
      unit.activation = pick(random, kind.isUneven ? 0 : 1, 4);
      unit.inputGradFrees = pick(random, 0, unit.activation);
      outputs[s] = pick(random, 0, kind.maxOccupancy);
    } else {
      outputs[s] = outputs[s - 1];
    }
    problem.setStageCost(s, unit.forward, unit.inputGrad, unit.weightGrad,
                         unit.activation, unit.inputGradFrees);
    if (kind.hasCheaperBackward) {
      Cost &fused = problem.cost(s, ActionKind::Backward);
      fused.ns -= pick(random, 0, std::min<int64_t>(fused.ns, 4));
    }
    if (kind.inputGradTakes) {
      const int64_t bytes = pick(random, 0, 4);
      problem.cost(s, ActionKind::InputGrad).acquireBytes += bytes;
      problem.cost(s, ActionKind::WeightGrad).releaseBytes += bytes;
      problem.cost(s, ActionKind::Backward).acquireBytes += bytes;
      problem.cost(s, ActionKind::Backward).releaseBytes += bytes;
      kept[rankOfStage[s]] = std::max(kept[rankOfStage[s]], bytes);
    }
    least[rankOfStage[s]] += unit.activation;
    all[rankOfStage[s]] += unit.activation * problem.microbatches;
  }
  if (kind.isGraph)
    problem.makeGraph(randomInputs(kind, stages, random), outputs);
  else
    problem.makeChain(outputs);
  for (int32_t r = 0; r < ranks; ++r)
    if (pick(random, 0, 3))
      problem.memoryCaps[r] =
          kept[r] + pick(random, least[r], std::max(least[r], all[r]));
  const int64_t rate = kind.maxOccupancy > 0 ? 1000 : 0;
  problem.link = {pick(random, 0, 3), rate};
  if (kind.isUneven && ranks > 1)
    problem.links[{1, 0}] = {pick(random, 0, 3), rate / 2};
  if (random() % 2)
    problem.objective = Objective::Span;
  return problem;
}

int64_t objectiveOf(const Problem &problem, const Simulation &simulation) {
  return problem.objective == Objective::Span ? simulation.spanNs
                                              : simulation.makespanNs;
}

struct Tally {
  int64_t problems = 0, proven = 0, ordered = 0, checked = 0;
  /// For the makespan.
  int64_t makespans = 0, provenMakespans = 0;
};

/// Searches random problems; no claim of an optimum and no bound may be wrong.
Tally checkKind(const Kind &kind, int problems, bool inOrder) {
  Generator random(11);
  Tally tally;
  for (int n = 0; n < problems; ++n) {
    Problem problem = randomProblem(kind, random);
    EXPECT_FALSE(problem.check());
    SearchOptions options;
    options.effort = 2000;
    options.timeLimitMs = 0;
    SearchResult result = search(problem, options);
    if (!result.schedule) {
      ADD_FAILURE() << kind.name << " " << n << ": "
                    << (result.fault ? describe(*result.fault) : "");
      continue;
    }
    EXPECT_EQ(verdict(problem, *result.schedule), "");
    const int64_t found = objectiveOf(problem, result.simulation);
    const std::string where =
        std::string(kind.name) + " " + std::to_string(n) + ", found " +
        std::to_string(found) + " by " + result.origin + ", bound " +
        std::to_string(result.bound.ns) + " " + result.bound.name;
    for (const BoundArgument &argument : boundArguments())
      EXPECT_LE(provenBy(argument, problem, 20000), found)
          << argument.name << " of " << where;
    ++tally.problems;
    const bool isMakespan = problem.objective == Objective::Makespan;
    tally.makespans += isMakespan;
    tally.provenMakespans += isMakespan && result.provenOptimal;
    tally.ordered += !result.schedule->linkOrders.empty();
    if (!result.provenOptimal)
      continue;
    ++tally.proven;
    auto answer = Exhaustive(problem, found, inOrder).below(100000);
    EXPECT_NE(answer, Exhaustive::Answer::Yes) << where;
    tally.checked += answer == Exhaustive::Answer::No;
  }
  return tally;
}

Kind graphOf(const char *name,
             const std::vector<std::vector<int32_t>> &placements) {
  Kind kind{name, placements, 1, 5, true};
  kind.isGraph = true;
  return kind;
}

const std::vector<std::vector<int32_t>> oneStage = {{0, 1}, {0, 1, 2}};
const std::vector<std::vector<int32_t>> twoStages = {{0, 1, 0, 1},
                                                     {0, 1, 1, 0}};
const std::vector<std::vector<int32_t>> anyPlacement = {
    {0},       {0, 0},    {0, 0, 0}, {1, 0},
    {0, 1, 0}, {0, 0, 1}, {1, 0, 0}, {0, 1, 0, 0}};

TEST(ExactSearch, OfOneStageARank) {
  Tally tally = checkKind({"one stage", oneStage}, 40, false);
  EXPECT_EQ(tally.proven, tally.problems);
  EXPECT_GT(tally.checked, tally.proven / 2);
}

TEST(ExactSearch, OfTwoStagesARank) {
  Tally tally = checkKind({"two stages", twoStages}, 60, true);
  EXPECT_EQ(tally.proven, tally.problems);
}

TEST(ExactSearch, OfUnevenStages) {
  for (const auto &placements : {oneStage, twoStages}) {
    Tally tally = checkKind({"uneven", placements, 1, 6, true}, 60, true);
    EXPECT_EQ(tally.proven, tally.problems);
  }
}

TEST(ExactSearch, OfMessagesInAnyOrder) {
  for (bool isUneven : {false, true}) {
    Tally tally =
        checkKind({"messages", twoStages, 1, 4, isUneven, 9}, 60, true);
    EXPECT_EQ(tally.proven, tally.problems);
    EXPECT_GT(tally.ordered, 0);
  }
}

TEST(ExactSearch, OfTasksWithoutTime) {
  for (const auto &placements : {oneStage, twoStages})
    checkKind({"no time", placements, 0, 2, true, 2}, 60, true);
}

TEST(ExactSearch, OfAnyPlacement) {
  checkKind({"any placement", anyPlacement, 1, 4, true, 3}, 100, true);
}

TEST(ExactSearch, OfCheaperBackwards) {
  for (const auto &placements : {oneStage, twoStages})
    checkKind({"cheaper", placements, 1, 5, true, 2, true}, caseCount(60),
              true);
}

TEST(ExactSearch, OfGraphsOfOneStageARank) {
  Tally tally =
      checkKind(graphOf("graph", {{0, 1, 2}, {0, 1, 2, 3}}), 80, false);
  EXPECT_EQ(tally.provenMakespans, tally.makespans);
  EXPECT_GT(tally.proven, tally.makespans);
  EXPECT_GT(tally.checked, tally.proven / 2);
}

TEST(ExactSearch, OfGraphs) {
  Tally tally = checkKind(
      graphOf("graph",
              {{0, 1, 1, 0}, {0, 1, 0, 1}, {0, 1, 2, 0}, {0, 0, 1, 1}}),
      caseCount(100), true);
  EXPECT_EQ(tally.provenMakespans, tally.makespans);
  EXPECT_GT(tally.checked, tally.proven / 2);
}

TEST(ExactSearch, OfGraphsWithMessagesInAnyOrder) {
  Kind kind = graphOf("graph with messages",
                      {{0, 1, 1, 0}, {0, 1, 0, 1}, {0, 1, 1, 2}});
  kind.maxNs = 4;
  kind.maxOccupancy = 9;
  Tally tally = checkKind(kind, caseCount(100), true);
  EXPECT_GT(tally.provenMakespans, tally.makespans / 2);
  EXPECT_GT(tally.ordered, 0);
}

TEST(ExactSearch, OfGraphsWithSeveralEnds) {
  Kind kind = graphOf("several ends", {{0, 1, 1, 0}, {0, 1, 0}, {0, 0, 0}});
  kind.hasSeveralEnds = true;
  kind.maxOccupancy = 3;
  checkKind(kind, 100, true);
}

TEST(ExactSearch, OfGraphsWithCheaperBackwards) {
  Kind kind = graphOf("cheaper", {{0, 1, 1, 0}, {0, 1, 2}});
  kind.hasCheaperBackward = true;
  checkKind(kind, caseCount(60), true);
}

TEST(ExactSearch, OfInputGradsThatTakeBytes) {
  for (const auto &placements : {oneStage, twoStages, anyPlacement}) {
    Kind kind{"later", placements, 1, 5, true, 2};
    kind.inputGradTakes = true;
    Tally tally = checkKind(kind, 80, true);
    EXPECT_GT(tally.proven, tally.problems / 2);
    EXPECT_GT(tally.checked, 0);
  }
}

/// Bounds from a rank's ends need more micro-batches than Exhaustive has time
/// for; the beam searches them.
TEST(ExactSearch, OfTightCaps) {
  Generator random(5);
  int64_t proven = 0;
  for (int n = 0; n < 40; ++n) {
    const int32_t ranks = int32_t(pick(random, 2, 3));
    const Unit unit = {pick(random, 1, 4), pick(random, 1, 4),
                       pick(random, 0, 4), 1, pick(random, 0, 3) ? 0 : 1};
    Problem problem =
        problemOn(random() % 2 ? waveRanks(ranks, 2) : loopedRanks(ranks, 2),
                  ranks, int32_t(pick(random, 3, 7 - ranks)), unit);
    problem.memoryCaps.assign(ranks, pick(random, 2, 5));
    problem.link.latencyNs = pick(random, 0, 2);
    if (random() % 2)
      problem.objective = Objective::Span;
    SearchOptions options;
    options.effort = 2000;
    options.timeLimitMs = 0;
    SearchResult result = search(problem, options);
    ASSERT_TRUE(result.schedule);
    proven += result.provenOptimal;
    for (const BoundArgument &argument : boundArguments())
      EXPECT_LE(provenBy(argument, problem, 20000),
                objectiveOf(problem, result.simulation))
          << argument.name << " of " << n;
  }
  EXPECT_GT(proven, 30);
}

/// Three activations leave few choices, so that many tasks can be searched.
TEST(ExactSearch, OfManyTasksUnderATightCap) {
  for (auto [ranks, makespanNs] :
       {std::pair(loopedRanks(4, 2), 1263), {waveRanks(4, 2), 1288}}) {
    Problem problem = problemOn(ranks, 4, 12, {10, 11, 8, 1, 0});
    problem.memoryCaps.assign(4, 3);
    SearchOptions options;
    options.effort = 10000;
    options.timeLimitMs = 0;
    SearchResult result = search(problem, options);
    ASSERT_TRUE(result.schedule);
    EXPECT_TRUE(result.provenOptimal);
    EXPECT_EQ(result.simulation.makespanNs, makespanNs);
    // Bound LB5 proves the same for the loop.
    EXPECT_STREQ(result.bound.name, makespanNs == 1263 ? "L5" : "L6");
  }
}

} // namespace
