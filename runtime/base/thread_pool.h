//===- thread_pool.h - The threads of one rank ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_THREAD_POOL_H
#define RONDO_RUNTIME_BASE_THREAD_POOL_H

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo::runtime {

/// Threads that help a rank's own thread with one task at a time. They sleep
/// while there is nothing to do.
class ThreadPool {
public:
  /// `threads` with the caller of run(), at least 1. Throws std::system_error
  /// if the system does not have that many.
  explicit ThreadPool(int32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;

  int32_t size() const { return static_cast<int32_t>(helpers.size()) + 1; }

  /// Runs part(0) to part(count - 1), each once, and returns when all have
  /// ended. Any thread may run any part, in any order, so no result may depend
  /// on that. Rethrows the first exception of a part; others may then not run.
  /// One caller at a time.
  void run(int64_t count, const std::function<void(int64_t)> &part);

  /// The pool that runParts() uses on the calling thread; null: no helpers.
  static void useHere(ThreadPool *pool);

private:
  void help();
  void stop();
  void takeParts(std::unique_lock<std::mutex> &lock);

  std::mutex mutex;
  std::condition_variable started, ended;
  const std::function<void(int64_t)> *part = nullptr;
  /// The next part, and how many parts are running.
  int64_t next = 0, count = 0, running = 0;
  bool isStopping = false;
  std::exception_ptr failure;
  std::vector<std::thread> helpers;
};

/// ThreadPool::run() on the threads of the calling rank.
void runParts(int64_t count, const std::function<void(int64_t)> &part);
/// Number of threads of the pool.
int32_t threadsHere();

/// Calls each(first, count) for ranges that make up [0, extent), on the threads
/// of the calling rank, if there is enough to do: `elements` for each of
/// `extent`. How the ranges are cut depends on the number of threads, so no
/// result may depend on it.
template <typename Each>
void forRanges(int64_t extent, int64_t elements, const Each &each) {
  // Waking a thread takes as long as some thousand elements.
  constexpr int64_t leastElements = 1 << 15;
  const int64_t threads = threadsHere();
  const int64_t ranges =
      threads < 2
          ? 1
          : std::min({threads, extent, extent * elements / leastElements});
  if (ranges < 2)
    return each(int64_t(0), extent);
  runParts(ranges, [&](int64_t r) {
    const int64_t first = extent * r / ranges;
    each(first, extent * (r + 1) / ranges - first);
  });
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BASE_THREAD_POOL_H
