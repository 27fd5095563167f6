//===- CopySearchTest.cpp - Search and bounds with copies to hosts --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/schedule/CaseCount.h"
#include "test/unit/schedule/RandomProblem.h"

#include "schedule/bounds/Bounds.h"
#include "schedule/bounds/PricedPaths.h"
#include "schedule/lists/RankLists.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/OneByOne.h"
#include "schedule/search/Search.h"
#include "schedule/simulate/Objective.h"

#include <numeric>

using namespace rondo;
using namespace rondo::test;

namespace {

/// A chain whose stages may copy, with tight caps.
Problem drawCopies(Engine &random, const std::vector<int32_t> &ranks,
                   int32_t microbatches) {
  const int32_t numRanks = 1 + *std::max_element(ranks.begin(), ranks.end());
  Problem problem = problemOn(ranks, numRanks, microbatches);
  HostMemory &host = problem.hostMemory;
  host.links.resize(numRanks);
  for (std::optional<HostLink> &link : host.links)
    link = HostLink{pick(random, 0, 1), pick(random, 0, 2) * 1000,
                    random() % 4 == 0};
  if (random() % 4 == 0) {
    host.shared = {{0, random() % 2 == 0}};
    host.sharedOf.assign(numRanks, 0);
  }
  if (random() % 4 == 0)
    for (int32_t r = 0; r < numRanks; ++r)
      host.caps.push_back(pick(random, 1, 6));
  std::vector<int64_t> most(numRanks);
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const int64_t activation = pick(random, 1, 4),
                  early = pick(random, 0, activation);
    problem.setStageCost(s, pick(random, 0, 5), pick(random, 0, 5),
                         pick(random, 0, 4), activation, early);
    most[ranks[s]] = std::max(most[ranks[s]], activation);
    const bool isLate = random() % 4 == 0;
    if (const int64_t limit = isLate ? activation - early : activation;
        limit > 0 && random() % 5 > 0)
      problem.setCopies(
          s, {pick(random, 1, limit),
              isLate ? LoadBefore::WeightGrad : LoadBefore::InputGrad,
              {},
              {}});
  }
  for (int32_t r = 0; r < numRanks; ++r)
    if (random() % 5 > 0)
      problem.memoryCaps[r] = most[r] + pick(random, 0, 4);
  problem.link.latencyNs = pick(random, 0, 2);
  if (host.hasCopies())
    host.loads.resize(problem.numReplicas());
  EXPECT_EQ(problem.check(), std::nullopt);
  return problem;
}

/// Micro-batches that differ: each cost of F, I, W and their bytes changes.
void makeUneven(Problem &problem, Engine &random) {
  std::vector<Cost> costs;
  for (const Cost &cost : problem.costs)
    costs.insert(costs.end(), problem.microbatches, cost);
  for (int32_t s = 0; s < problem.numStages(); ++s)
    for (int32_t i = 0; i < problem.microbatches; ++i) {
      const auto of = [&](ActionKind kind) -> Cost & {
        return costs[(s * numCostColumns + costColumn(kind)) *
                         problem.microbatches +
                     i];
      };
      const int64_t more = pick(random, 0, 3), moreNs = pick(random, 0, 3);
      of(ActionKind::Forward).acquireBytes += more;
      of(ActionKind::WeightGrad).releaseBytes += more;
      of(ActionKind::Backward).releaseBytes += more;
      of(ActionKind::Forward).ns += moreNs;
      of(ActionKind::InputGrad).ns += moreNs;
      of(ActionKind::Backward).ns += moreNs;
      if (problem.hostMemory.mayCopy(s))
        for (const ActionKind kind : {ActionKind::Save, ActionKind::Load})
          of(kind).ns += moreNs;
    }
  for (int64_t &cap : problem.memoryCaps)
    if (cap != noMemoryCap)
      cap += 3;
  problem.setUneven(std::move(costs), {});
  EXPECT_EQ(problem.check(), std::nullopt);
}

/// Every list of a rank that keeps the rules of its own order.
class AllLists {
public:
  AllLists(const Problem &problem, const TaskGraph &graph, int32_t rank)
      : problem(problem), graph(graph), rank(rank), placed(graph.size()) {
    for (size_t row = 0; row < graph.rows.size(); ++row)
      for (int32_t i = 0; i < graph.microbatches; ++i)
        if (const TaskId t = graph.id(int32_t(row), i);
            graph.exists[t] && graph.rows[row].rank == rank)
          tasks += !isCopy(graph.rows[row].kind);
    extend();
  }
  std::vector<std::vector<TaskId>> lists;

private:
  void extend() {
    if (tasks == 0 && open == 0)
      lists.push_back(list);
    for (TaskId t = 0; t < graph.size(); ++t) {
      const TaskRow &row = graph.row(t);
      if (row.rank != rank || !graph.exists[t] || placed[t] || !mayRun(t))
        continue;
      const int64_t heldBefore = held, hostBefore = hostHeld;
      placed[t] = true;
      held += graph.tasks[t].takes - graph.tasks[t].frees;
      hostHeld += graph.hostTakes(t) - graph.hostFrees(t);
      tasks -= !isCopy(row.kind);
      open += row.kind == ActionKind::Save   ? 1
              : row.kind == ActionKind::Load ? -1
                                             : 0;
      list.push_back(t);
      extend();
      list.pop_back();
      open -= row.kind == ActionKind::Save   ? 1
              : row.kind == ActionKind::Load ? -1
                                             : 0;
      tasks += !isCopy(row.kind);
      held = heldBefore;
      hostHeld = hostBefore;
      placed[t] = false;
    }
  }

  bool mayRun(TaskId t) const {
    const TaskRow &row = graph.row(t);
    const int32_t i = graph.tasks[t].microbatch;
    if (graph.tasks[t].takes > problem.memoryCaps[rank] - held ||
        graph.hostTakes(t) > problem.hostMemory.cap(rank) - hostHeld)
      return false;
    if (row.before >= 0 && !placed[graph.id(row.before, i)])
      return false;
    for (int32_t s = row.sourceBegin; s < row.sourceEnd; ++s)
      if (!placed[graph.id(graph.sources[s], i)])
        return false;
    if (row.kind == ActionKind::WeightGrad && i > 0 && !placed[t - 1])
      return false;
    // A micro-batch that has been saved is loaded before its consumer.
    if (row.load >= 0 && placed[graph.id(row.load, i) - graph.microbatches] &&
        !placed[graph.id(row.load, i)])
      return false;
    // No copies after the consumer.
    if (row.kind == ActionKind::Save)
      for (size_t other = 0; other < graph.rows.size(); ++other)
        if (graph.rows[other].load >= 0 &&
            graph.rows[other].replica == row.replica &&
            placed[graph.id(int32_t(other), i)])
          return false;
    return true;
  }

  const Problem &problem;
  const TaskGraph &graph;
  const int32_t rank;
  std::vector<uint8_t> placed;
  std::vector<TaskId> list;
  int64_t held = 0, hostHeld = 0;
  int32_t tasks = 0, open = 0;
};

/// The least objective of all lists of all ranks; `infinite` if there are none.
int64_t optimumOf(const Problem &problem, const TaskGraph &graph) {
  std::vector<AllLists> ranks;
  for (int32_t r = 0; r < graph.ranks; ++r)
    ranks.emplace_back(problem, graph, r);
  ListTimer timer(graph);
  RankLists lists = makeLists(graph);
  int64_t best = infinite;
  const auto set = [&](int32_t r, const std::vector<TaskId> &list) {
    std::copy(list.begin(), list.end(), lists.rank(r));
    lists.length[r] = int32_t(list.size());
    timer.derive(lists, r);
  };
  for (const std::vector<TaskId> &first : ranks[0].lists) {
    set(0, first);
    if (graph.ranks == 1)
      best = std::min(best, timer.run(lists));
    else
      for (const std::vector<TaskId> &second : ranks[1].lists) {
        set(1, second);
        best = std::min(best, timer.run(lists));
      }
  }
  return best;
}

TEST(CopySearch, FindsTheOptimaOfTinyProblemsAndNoBoundIsAbove) {
  Engine random(3);
  int solved = 0, sharper = 0, gains = 0;
  for (int n = 0; n < 60; ++n) {
    const std::vector<std::vector<int32_t>> placements = {
        {0}, {0, 1}, {0, 1, 1, 0}, {0, 0}};
    const auto &ranks = placements[n % placements.size()];
    const Problem problem =
        drawCopies(random, ranks, ranks.size() > 2 || n % 4 == 3 ? 1 : 2);
    if (!problem.hostMemory.hasCopies())
      continue;
    const std::optional<TaskGraph> graph = makeTaskGraph(problem, false);
    ASSERT_TRUE(graph);
    const int64_t optimum = optimumOf(problem, *graph);
    SearchOptions options;
    options.timeLimitMs = 0;
    options.effort = 400;
    const SearchResult found = search(problem, options);
    if (optimum == infinite) {
      EXPECT_FALSE(found.schedule) << n;
      continue;
    }
    ++solved;
    ASSERT_TRUE(found.schedule) << n;
    EXPECT_EQ(objectiveOf(problem, found.simulation), optimum) << n;
    EXPECT_EQ(checkSchedule(problem, *found.schedule), std::nullopt) << n;
    EXPECT_LE(found.bound.ns, optimum) << n;
    EXPECT_LE(bestBound(problem, optimum + 10, 100000).ns, optimum) << n;
    const Bound quick = quickBound(problem);
    EXPECT_LE(quick.ns, optimum) << n;
    sharper += quick.name == std::string("C1");
    SearchOptions plain = options;
    const SearchResult without = search(problem.withoutCopies(), plain);
    gains +=
        !without.schedule || objectiveOf(problem, without.simulation) > optimum;
    if (without.schedule) {
      EXPECT_GE(objectiveOf(problem, without.simulation), optimum) << n;
    }
  }
  EXPECT_GT(solved, 30);
  EXPECT_GT(sharper, 0);
  EXPECT_GT(gains, 5);
}

/// The bounds of all ranks by prices, from `known` on.
int64_t pricedBoundOf(const Problem &problem, int64_t known, int64_t ceiling) {
  const auto flat = FlatProblem::of(problem, BackwardCosts::Least);
  int64_t best = known;
  for (const RankPath &path : rankPathsOf(*flat, &problem)) {
    int64_t effort = 20000;
    if (path.slack(known) > 0)
      best = std::max(best, pricedPathsBound(path, problem.microbatches, known,
                                             ceiling, effort));
  }
  return best;
}

/// Counts how often a bound exceeds another one.
struct Gains {
  int byPrices = 0, byAreas = 0, aboveRough = 0;
};

/// Half-duplex and shared links, caps of the host, copies before W.
void expectBoundsBelow(const Problem &problem, int64_t known, Gains &gains) {
  EXPECT_LE(quickBound(problem).ns, known);
  const Bound best = bestBound(problem, known + 10, 100000);
  EXPECT_LE(best.ns, known);
  gains.byPrices += best.name == std::string("L8");
  gains.byAreas += best.name == std::string("C1");
  if (problem.isUneven())
    return;
  const int64_t rough = roughBound(problem).ns,
                priced = pricedBoundOf(problem, rough, known + 10);
  EXPECT_LE(priced, known);
  gains.aboveRough += priced > rough;
}

TEST(CopySearch, NoBoundIsAboveTheOptimum) {
  Engine random(13);
  int solved = 0;
  Gains gains;
  for (int n = 0; n < caseCount(2000); ++n) {
    const std::vector<std::vector<int32_t>> placements = {
        {0}, {0, 0}, {0, 1, 1, 0}, {0, 1, 0}, {0, 1}};
    const auto &ranks = placements[n % placements.size()];
    Problem problem = drawCopies(random, ranks, n % 5 == 0 ? 2 : 1);
    if (!problem.hostMemory.hasCopies())
      continue;
    SCOPED_TRACE(n);
    if (random() % 3 == 0)
      problem.objective = Objective::Span;
    const int64_t optimum = optimumOf(problem, *makeTaskGraph(problem, false));
    if (optimum == infinite)
      continue;
    ++solved;
    expectBoundsBelow(problem, optimum, gains);
  }
  EXPECT_GT(solved, caseCount(1500));
  EXPECT_GT(gains.aboveRough, caseCount(10));
}

TEST(CopySearch, NoFoundScheduleIsShorterThanABound) {
  Engine random(14);
  int solved = 0, met = 0;
  Gains gains;
  for (int n = 0; n < caseCount(400); ++n) {
    const std::vector<std::vector<int32_t>> placements = {
        {0, 1}, {0, 1, 2}, {0, 0}, {0, 1, 1, 0}, {0, 1, 0, 1}};
    Problem problem =
        drawCopies(random, placements[n % placements.size()], 2 + n % 4);
    if (!problem.hostMemory.hasCopies())
      continue;
    SCOPED_TRACE(n);
    if (random() % 3 == 0)
      problem.objective = Objective::Span;
    SearchOptions options;
    options.timeLimitMs = 0;
    options.effort = 60;
    const SearchResult found = search(problem, options);
    if (!found.schedule)
      continue;
    ++solved;
    met += found.provenOptimal;
    expectBoundsBelow(problem, objectiveOf(problem, found.simulation), gains);
  }
  EXPECT_GT(solved, caseCount(200));
  EXPECT_GT(met, caseCount(50));
  EXPECT_GT(gains.byPrices, caseCount(10));
  EXPECT_GT(gains.aboveRough, caseCount(100));
}

TEST(CopySearch, NoBoundIsAboveTheOptimumIfMicrobatchesDiffer) {
  Engine random(15);
  int solved = 0;
  Gains gains;
  for (int n = 0; n < caseCount(1200); ++n) {
    const bool isTiny = n % 3 > 0;
    Problem problem = drawCopies(random,
                                 isTiny  ? std::vector{0}
                                 : n % 2 ? std::vector{0, 1, 2}
                                         : std::vector{0, 1},
                                 isTiny ? 2 : 4);
    if (!problem.hostMemory.hasCopies())
      continue;
    SCOPED_TRACE(n);
    makeUneven(problem, random);
    if (random() % 3 == 0)
      problem.objective = Objective::Span;
    int64_t known = infinite;
    if (isTiny)
      known = optimumOf(problem, *makeTaskGraph(problem, false));
    SearchOptions options;
    options.timeLimitMs = 0;
    options.effort = 60;
    const SearchResult found = search(problem, options);
    if (found.schedule)
      known = std::min(known, objectiveOf(problem, found.simulation));
    if (known == infinite)
      continue;
    ++solved;
    expectBoundsBelow(problem, known, gains);
  }
  EXPECT_GT(solved, caseCount(600));
  EXPECT_GT(gains.byAreas, caseCount(10));
}

TEST(CopySearch, ListsTakeTheTimesOfTheSimulator) {
  Engine random(5);
  int legal = 0;
  for (int n = 0; n < 60; ++n) {
    const std::vector<std::vector<int32_t>> placements = {
        {0, 1}, {0, 1, 2}, {0, 1, 1, 0}, {0, 1, 0, 1}};
    Problem problem = drawCopies(random, placements[n % 4], 4);
    if (!problem.hostMemory.hasCopies())
      continue;
    for (int64_t &cap : problem.memoryCaps)
      if (cap != noMemoryCap)
        cap *= 2;
    if (random() % 2)
      problem.objective = Objective::Span;
    const std::optional<TaskGraph> graph = makeTaskGraph(problem, false);
    ASSERT_TRUE(graph);
    RankLists lists;
    ASSERT_TRUE(readLists(*graph, oneByOne(problem.withoutCopies()), lists));
    Legalizer legalizer(*graph, OrderClass::Sums);
    ListTimer timer(*graph);
    RankLists last = lists;
    for (int step = 0; step < 40; ++step) {
      lists = last;
      const auto r = int32_t(random() % graph->ranks);
      TaskId *list = lists.rank(r);
      const int32_t count = lists.length[r];
      const auto from = int32_t(random() % count),
                 to = int32_t(random() % count);
      if (from < to)
        std::rotate(list + from, list + from + 1, list + to + 1);
      else
        std::rotate(list + to, list + from, list + from + 1);
      bool isLegal = true;
      for (int32_t rank = 0; rank < graph->ranks; ++rank)
        isLegal &= legalizer.legalize(lists, rank, Overflow(random() % 3),
                                      int32_t(random() % 3));
      for (int32_t rank = 0; rank < graph->ranks; ++rank)
        timer.derive(lists, rank);
      const int64_t value = timer.run(lists);
      if (!isLegal || value == infinite)
        continue;
      last = lists;
      ++legal;
      const Schedule schedule = toSchedule(*graph, lists);
      ASSERT_EQ(checkSchedule(problem, schedule), std::nullopt);
      ASSERT_EQ(checkAccumulation(problem, schedule), std::nullopt);
      const Simulation run = simulate(problem, schedule);
      ASSERT_TRUE(run.complete);
      ASSERT_EQ(objectiveOf(problem, run), value) << n;
    }
  }
  EXPECT_GT(legal, 500);
}

/// Searches on 1 and 3 threads; returns whether the bound was reached.
bool searchesAlike(const Problem &problem, int64_t effort) {
  SearchOptions options;
  options.timeLimitMs = 0;
  options.effort = effort;
  const SearchResult one = search(problem, options);
  options.threads = 3;
  const SearchResult three = search(problem, options);
  EXPECT_EQ(one.effort, three.effort);
  EXPECT_EQ(one.origin, three.origin);
  EXPECT_EQ(one.bound.ns, three.bound.ns);
  EXPECT_EQ(one.schedule.has_value(), three.schedule.has_value());
  if (!one.schedule || !three.schedule)
    return false;
  EXPECT_EQ(objectiveOf(problem, one.simulation),
            objectiveOf(problem, three.simulation));
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    EXPECT_TRUE(std::equal(
        one.schedule->rank(r).begin(), one.schedule->rank(r).end(),
        three.schedule->rank(r).begin(), three.schedule->rank(r).end()));
  return one.provenOptimal;
}

TEST(CopySearch, ThreadsDoNotChangeTheResult) {
  Engine random(9);
  Problem problem = drawCopies(random, {0, 1, 2}, 6);
  problem.memoryCaps.assign(3, 6);
  for (int32_t s = 0; s < 3; ++s)
    problem.setCopies(s, {1, LoadBefore::InputGrad, 2, 2});
  searchesAlike(problem, 1000);
}

/// A chain that reaches the bound ends those after it, which may have run by
/// then or not. With NICs the chain's objective may be too small, and the
/// search goes on.
TEST(CopySearch, ThreadsDoNotChangeTheResultOnceTheBoundIsReached) {
  Engine random(21);
  int reached = 0, others = 0;
  for (int n = 0; n < 400; ++n) {
    const std::vector<std::vector<int32_t>> placements = {
        {0, 1}, {0, 1, 2}, {0, 1, 1, 0}};
    Problem problem = drawCopies(random, placements[n % 3], 3);
    if (!problem.hostMemory.hasCopies())
      continue;
    SCOPED_TRACE(n);
    if (n % 2) {
      problem.link.bytesPerUs = 1000;
      for (size_t e = 0; e < problem.edges.size(); ++e)
        problem.edges[e].bytes = pick(random, 1, 2);
      problem.nics.bytesPerUs.assign(problem.numRanks(), 1000);
      problem.nics.ofRank.resize(problem.numRanks());
      std::iota(problem.nics.ofRank.begin(), problem.nics.ofRank.end(), 0);
    }
    ++(searchesAlike(problem, pick(random, 10, 60)) ? reached : others);
  }
  EXPECT_GT(reached, 20);
  EXPECT_GT(others, 5);
}

} // namespace
