//===- Workers.h - The threads of one search --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_WORKERS_H
#define RONDO_SCHEDULE_SEARCH_WORKERS_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo {

/// Threads that wait for work. What is computed must not depend on which of
/// them computes it: then it does not depend on their number.
class Workers {
public:
  /// The thread that calls is one of them, so that 1 starts none; at most
  /// `most`.
  explicit Workers(int64_t threads);
  ~Workers();
  Workers(const Workers &) = delete;
  Workers &operator=(const Workers &) = delete;

  int32_t count() const { return int32_t(threads.size()) + 1; }
  /// How many take part in forEach() now.
  int32_t available() const { return count() - int32_t(isBeside); }
  /// Calls work(worker, i) for every i below `count`, and returns when all
  /// calls have. A thread takes them in ascending order. `worker` is a number
  /// below count(), and no two calls have the same at the same time. Neither
  /// may `work` call this, nor may two threads.
  void forEach(int64_t count,
               const std::function<void(int32_t worker, int64_t i)> &work);

  /// Lets one of the other threads call `work`. Until that returns, it takes no
  /// part in calls of forEach(); then it joins in. For count() above 1; no
  /// second one before awaitBeside().
  void startBeside(std::function<void()> work);
  /// Whether the work of startBeside() has not returned.
  bool isBesideBusy() const { return isBeside; }
  void awaitBeside();

  static constexpr int64_t most = 64;

private:
  void serve(int32_t worker, bool isLast);
  void take(int32_t worker);
  void serveCall(int32_t worker);
  uint64_t serveBeside(int32_t worker);

  std::vector<std::thread> threads;
  /// What the last thread does instead of calls, if `isBeside`.
  std::function<void()> workBeside;
  std::atomic<bool> isBeside{false};
  /// Of the present call of forEach().
  const std::function<void(int32_t, int64_t)> *present = nullptr;
  int64_t size = 0;
  std::atomic<int64_t> next{0};
  /// How many threads have not ended the present call.
  std::atomic<int32_t> busy{0};
  /// Counts calls; a thread starts when it changes.
  std::atomic<uint64_t> call{0};
  std::atomic<bool> isOver{false};
  std::mutex mutex;
  std::condition_variable hasCall, hasEnded;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_WORKERS_H
