//===- batch_background.h - Plans the next batch meanwhile ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_ADAPTIVE_BATCH_BACKGROUND_H
#define RONDO_RUNTIME_ADAPTIVE_BATCH_BACKGROUND_H

#include "runtime/adaptive/background_thread.h"
#include "runtime/adaptive/batch_programs.h"
#include "runtime/base/clock.h"

#include <exception>
#include <functional>
#include <memory>
#include <optional>

namespace rondo::runtime {

/// Packs and plans a batch while the ranks train on the one before.
class BackgroundPlanner {
public:
  struct Result {
    PlannedBatch planned;
    /// Time until the program was found.
    double seconds = 0;
    /// Its iteration, and its place among all results of this iteration.
    int64_t iteration = 0, number = 0;
  };
  /// Called on the planner's thread; either may be null.
  struct Watch {
    /// Before take() may return the result.
    std::function<void(const Result &)> found;
    /// An iteration has had `count` results, and gets no more.
    std::function<void(int64_t iteration, int64_t count)> ended;
  };

  /// `effort`: of the searches after the first one, in units of 1,000 tasks; 0:
  /// no further search. `clock`: null: the host's.
  BackgroundPlanner(std::unique_ptr<BatchPlanner> planner, int64_t effort,
                    Watch watch = {}, std::shared_ptr<Clock> clock = nullptr);
  /// Ends the search.
  ~BackgroundPlanner();

  /// Begins the batch of an iteration, which is also the seed of its searches;
  /// the one before must have been taken.
  void begin(std::function<PackedBatch()> pack, int64_t iteration);
  /// The best program by now. Waits for the early one, never for a further
  /// search, which it ends. Throws what packing or planning has thrown.
  Result take();

private:
  struct Request {
    std::function<PackedBatch()> pack;
    int64_t iteration;
  };

  void work();
  void plan(const Request &request);
  /// Says that an iteration has no candidates.
  void endEmpty(int64_t iteration);
  bool keep(Result next);

  // Only the thread uses these.
  const std::unique_ptr<BatchPlanner> planner;
  const int64_t effort;
  const Watch watch;
  const std::shared_ptr<Clock> clock;

  // Both sides use these.
  std::optional<Request> request;
  std::optional<Result> result;
  std::exception_ptr failure;
  /// Whether the batch that is being planned has been taken.
  std::atomic<bool> isTaken{false};
  BackgroundThread thread;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ADAPTIVE_BATCH_BACKGROUND_H
