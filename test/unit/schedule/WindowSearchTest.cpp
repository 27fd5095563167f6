//===- WindowSearchTest.cpp - Searches of overlapping iterations ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/WindowSearch.h"
#include "RandomProblem.h"
#include "WindowExamples.h"
#include "schedule/search/DepthOrder.h"

using namespace rondo;
using namespace rondo::test;

namespace {

PolicyChoice policyNamed(const std::string &name, const Problem &problem) {
  for (const NamedPolicy &named : namedPolicies)
    if (name == named.name)
      return {name,
              std::vector<VersionPolicy>(problem.numStages(), named.policy)};
  ADD_FAILURE() << name;
  return {};
}

WindowSearchOptions optionsFor(const Problem &problem,
                               const std::vector<std::string> &policies,
                               int64_t maxDelay = anyDelay) {
  WindowSearchOptions options;
  options.search.timeLimitMs = 0;
  options.search.effort = 4000;
  options.maxDelay = maxDelay;
  for (const std::string &name : policies)
    options.policies.push_back(policyNamed(name, problem));
  return options;
}

/// Properties that a search's figures require of its schedule.
void expectSound(const WindowSearchResult &found, const Problem &window,
                 int64_t maxDelay) {
  ASSERT_TRUE(found.schedule) << describe(*found.fault);
  EXPECT_FALSE(checkSchedule(found.problem, *found.schedule));
  const auto versions =
      *analyzeVersions(found.problem, *found.schedule, found.simulation);
  for (int32_t replica = 0; replica < window.numReplicas(); ++replica) {
    const ReplicaVersions &of = versions.replicas[replica];
    EXPECT_LE(of.forwardDelay.most, maxDelay);
    EXPECT_LE(of.backwardDelay.most, maxDelay);
    const int64_t weights =
        window.weightBytes.empty() ? 0 : window.weightBytes[replica];
    const int32_t rank = window.rankOf(replica);
    EXPECT_LE(found.simulation.peakBytes[rank] + (of.copies - 1) * weights,
              found.figures.heldBytes[rank]);
    EXPECT_LE(found.figures.heldBytes[rank], window.memoryCaps[rank]);
  }
  EXPECT_GE(found.figures.time.each(), double(found.boundNs) - 1e-9);
}

/// A window with random costs, weights and caps on one stage a rank.
Problem drawWindow(Engine &random, int32_t stages, int32_t each, bool hasCaps) {
  Problem problem = linearProblem(stages, each * 5);
  problem.iterations = 5;
  std::vector<int64_t> outputBytes;
  for (int32_t s = 0; s < stages; ++s) {
    const int64_t activation = pick(random, 1, 6);
    problem.setStageCost(s, pick(random, 1, 9), pick(random, 1, 9),
                         pick(random, 1, 9), activation,
                         pick(random, 0, activation));
    problem.cost(s, ActionKind::Step).ns = pick(random, 0, 4);
    problem.weightBytes.push_back(pick(random, 0, 8));
    outputBytes.push_back(pick(random, 0, 3));
    if (hasCaps)
      problem.memoryCaps[s] = activation * pick(random, 1, 5) +
                              problem.weightBytes[s] * pick(random, 0, 3);
  }
  problem.makeChain(outputBytes);
  problem.link.latencyNs = pick(random, 0, 3);
  problem.link.bytesPerUs = pick(random, 0, 1) * 900;
  EXPECT_FALSE(problem.check());
  return problem;
}

struct Best {
  double ns = 1e300;
  int64_t peak = 0;
};

/// Times and memory of all depths up to a limit, from a long window: nothing
/// here is shared with the search but the simulator and the analysis.
class AllDepths {
public:
  AllDepths(const Problem &problem, const VersionPolicy &policy,
            int64_t maxDelay)
      : problem(problem), maxDelay(maxDelay) {
    longer = *overIterations(problem, 260);
    longer.versions.assign(problem.numStages(), policy);
  }

  Best best(BackwardStyle style, int32_t most,
            int32_t lateStages = everyStage) {
    order = {style, std::vector<int32_t>(problem.numStages(), 0), lateStages};
    visit(0, most);
    return found;
  }

private:
  void visit(size_t stage, int32_t most) {
    if (stage == order.depths.size()) {
      judge();
      return;
    }
    for (int32_t d = leastDepth(problem, order.style); d <= most; ++d) {
      order.depths[stage] = d;
      visit(stage + 1, d);
    }
  }

  void judge() {
    const Schedule schedule = scheduleOf(longer, order);
    Simulation run = simulate(longer, schedule, /*keepTimes=*/true);
    ASSERT_TRUE(run.complete);
    const auto versions = analyzeVersions(longer, schedule, run);
    if (!versions)
      return;
    int64_t peak = 0;
    for (int32_t s = 0; s < longer.numReplicas(); ++s) {
      const ReplicaVersions &replica = versions->replicas[s];
      const bool hasMean =
          longer.versions[s].backward == BackwardWeights::Extrapolated;
      const int64_t held =
          run.peakBytes[s] +
          (replica.copies - 1 + (hasMean ? 1 : 0)) * longer.weightBytes[s];
      if (held > longer.memoryCaps[s] || replica.forwardDelay.most > maxDelay ||
          replica.backwardDelay.most > maxDelay)
        return;
      peak = std::max(peak, held);
    }
    // From iteration 60 to 240.
    std::vector<int64_t> steps;
    for (int64_t i = 0; i < schedule.numActions(); ++i)
      if (const Action action = schedule.rank(0).begin()[i];
          action.kind() == ActionKind::Step && action.subject == 0)
        steps.push_back(run.endNs[i]);
    const double ns = double(steps[240] - steps[60]) / 180;
    if (ns < found.ns - 1e-9)
      found = {ns, peak};
    else if (ns < found.ns + 1e-9)
      found.peak = std::min(found.peak, peak);
  }

  const Problem &problem;
  const int64_t maxDelay;
  Problem longer;
  DepthOrder order;
  Best found;
};

TEST(WindowSearch, IsNoWorseThanAnyDepths) {
  Engine random(7);
  int numCapped = 0, numOptimal = 0, numMixed = 0;
  for (int trial = 0; trial < 62; ++trial) {
    // The last ones are too many to check all.
    const auto stages = trial < 60 ? int32_t(pick(random, 1, 3)) : 5;
    const auto each = int32_t(pick(random, 1, 3));
    const Problem problem =
        drawWindow(random, stages, each, /*hasCaps=*/trial % 4 != 0);
    const int64_t maxDelay =
        pick(random, 0, 3) == 0 ? pick(random, 0, 2) : anyDelay;
    const char *names[] = {"pipedream", "2bw", "pipemare", "timeprest"};
    const std::string name = names[trial % 4];
    const WindowSearchOptions options = optionsFor(problem, {name}, maxDelay);
    const WindowSearchResult found = searchWindow(problem, options);
    AllDepths all(problem, options.policies[0].versions[0], maxDelay);
    Best best;
    for (BackwardStyle style : {BackwardStyle::Fused, BackwardStyle::Split,
                                BackwardStyle::LateWeights}) {
      best = all.best(style, 6);
      if (each == 1 && style == BackwardStyle::Split)
        break;
    }
    const Best alike = best;
    for (int32_t late = 1; late < stages && each > 1 && trial < 60; ++late)
      best = all.best(BackwardStyle::LateWeights, 6, late);
    numMixed += best.ns < alike.ns - 1e-6;
    if (name == "timeprest" && each > 1)
      best = all.best(BackwardStyle::Whole, 3 * each + 3);
    if (!found.schedule) {
      // One micro-batch does not fit.
      EXPECT_EQ(best.ns, 1e300) << trial;
      continue;
    }
    expectSound(found, problem, maxDelay);
    const double ns = found.figures.time.each();
    EXPECT_LE(ns, best.ns + 1e-6) << trial << " " << name << found.origin;
    if (std::abs(ns - best.ns) < 1e-6) {
      EXPECT_LE(*std::max_element(found.figures.heldBytes.begin(),
                                  found.figures.heldBytes.end()),
                best.peak)
          << trial << " " << name << " " << found.origin;
    }
    numCapped += ns > double(found.boundNs) + 1e-6;
    numOptimal += found.isOptimal;
  }
  // All kinds occur.
  EXPECT_GT(numMixed, 0);
  EXPECT_GT(numCapped, 10);
  EXPECT_GT(numOptimal, 10);
}

TEST(WindowSearch, OrdersStagesWithSeveralReplicasAndRecomputation) {
  Problem problem;
  problem.microbatches = 8;
  problem.iterations = 4;
  problem.samples = 2;
  problem.memoryCaps.assign(4, noMemoryCap);
  problem.replicas.addStage({{0, 1}, {1, 1}});
  problem.replicas.addStage({{2, 1}, {3, 1}});
  for (int32_t s = 0; s < 2; ++s)
    problem.setStageCost(s, 6, 6, 6, 8, 2);
  problem.setRecomputation(1, Recomputation::FromInput, 4, 6, 0);
  problem.makeChain({0, 0});
  ASSERT_FALSE(problem.check());
  const WindowSearchResult found =
      searchWindow(problem, optionsFor(problem, {"pipedream"}));
  ASSERT_TRUE(found.schedule);
  EXPECT_FALSE(found.onlyDrained);
  EXPECT_FALSE(checkSchedule(found.problem, *found.schedule));
  // Two micro-batches of half the samples: 9 ns of F, I and W each, and on the
  // last stage 2 of R.
  EXPECT_EQ(found.boundNs, 2 * (9 + 2));
  EXPECT_TRUE(found.isOptimal) << found.figures.time.each();
}

TEST(WindowSearch, TakesOneBackwardAnIterationWhereSlotsCountOnce) {
  const Problem slots = inSlots(windowOf(3, 4, 4));
  const WindowSearchResult found =
      searchWindow(slots, optionsFor(slots, {"timeprest"}));
  ASSERT_TRUE(found.schedule);
  // Four forwards and a backward.
  EXPECT_EQ(found.boundNs, 5);
  EXPECT_TRUE(found.isOptimal);
  EXPECT_TRUE(found.schedule->hasCounts());
}

TEST(WindowSearch, SaysWhatTheBoundWouldTake) {
  Problem problem = windowOf(4, 2, 4);
  problem.weightBytes.assign(4, 100);
  problem.memoryCaps[0] = 150;
  const WindowSearchResult found =
      searchWindow(problem, optionsFor(problem, {"pipedream"}));
  ASSERT_TRUE(found.schedule);
  EXPECT_FALSE(found.isOptimal);
  ASSERT_TRUE(found.unlimited);
  EXPECT_EQ(found.shortRank, 0);
  // Four activations and two old versions.
  EXPECT_EQ(found.unlimited->heldBytes[0], 204);
  EXPECT_EQ(found.unlimited->delay, 2);
  EXPECT_EQ(found.unlimited->time.each(), 6);
}

// Two stages on each of two ranks have depths, as on ranks of their own.
TEST(WindowSearch, OrdersSeveralStagesARank) {
  Problem problem = problemOn({0, 1, 0, 1}, 2, 4);
  problem.iterations = 2;
  const WindowSearchResult found =
      searchWindow(problem, optionsFor(problem, {"pipedream"}));
  ASSERT_TRUE(found.schedule);
  EXPECT_FALSE(found.onlyDrained);
  EXPECT_TRUE(found.isOptimal);
  EXPECT_EQ(found.figures.delay, 2);
  EXPECT_EQ(found.figures.copies, 3);
}

TEST(WindowSearch, IsTheSameAgain) {
  Engine random(2);
  const Problem problem = drawWindow(random, 5, 3, /*hasCaps=*/true);
  const WindowSearchOptions options =
      optionsFor(problem, {"2bw", "pipedream"}, 2);
  const WindowSearchResult once = searchWindow(problem, options),
                           again = searchWindow(problem, options);
  ASSERT_EQ(once.schedule.has_value(), again.schedule.has_value());
  EXPECT_EQ(once.origin, again.origin);
  EXPECT_EQ(once.policy, again.policy);
  EXPECT_EQ(once.effort, again.effort);
}

/// Two stages on each of two ranks: a V, or a loop.
Problem chunkedWindow(bool isV, int64_t cap) {
  Problem problem =
      problemOn(isV ? waveRanks(2, 2) : loopedRanks(2, 2), 2, 4 * 6);
  problem.iterations = 6;
  for (int32_t s = 0; s < 4; ++s)
    problem.setStageCost(s, 2 + s % 2, 3, 2, 5 + s, 1);
  problem.memoryCaps.assign(2, cap);
  problem.weightBytes.assign(4, 20);
  problem.link.latencyNs = 1;
  EXPECT_FALSE(problem.check());
  return problem;
}

// The mean of changes takes its part of a cap, whatever the order that is found
// without it.
TEST(WindowSearch, ALooserCapFindsWhatATighterOneDoes) {
  for (bool isV : {true, false})
    for (const char *policy : {"pipemare", "pipedream", "2bw", "timeprest"}) {
      bool wasFound = false;
      for (int64_t cap = 8; cap <= 120; cap += 4) {
        const Problem window = chunkedWindow(isV, cap);
        const WindowSearchResult found =
            searchWindow(window, optionsFor(window, {policy}));
        EXPECT_TRUE(found.schedule || !wasFound) << policy << " " << cap;
        if (!found.schedule)
          continue;
        wasFound = true;
        for (int32_t rank = 0; rank < 2; ++rank)
          EXPECT_LE(found.figures.heldBytes[rank], cap);
      }
      EXPECT_TRUE(wasFound) << policy;
    }
}

// The memory that a refusal calls enough is enough.
TEST(WindowSearch, SaysHowMuchIsEnough) {
  const Problem window = chunkedWindow(/*isV=*/true, 40);
  const WindowSearchResult none =
      searchWindow(window, optionsFor(window, {"pipemare"}));
  ASSERT_FALSE(none.schedule);
  ASSERT_EQ(none.fault->kind, FaultKind::NoWindowFits);
  const auto enough = std::get<int64_t>(none.fault->parts[0]);
  EXPECT_GT(enough, 40);
  const Problem larger = chunkedWindow(true, enough),
                smaller = chunkedWindow(true, enough - 1);
  EXPECT_TRUE(searchWindow(larger, optionsFor(larger, {"pipemare"})).schedule);
  EXPECT_FALSE(
      searchWindow(smaller, optionsFor(smaller, {"pipemare"})).schedule);
}

} // namespace
