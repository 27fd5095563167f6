//===- background.h - Estimates in a thread of their own --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_ADAPTIVE_BACKGROUND_H
#define RONDO_RUNTIME_ADAPTIVE_BACKGROUND_H

#include "runtime/adaptive/estimator.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

namespace rondo::runtime {

/// Estimates while the ranks train.
class BackgroundEstimator {
public:
  explicit BackgroundEstimator(Estimator estimator);
  /// Waits for an estimate that is under way.
  ~BackgroundEstimator();

  /// Begins an estimate with fresh measurements. If one is under way, it is
  /// finished first, and only the new one has a result.
  void begin(Measurements measured);
  /// The estimate that has ended since the last call; does not wait.
  std::optional<std::vector<int64_t>> takeResult();

private:
  void work();

  /// Only the thread uses it.
  Estimator estimator;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Measurements> fresh;
  std::optional<std::vector<int64_t>> result;
  bool isStopping = false;
  std::thread thread;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ADAPTIVE_BACKGROUND_H
