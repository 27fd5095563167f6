//===- SearchThreadsTest.cpp - One search on several threads --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BeamRun.h"
#include "CaseCount.h"
#include "Examples.h"
#include "RandomProblem.h"

#include "schedule/bounds/Bounds.h"
#include "schedule/search/FamilyDrafts.h"
#include "schedule/search/Search.h"
#include "schedule/search/Workers.h"
#include "schedule/simulate/Objective.h"

#include <chrono>

using namespace rondo;
using namespace rondo::test;

namespace {

TEST(Workers, DoEverythingOnce) {
  for (int64_t threads : {1, 2, 5}) {
    Workers workers(threads);
    EXPECT_EQ(workers.count(), threads);
    for (int64_t count : {0, 1, 2, 3, 100, 1000, 7}) {
      std::vector<std::atomic<int32_t>> done(static_cast<size_t>(count));
      std::vector<std::atomic<bool>> isBusy(static_cast<size_t>(threads));
      workers.forEach(count, [&](int32_t worker, int64_t i) {
        EXPECT_FALSE(isBusy[worker].exchange(true));
        ++done[i];
        isBusy[worker] = false;
      });
      for (const std::atomic<int32_t> &times : done)
        EXPECT_EQ(times.load(), 1);
    }
  }
}

TEST(Workers, RunBesideEachOther) {
  Workers workers(3);
  std::atomic<int32_t> inside{0};
  std::atomic<bool> hasMet{true};
  workers.forEach(3, [&](int32_t, int64_t) {
    ++inside;
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (inside < 3 && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    if (inside < 3)
      hasMet = false;
  });
  EXPECT_TRUE(hasMet);
}

/// One thread works in parallel to calls, and joins in the call that is under
/// way when it has ended.
TEST(Workers, WorkBesideCalls) {
  Workers workers(3);
  std::atomic<bool> mayEnd{false}, hasEnded{false};
  auto waitFor = [](const std::atomic<bool> &holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!holds && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    return holds.load();
  };
  for (int turn = 0; turn < 3; ++turn) {
    mayEnd = hasEnded = false;
    workers.startBeside([&] { hasEnded = waitFor(mayEnd); });
    EXPECT_TRUE(workers.isBesideBusy());
    EXPECT_EQ(workers.count(), 3);
    EXPECT_EQ(workers.available(), 2);
    std::atomic<int64_t> sum{0};
    for (int64_t count : {1, 2, 100, 1000})
      workers.forEach(count, [&](int32_t worker, int64_t) {
        EXPECT_LT(worker, 2);
        ++sum;
      });
    EXPECT_EQ(sum, 1103);
    EXPECT_FALSE(hasEnded);
    // The others wait until it is there.
    std::atomic<bool> hasJoined{false};
    workers.forEach(3, [&](int32_t worker, int64_t) {
      mayEnd = true;
      if (worker == 2)
        hasJoined = true;
      else
        waitFor(hasJoined);
    });
    EXPECT_TRUE(hasJoined);
    workers.awaitBeside();
    EXPECT_TRUE(hasEnded);
    EXPECT_EQ(workers.available(), 3);
  }
}

SearchResult searchOn(const Problem &problem, int64_t threads, int64_t effort,
                      uint64_t seed) {
  SearchOptions options;
  options.timeLimitMs = 0;
  options.effort = effort;
  options.threads = threads;
  options.seed = seed;
  return search(problem, options);
}

/// Searches on 1, 2 and 4 threads; returns whether the optimum was proven.
bool searchesAlike(const Problem &problem, int64_t effort, uint64_t seed) {
  const SearchResult one = searchOn(problem, 1, effort, seed);
  for (int64_t threads : {2, 4}) {
    const SearchResult other = searchOn(problem, threads, effort, seed);
    EXPECT_EQ(one.schedule.has_value(), other.schedule.has_value());
    if (!one.schedule || !other.schedule)
      continue;
    EXPECT_TRUE(areEqual(*one.schedule, *other.schedule))
        << threads << " threads, effort " << effort;
    EXPECT_EQ(one.schedule->linkOrders.size(),
              other.schedule->linkOrders.size());
    EXPECT_EQ(one.bound.ns, other.bound.ns);
    EXPECT_STREQ(one.bound.name, other.bound.name);
    EXPECT_EQ(one.provenOptimal, other.provenOptimal);
    EXPECT_EQ(one.effort, other.effort);
    EXPECT_EQ(one.origin, other.origin);
    EXPECT_EQ(one.stop, other.stop);
  }
  return one.provenOptimal;
}

/// If time ends the search, a bound is sought on a thread of its own. Its
/// result counts, however few rounds there are meanwhile.
TEST(SearchThreads, SeekABoundBesideRounds) {
  Problem problem =
      problemOn(loopedRanks(8, 2), 8, 16, {5000, 5650, 3950, 4, 0});
  problem.memoryCaps.assign(8, 40);
  problem.link.latencyNs = 700;
  for (int32_t s = 0; s < problem.numStages(); ++s)
    for (ActionKind kind : {ActionKind::Forward, ActionKind::InputGrad,
                            ActionKind::WeightGrad, ActionKind::Backward})
      problem.cost(s, kind).ns +=
          problem.cost(s, kind).ns * (problem.rankOf(s) * 7 % 5) / 29;
  // A tenth of a millisecond passes with each look.
  static std::atomic<int64_t> looks;
  SearchOptions options;
  options.timeLimitMs = 200;
  options.clock = [] { return double(looks++) * 1e-4; };
  const SearchResult one = search(problem, options);
  options.threads = 2;
  const SearchResult two = search(problem, options);
  EXPECT_EQ(one.stop, SearchStop::Time);
  EXPECT_EQ(two.stop, SearchStop::Time);
  EXPECT_STREQ(two.bound.name, one.bound.name);
  EXPECT_GT(two.bound.ns, quickBound(problem).ns);
  EXPECT_LE(two.bound.ns, two.simulation.makespanNs);
}

TEST(SearchThreads, ChangeNoResultOfASmallProblem) {
  Engine random(31);
  int64_t open = 0, all = 0;
  for (int n = 0; n < 60; ++n) {
    Problem problem = n % 3 ? drawChain(random) : drawGraph(random);
    if (problem.check())
      continue;
    SCOPED_TRACE(n);
    ++all;
    open += !searchesAlike(problem, pick(random, 1, 600), uint64_t(n));
  }
  EXPECT_GT(all, 40);
  // A search that ends at once would leave little to compare.
  EXPECT_GT(open, 5);
}

TEST(SearchThreads, ChangeNoResultOfALargeProblem) {
  Engine random(32);
  int64_t large = 0;
  for (int n = 0; n < 12; ++n) {
    const Problem problem = drawLooped(random);
    ASSERT_FALSE(problem.check());
    SCOPED_TRACE(n);
    searchesAlike(problem, pick(random, 200, 1000), uint64_t(n));
    large += problem.numStages() * problem.microbatches * 3 > 200;
  }
  EXPECT_GT(large, 4);
}

/// Families are written ahead of their turn, also those that are thinned or
/// that an optimum or the end of the effort comes before.
TEST(SearchThreads, ChangeNothingInFamilies) {
  for (int32_t room : {6, 10, 16, 40}) {
    Problem problem =
        problemOn(loopedRanks(8, 2), 8, 220, {10000, 11000, 8000, 8, 0});
    problem.link.latencyNs = 500;
    problem.memoryCaps.assign(8, int64_t(8) * room);
    for (int64_t effort : {60, 160, 400, 900}) {
      SCOPED_TRACE(room);
      searchesAlike(problem, effort, 1);
    }
  }
}

TEST(SearchThreads, WriteFamiliesAhead) {
  Problem problem =
      problemOn(loopedRanks(8, 2), 8, 40, {10000, 11000, 8000, 8, 0});
  problem.memoryCaps.assign(8, int64_t(8) * 12);
  SearchOptions options;
  options.timeLimitMs = 0;
  Budget first(options), second(options);
  FamilyDrafts ahead(problem, allFamilies(), false),
      inTurn(problem, allFamilies(), false);
  Workers workers(2);
  ahead.writeAhead(workers, first, /*bound=*/0);
  // The tasks used after each order, with it and what is thinned of it.
  struct Visited {
    size_t i;
    Judged judged;
    std::optional<Judged> thinned;
    int64_t used;
  };
  auto visitAll = [](FamilyDrafts &drafts, bool areWritten, Budget &budget) {
    std::vector<Visited> all;
    drafts.forEach(
        [&](size_t i) {
          EXPECT_EQ(drafts.isWritten(i), areWritten) << i;
          return true;
        },
        [&](size_t i, Judged judged) {
          auto thinned = drafts.takeThinned(i, judged, never, budget);
          all.push_back(
              {i, std::move(judged), std::move(thinned), budget.tasksUsed()});
        });
    return all;
  };
  const std::vector<Visited> all = visitAll(ahead, true, first),
                             others = visitAll(inTurn, false, second);
  ASSERT_EQ(all.size(), others.size());
  int64_t thinned = 0;
  for (size_t n = 0; n < all.size(); ++n) {
    const Visited &one = all[n], &other = others[n];
    SCOPED_TRACE(one.i);
    EXPECT_EQ(one.i, other.i);
    EXPECT_TRUE(areEqual(one.judged.schedule, other.judged.schedule));
    EXPECT_EQ(one.judged.objective, other.judged.objective);
    EXPECT_EQ(one.judged.steps, other.judged.steps);
    EXPECT_EQ(one.thinned.has_value(), other.thinned.has_value());
    thinned += one.thinned.has_value();
    EXPECT_EQ(one.used, other.used);
  }
  EXPECT_GT(thinned, 0);
}

TEST(SearchThreads, ChangeNothingInABeam) {
  Engine random(33);
  Workers workers(4);
  int64_t found = 0;
  for (int n = 0; n < caseCount(40); ++n) {
    const Problem problem = n % 4 ? drawLooped(random) : drawChain(random);
    if (problem.check())
      continue;
    const auto flat = FlatProblem::of(problem, BackwardCosts::Split);
    ASSERT_TRUE(flat);
    // A beam takes quadratic time.
    if (flat->tasks() > 450)
      continue;
    const int64_t width = pick(random, 16, 40);
    const int64_t effort = n % 8 == 7 ? 400000 : never;
    const BeamRun one = runBeam(*flat, width, effort);
    const BeamRun four = runBeam(*flat, width, effort, &workers);
    EXPECT_EQ(one.best.objective, four.best.objective) << n;
    EXPECT_EQ(one.best.orders.ranks, four.best.orders.ranks) << n;
    EXPECT_EQ(one.best.orders.links, four.best.orders.links) << n;
    EXPECT_EQ(one.best.exhaustedNs, four.best.exhaustedNs) << n;
    EXPECT_EQ(one.isExhausted, four.isExhausted) << n;
    EXPECT_EQ(one.tasks, four.tasks) << n;
    found += one.best.objective < never;
  }
  EXPECT_GT(found, caseCount(10));
}

} // namespace
