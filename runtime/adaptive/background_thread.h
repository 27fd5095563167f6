//===- background_thread.h - Work in a thread of its own --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_ADAPTIVE_BACKGROUND_THREAD_H
#define RONDO_RUNTIME_ADAPTIVE_BACKGROUND_THREAD_H

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <sys/resource.h>
#include <thread>

namespace rondo::runtime {

/// A thread that works while ranks train, and what it shares with others.
class BackgroundThread {
public:
  BackgroundThread() = default;
  BackgroundThread(const BackgroundThread &) = delete;
  BackgroundThread &operator=(const BackgroundThread &) = delete;
  ~BackgroundThread() { stop(); }

  /// Lowers the priority of the calling thread, so that ranks come first if
  /// threads outnumber cores. If it fails, the priority stays as it was.
  static void lowerPriority() {
    constexpr int lower = 10;
    // On Linux this is the priority of one thread.
    (void)setpriority(PRIO_PROCESS, 0, lower);
  }

  /// `work` returns soon after `isStopping` is set.
  void start(std::function<void()> work) {
    thread = std::thread(std::move(work));
  }
  /// Waits for the end of the work.
  void stop() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      isStopping = true;
    }
    changed.notify_all();
    if (thread.joinable())
      thread.join();
  }

  /// For all that both sides use; `changed` says that it has changed.
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> isStopping{false};

private:
  std::thread thread;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ADAPTIVE_BACKGROUND_THREAD_H
