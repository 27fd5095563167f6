//===- batch_background.cpp - Plans the next batch meanwhile --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/adaptive/batch_background.h"

#include <algorithm>
#include <utility>

using namespace rondo::runtime;

/// The effort is spent in turns, each of which begins with the best order of
/// those before it and has this part of the effort: 1/8, 1/8, 1/4 and 1/2. So
/// a search that is ended early has found something.
static constexpr int64_t partsOfTurns[] = {8, 8, 4, 2};

BackgroundPlanner::BackgroundPlanner(std::unique_ptr<BatchPlanner> planner,
                                     int64_t effort, Watch watch,
                                     std::shared_ptr<Clock> clock)
    : planner(std::move(planner)), effort(effort), watch(std::move(watch)),
      clock(clock ? std::move(clock) : std::make_shared<SteadyClock>()) {
  thread.start([this] { work(); });
}

BackgroundPlanner::~BackgroundPlanner() {
  {
    // Both at once: work() goes on with a request if only isTaken is set.
    std::lock_guard<std::mutex> lock(thread.mutex);
    thread.isStopping = true;
    isTaken = true;
  }
  thread.stop();
}

void BackgroundPlanner::begin(std::function<PackedBatch()> pack,
                              int64_t iteration) {
  {
    std::lock_guard<std::mutex> lock(thread.mutex);
    request = {std::move(pack), iteration};
    result.reset();
    failure = nullptr;
  }
  thread.changed.notify_all();
}

BackgroundPlanner::Result BackgroundPlanner::take() {
  std::unique_lock<std::mutex> lock(thread.mutex);
  thread.changed.wait(lock, [this] { return result || failure; });
  isTaken = true;
  if (failure)
    std::rethrow_exception(std::exchange(failure, nullptr));
  return std::move(*std::exchange(result, std::nullopt));
}

/// Whether the batch still waits for a better program.
bool BackgroundPlanner::keep(Result next) {
  if (watch.found)
    watch.found(next);
  {
    std::lock_guard<std::mutex> lock(thread.mutex);
    if (isTaken)
      return false;
    result = std::move(next);
  }
  thread.changed.notify_all();
  return true;
}

void BackgroundPlanner::plan(const Request &of) {
  const int64_t begin = clock->now();
  auto seconds = [&] {
    return static_cast<double>(clock->now() - begin) * 1e-9;
  };
  Result best;
  try {
    best.planned = planner->early(of.pack());
  } catch (...) {
    endEmpty(of.iteration);
    throw;
  }
  best.seconds = seconds();
  best.iteration = of.iteration;
  bool isWanted = keep(best) && effort > 0;
  auto seed = static_cast<uint64_t>(of.iteration);
  auto turn = [&](int64_t parts) {
    std::shared_ptr<const FoundProgram> better = planner->improve(
        best.planned, std::max<int64_t>(1, effort / parts), seed++, isTaken);
    if (!better)
      return;
    best.planned.program = std::move(better);
    best.planned.source = PlannedBatch::Source::Searched;
    best.seconds = seconds();
    ++best.number;
    isWanted = keep(best);
  };
  try {
    for (int64_t parts : partsOfTurns)
      if (isWanted && !isTaken && !thread.isStopping)
        turn(parts);
  } catch (...) {
    // A further search that fails leaves the run with what it has.
  }
  if (watch.ended)
    watch.ended(of.iteration, best.number + 1);
}

void BackgroundPlanner::endEmpty(int64_t iteration) {
  try {
    if (watch.ended)
      watch.ended(iteration, 0);
  } catch (...) {
    // The processes that waited for it have left.
  }
}

void BackgroundPlanner::work() {
  BackgroundThread::lowerPriority();
  for (;;) {
    std::unique_lock<std::mutex> lock(thread.mutex);
    thread.changed.wait(lock, [this] { return thread.isStopping || request; });
    if (thread.isStopping) {
      if (const auto unplanned = std::exchange(request, std::nullopt)) {
        lock.unlock();
        endEmpty(unplanned->iteration);
      }
      return;
    }
    const Request next = *std::exchange(request, std::nullopt);
    isTaken = false;
    lock.unlock();
    try {
      plan(next);
    } catch (...) {
      lock.lock();
      if (!result && !isTaken)
        failure = std::current_exception();
      lock.unlock();
      thread.changed.notify_all();
    }
  }
}
