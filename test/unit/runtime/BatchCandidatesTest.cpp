//===- BatchCandidatesTest.cpp - Programs of the next batch ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The batch after this one is planned while ranks train. Nobody may wait for
// ever at the end of a search, whichever process stops or fails.
//
//===----------------------------------------------------------------------===//

#include "BatchFixture.h"
#include "ExchangeStore.h"
#include "ManualClock.h"

#include "runtime/adaptive/batch_background.h"
#include "runtime/base/error.h"
#include "runtime/trainer/batch_candidates.h"

#include <condition_variable>
#include <future>
#include <map>
#include <mutex>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

/// Only tests that fail wait as long.
constexpr std::chrono::seconds deadline{20};

/// Plans as a test lets it.
class StepwisePlanner final : public BatchPlanner {
public:
  explicit StepwisePlanner(const Executable &executable)
      : own(batchSearch.makePlanner(executable)) {}

  PlannedBatch early(PackedBatch batch) override {
    clock->advance(2);
    PlannedBatch planned = own->early(std::move(batch));
    program = planned.program;
    return planned;
  }
  std::shared_ptr<const FoundProgram>
  improve(const PlannedBatch &, int64_t effort, uint64_t,
          const std::atomic<bool> &interrupt) override {
    std::unique_lock<std::mutex> lock(mutex);
    efforts.push_back(effort);
    changed.notify_all();
    // Nobody notifies of an interrupt.
    while (isStuck && !interrupt)
      changed.wait_for(lock, std::chrono::milliseconds(1));
    clock->advance(3);
    if (isFailing)
      throw Error("no order");
    return efforts.size() < 4 ? program : nullptr;
  }
  std::shared_ptr<const FoundProgram> ofKind(runtime::ProgramKind,
                                             const PackedBatch &) override {
    return nullptr;
  }
  /// Whether as many searches begin before the deadline.
  bool awaitSearches(size_t count) {
    std::unique_lock<std::mutex> lock(mutex);
    return changed.wait_for(lock, deadline,
                            [&] { return efforts.size() == count; });
  }

  const std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  bool isStuck = false, isFailing = false;
  std::vector<int64_t> efforts;
  std::mutex mutex;
  std::condition_variable changed;

private:
  const std::unique_ptr<BatchPlanner> own;
  std::shared_ptr<const FoundProgram> program;
};

TEST(BackgroundPlanner, TakesTheEarlyScheduleIfTheSearchIsLate) {
  const BatchExecutable executable;
  auto owned = std::make_unique<StepwisePlanner>(executable.exe());
  StepwisePlanner &planner = *owned;
  planner.isStuck = true;
  BackgroundPlanner background(std::move(owned), 800, {}, planner.clock);
  background.begin([] { return someBatch; }, 1);
  ASSERT_TRUE(planner.awaitSearches(1));
  const BackgroundPlanner::Result result = background.take();
  EXPECT_EQ(result.planned.source, PlannedBatch::Source::Early);
  EXPECT_EQ(result.seconds, 2);
  {
    std::lock_guard<std::mutex> lock(planner.mutex);
    planner.isStuck = false;
  }
  planner.changed.notify_all();
}

TEST(BackgroundPlanner, TakesTheSearchedScheduleIfItIsReady) {
  const BatchExecutable executable;
  auto owned = std::make_unique<StepwisePlanner>(executable.exe());
  StepwisePlanner &planner = *owned;
  BackgroundPlanner background(std::move(owned), 800, {}, planner.clock);
  background.begin([] { return someBatch; }, 1);
  // The last search begins after the result of the one before it is kept.
  ASSERT_TRUE(planner.awaitSearches(4));
  const BackgroundPlanner::Result result = background.take();
  EXPECT_EQ(result.planned.source, PlannedBatch::Source::Searched);
  EXPECT_EQ(result.seconds, 2 + 3 * 3);
  EXPECT_EQ(planner.efforts, (std::vector<int64_t>{100, 100, 200, 400}));
}

/// Other processes get each result, and then the number of all.
TEST(BackgroundPlanner, ReportsEachResultAndTheEnd) {
  const BatchExecutable executable;
  auto owned = std::make_unique<StepwisePlanner>(executable.exe());
  StepwisePlanner &planner = *owned;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int64_t> found, ends;
  BackgroundPlanner::Watch watch;
  watch.found = [&](const BackgroundPlanner::Result &result) {
    const std::lock_guard<std::mutex> lock(mutex);
    EXPECT_EQ(result.iteration, 7);
    found.push_back(result.number);
  };
  watch.ended = [&](int64_t iteration, int64_t count) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      EXPECT_EQ(iteration, 7);
      ends.push_back(count);
    }
    changed.notify_all();
  };
  BackgroundPlanner background(std::move(owned), 800, std::move(watch),
                               planner.clock);
  background.begin([] { return someBatch; }, 7);
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return !ends.empty(); });
  // The last of four further searches finds nothing.
  EXPECT_EQ(found, (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(ends, std::vector<int64_t>{4});
  lock.unlock();
  EXPECT_EQ(background.take().number, 3);
}

/// Also after a search that fails.
TEST(BackgroundPlanner, ReportsTheEndAfterASearchThatFails) {
  const BatchExecutable executable;
  auto owned = std::make_unique<StepwisePlanner>(executable.exe());
  StepwisePlanner &planner = *owned;
  planner.isFailing = true;
  std::promise<int64_t> end;
  BackgroundPlanner::Watch watch;
  watch.ended = [&](int64_t, int64_t count) { end.set_value(count); };
  BackgroundPlanner background(std::move(owned), 800, std::move(watch),
                               planner.clock);
  background.begin([] { return someBatch; }, 7);
  EXPECT_EQ(end.get_future().get(), 1);
  EXPECT_EQ(background.take().planned.source, PlannedBatch::Source::Early);
}

TEST(BackgroundPlanner, ReportsWhatPackingThrows) {
  const BatchExecutable executable;
  BackgroundPlanner background(batchSearch.makePlanner(executable.exe()), 0);
  background.begin([]() -> PackedBatch { throw Error("no data"); }, 1);
  EXPECT_THROW((void)background.take(), Error);
  background.begin([] { return someBatch; }, 1);
  EXPECT_EQ(background.take().planned.source, PlannedBatch::Source::Early);
}

//===----------------------------------------------------------------------===//
// Two processes.
//===----------------------------------------------------------------------===//

/// Exchanges between two processes, and the first that the other did not join
/// before the deadline.
struct Exchanges {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::map<int32_t, std::string>> values;
  std::string unanswered;
};

class PairStore final : public ExchangeStore {
public:
  PairStore(Exchanges &all, int32_t process) : all(all), process(process) {}

  std::vector<std::string> exchange(const std::string &name,
                                    const std::string &value,
                                    Patience) override {
    std::unique_lock<std::mutex> lock(all.mutex);
    auto &own = all.values[name];
    own[process] = value;
    all.changed.notify_all();
    if (all.changed.wait_for(lock, deadline, [&] { return own.size() == 2; }))
      return {own[0], own[1]};
    if (all.unanswered.empty())
      all.unanswered = name;
    throw Error("process " + std::to_string(process) + " waits alone for '" +
                name + "'");
  }

private:
  Exchanges &all;
  const int32_t process;
};

/// Both processes of a run that draws documents.
class Candidates : public testing::Test {
protected:
  static inline StepwisePlanner *planner = nullptr;
  static inline const BatchSearch stepwise = {[](const Executable &executable) {
    auto made = std::make_unique<StepwisePlanner>(executable);
    planner = made.get();
    return std::unique_ptr<BatchPlanner>(std::move(made));
  }};

  /// Process 0 has searches of `effort`, stuck until they are interrupted.
  void start(int64_t effort, bool isStuck,
             std::function<void(BatchRun &)> prepareAtSecond) {
    executable.program->exe.extras.batchSearch = &stepwise;
    for (int32_t p = 0; p < 2; ++p) {
      worlds[p].process = p;
      worlds[p].processes = 2;
      worlds[p].store = &stores[p];
    }
    first = std::make_unique<BatchCandidates>(
        executable.exe(), worlds[0],
        BatchCandidates::Options{[this](int64_t) { return pack(); },
                                 [](BatchRun &) {}, effort});
    planner->isStuck = isStuck;
    second = std::make_unique<BatchCandidates>(
        executable.exe(), worlds[1],
        BatchCandidates::Options{{}, std::move(prepareAtSecond), effort});
  }
  void begin(int64_t iteration) {
    first->begin(iteration);
    second->begin(iteration);
  }
  /// Ends process 0, then the other one. Returns the exchange for which one of
  /// them waited alone.
  std::string end() {
    first.reset();
    second.reset();
    return exchanges.unanswered;
  }

  std::function<PackedBatch()> pack = [] { return someBatch; };
  BatchExecutable executable;
  Exchanges exchanges;
  PairStore stores[2] = {{exchanges, 0}, {exchanges, 1}};
  World worlds[2];
  std::unique_ptr<BatchCandidates> first, second;
};

/// Process 0 stops before it plans the next batch, for which the other process
/// has begun to wait.
TEST_F(Candidates, ABatchThatIsNotPlannedEndsForAll) {
  start(/*effort=*/800, /*isStuck=*/true, [](BatchRun &) {});
  begin(1);
  ASSERT_TRUE(planner->awaitSearches(1));
  // The search of the first batch goes on until process 0 stops.
  begin(2);
  EXPECT_EQ(end(), "");
}

/// Nobody takes the batch whose packing fails, since the run stops.
TEST_F(Candidates, ABatchThatCannotBePackedEndsForAll) {
  std::promise<void> packs;
  pack = [&]() -> PackedBatch {
    packs.set_value();
    throw Error("no data");
  };
  start(/*effort=*/0, /*isStuck=*/false, [](BatchRun &) {});
  begin(1);
  packs.get_future().get();
  EXPECT_EQ(end(), "");
}

/// A process that cannot prepare a program still receives the others, for which
/// process 0 would wait. Its run fails when it takes the batch.
TEST_F(Candidates, AProcessThatFailsStillReceives) {
  start(/*effort=*/800, /*isStuck=*/false,
        [](BatchRun &) { throw Error("no memory"); });
  for (int64_t iteration : {1, 2}) {
    begin(iteration);
    if (iteration == 1) {
      ASSERT_TRUE(planner->awaitSearches(4)) << exchanges.unanswered;
    }
    auto taken = std::async(std::launch::async, [this] {
      int64_t waitNs = 0;
      return first->take(waitNs);
    });
    int64_t waitNs = 0;
    try {
      (void)second->take(waitNs);
      ADD_FAILURE() << "the batch is not ready";
    } catch (const Error &error) {
      EXPECT_STREQ(error.what(), "no memory");
    }
    EXPECT_NE(taken.get(), nullptr);
  }
  EXPECT_EQ(end(), "");
}

} // namespace
