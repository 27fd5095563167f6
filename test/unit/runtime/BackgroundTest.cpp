//===- BackgroundTest.cpp - Estimates and searches while ranks train ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AdaptiveFixture.h"
#include "AllocationFailure.h"

#include "runtime/adaptive/background.h"
#include "runtime/base/clock.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

TEST(BackgroundEstimator, AnswersOnceAndForAllMeasurements) {
  const Candidates candidates;
  BackgroundEstimator background(
      Estimator(candidates.program->exe, candidates.pipelines));
  EXPECT_FALSE(background.takeResult());
  background.begin(candidates.like(9000, 1));
  background.begin(candidates.like(2000, 1));
  std::optional<Estimates> result;
  while (!(result = background.takeResult()))
    std::this_thread::yield();
  EXPECT_NEAR(double(result->ns.front()), 48000, 100);
}

TEST(BackgroundEstimator, GoesOnWhenAnEstimateFails) {
  const Candidates candidates;
  BackgroundEstimator background(
      Estimator(candidates.program->exe, candidates.pipelines));
  std::optional<Estimates> result;
  {
    const AllocationFailure failure(1, AllocationFailure::OtherThreads);
    background.begin(candidates.like(2000, 1));
    while (!(result = background.takeResult()))
      std::this_thread::yield();
    EXPECT_TRUE(failure.hasStruck());
  }
  EXPECT_NE(result->why, "");
  EXPECT_EQ(result->ns, std::vector<int64_t>(candidates.pipelines.size(), -1));
  background.begin(candidates.like(2000, 1));
  while (!(result = background.takeResult()))
    std::this_thread::yield();
  EXPECT_EQ(result->why, "");
  EXPECT_NEAR(double(result->ns.front()), 48000, 100);
}

/// Whichever of its allocations fails, the thread estimates the next
/// measurements.
TEST(BackgroundEstimator, GoesOnWhereverMemoryIsNotEnough) {
  const Candidates candidates;
  for (size_t allocation = 0;; ++allocation) {
    BackgroundEstimator background(
        Estimator(candidates.program->exe, candidates.pipelines));
    bool hasStruck = false;
    {
      const AllocationFailure failure(1, AllocationFailure::OtherThreads,
                                      allocation);
      background.begin(candidates.like(2000, 1));
      while (!failure.hasStruck() && !background.takeResult())
        std::this_thread::yield();
      hasStruck = failure.hasStruck();
    }
    background.begin(candidates.like(2000, 1));
    std::optional<Estimates> result;
    const int64_t deadlineNs = nowNs() + 20'000'000'000;
    while (!result || !result->why.empty()) {
      result = background.takeResult();
      ASSERT_LT(nowNs(), deadlineNs) << "allocation " << allocation;
      std::this_thread::yield();
    }
    EXPECT_NEAR(double(result->ns.front()), 48000, 100);
    if (!hasStruck) {
      EXPECT_GT(allocation, 2);
      return;
    }
  }
}

TEST(ScheduleSearch, FindsAFasterOrderWithinTheArenas) {
  const Candidates candidates;
  Estimator estimator(candidates.program->exe, candidates.pipelines);
  estimator.take(candidates.like(1000, 3000));
  const std::vector<int64_t> before = estimator.estimate();
  SearchRequest request{candidates.program->exe, *candidates.pipelines.front(),
                        estimator.values(0), 200, nullptr};
  const SearchOutcome outcome = scheduleSearch.find(request);
  ASSERT_TRUE(outcome.found) << outcome.why;
  EXPECT_LE(outcome.found->ns, *std::min_element(before.begin(), before.end()));
  for (size_t r = 0; r < outcome.found->program.arenaBytes.size(); ++r)
    EXPECT_LE(outcome.found->program.arenaBytes[r],
              candidates.program->exe.arenaBytes[r]);
}

TEST(ScheduleSearch, UsesTheMemoryThatThereIs) {
  const Candidates candidates;
  Estimator estimator(candidates.program->exe, candidates.pipelines);
  estimator.take(candidates.like(1000, 3000));
  const ProgramDesc &like = *candidates.pipelines.front();
  Executable exe = candidates.program->exe;
  // Pools with `slots` slots, one for each micro-batch.
  auto findWith = [&](int32_t slots) {
    std::vector<int64_t> arenas(static_cast<size_t>(exe.numRanks), 0);
    for (const PoolDesc *pool = like.pools; pool != like.pools + like.numPools;
         ++pool)
      arenas[static_cast<size_t>(pool->rank)] +=
          pool->slotBytes * std::min(pool->slots, slots);
    exe.arenaBytes = arenas.data();
    return scheduleSearch.find({exe, like, estimator.values(0), 200, nullptr});
  };
  const SearchOutcome little = findWith(2), much = findWith(6);
  ASSERT_TRUE(little.found) << little.why;
  ASSERT_TRUE(much.found) << much.why;
  EXPECT_GT(little.found->ns, much.found->ns);
}

TEST(ScheduleSearch, SaysWhereNothingFits) {
  const Candidates candidates;
  Executable exe = candidates.program->exe;
  const std::vector<int64_t> none(static_cast<size_t>(exe.numRanks), 0);
  exe.arenaBytes = none.data();
  const ProgramValues values = valuesOf(exe, *candidates.pipelines.front());
  const SearchOutcome outcome = scheduleSearch.find(
      {exe, *candidates.pipelines.front(), values, 200, nullptr});
  EXPECT_FALSE(outcome.found);
  EXPECT_NE(outcome.why, "");
}

/// Tasks of the first rank.
static std::vector<Action> tasksOfFirst(const rondo::Program &program) {
  std::vector<Action> tasks;
  for (Action action : program.order.rank(0))
    if (action.isTask())
      tasks.push_back(action);
  return tasks;
}

TEST(ScheduleSearch, StartsFromOrdersThatAreThere) {
  const Candidates candidates;
  Estimator estimator(candidates.program->exe, candidates.pipelines);
  estimator.take(candidates.like(1000, 3000));
  // Everything fits, and there is no time to try families: the order that is
  // there.
  Executable exe = candidates.program->exe;
  const std::vector<int64_t> arenas(static_cast<size_t>(exe.numRanks), 1 << 30);
  exe.arenaBytes = arenas.data();
  std::atomic<bool> isOver{true};
  SearchRequest request{exe, *candidates.pipelines.front(), estimator.values(0),
                        1, &isOver};
  for (size_t p : {size_t(0), size_t(1)}) {
    const rondo::Program &start = estimator.values(p).program;
    request.starts = {&start};
    const SearchOutcome outcome = scheduleSearch.find(request);
    ASSERT_TRUE(outcome.found) << outcome.why;
    EXPECT_EQ(tasksOfFirst(outcome.found->program), tasksOfFirst(start));
    // Its messages are placed for these links.
    EXPECT_LE(outcome.found->ns, estimator.estimate()[p]);
  }
  EXPECT_NE(tasksOfFirst(estimator.values(0).program),
            tasksOfFirst(estimator.values(1).program));
}

/// A search that finds the program that it is asked for, in `ns`.
struct CountedSearch {
  static inline std::vector<std::pair<int64_t, size_t>> requests;
  static inline std::vector<FoundSchedule> answers;
  static inline std::mutex mutex;

  static SearchOutcome find(const SearchRequest &request) {
    std::lock_guard<std::mutex> lock(mutex);
    requests.push_back({request.timeLimitMs, request.starts.size()});
    FoundSchedule found{request.values.program, 1000000};
    if (requests.size() <= answers.size()) {
      found.ns = answers[requests.size() - 1].ns;
      found.isOptimal = answers[requests.size() - 1].isOptimal;
    }
    return {std::move(found), ""};
  }
  static size_t count() {
    std::lock_guard<std::mutex> lock(mutex);
    return requests.size();
  }
  /// Searches with these answers, later ones too slow, until it has ended.
  static void run(std::vector<FoundSchedule> with, size_t turns) {
    requests.clear();
    answers = std::move(with);
    const Candidates candidates;
    const ScheduleSearch search{find};
    SearchPlan plan;
    plan.executable = &candidates.program->exe;
    plan.search = &search;
    BackgroundEstimator background(
        Estimator(candidates.program->exe, candidates.pipelines), plan);
    background.begin(candidates.like(1000, 3000));
    while (count() < turns)
      std::this_thread::yield();
    // The same again changes nothing; a turn too many would end before the
    // second answer.
    for (int more = 0; more < 2; ++more) {
      background.begin(candidates.like(1000, 3000));
      while (!background.takeResult())
        std::this_thread::yield();
    }
    EXPECT_EQ(count(), turns);
  }
};

TEST(BackgroundEstimator, SearchesInTurnsFromWhatIsKnown) {
  // Nothing is worth a switch, but each next turn starts from it too.
  CountedSearch::run({}, 4);
  EXPECT_EQ(CountedSearch::requests,
            (std::vector<std::pair<int64_t, size_t>>{
                {100, 2}, {200, 3}, {400, 3}, {400, 3}}));
}

TEST(BackgroundEstimator, EndsASearchThatCannotImprove) {
  FoundSchedule optimal;
  optimal.ns = 2000000;
  optimal.isOptimal = true;
  CountedSearch::run({optimal}, 1);
}

TEST(BackgroundEstimator, SearchesWhereCostsHaveChanged) {
  const Candidates candidates;
  SearchPlan plan;
  plan.executable = &candidates.program->exe;
  plan.search = &scheduleSearch;
  plan.timeLimitMs = 100;
  BackgroundEstimator background(
      Estimator(candidates.program->exe, candidates.pipelines), plan);
  background.begin(candidates.like(1000, 3000));
  std::optional<Estimates> result;
  for (int round = 0; round < 2000; ++round) {
    if (auto fresh = background.takeResult())
      result = std::move(fresh);
    if (result && !result->found.empty())
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(result);
  ASSERT_GE(result->found.size(), 1u);
  ASSERT_GE(result->ns.size(), 3u);
  EXPECT_LT(result->ns[2], std::min(result->ns[0], result->ns[1]));
  EXPECT_STREQ(result->found[0]->desc().name, "found_1");
}

} // namespace
