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

/// Threads that wait for work. Results must not depend on which thread computes
/// them; then they do not depend on the number of threads.
class Workers {
public:
  /// `threads` includes the calling thread, so 1 starts none; at most `most`.
  explicit Workers(int64_t threads);
  ~Workers();
  Workers(const Workers &) = delete;
  Workers &operator=(const Workers &) = delete;

  int32_t count() const { return int32_t(threads.size()) + 1; }
  /// Number of threads that can take part in forEach().
  int32_t available() const { return count() - int32_t(isBeside); }
  /// Calls work(worker, i) for every i below `count`, and returns when all
  /// calls have. A thread takes them in ascending order. `worker` is below
  /// count(), and no two concurrent calls have the same. Not reentrant: neither
  /// `work` nor a second thread may call forEach() meanwhile.
  void forEach(int64_t count,
               const std::function<void(int32_t worker, int64_t i)> &work);

  /// Runs `work` on one of the other threads. Until it returns, that thread
  /// takes no part in forEach(); then it joins in. Requires count() > 1, and
  /// awaitBeside() before the next call.
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
  /// The work of the last thread, if `isBeside`.
  std::function<void()> workBeside;
  std::atomic<bool> isBeside{false};
  /// The current call of forEach().
  const std::function<void(int32_t, int64_t)> *present = nullptr;
  int64_t size = 0;
  std::atomic<int64_t> next{0};
  /// Number of threads that have not ended the current call.
  std::atomic<int32_t> busy{0};
  /// Number of calls; a thread starts when it changes.
  std::atomic<uint64_t> call{0};
  std::atomic<bool> isOver{false};
  std::mutex mutex;
  std::condition_variable hasCall, hasEnded;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_WORKERS_H
