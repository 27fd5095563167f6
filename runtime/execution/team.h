//===- team.h - The threads that run ranks ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_TEAM_H
#define RONDO_RUNTIME_EXECUTION_TEAM_H

#include "runtime/base/error.h"
#include "runtime/base/thread_pool.h"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo::runtime {

/// Threads that wait for work. Thread r runs rank r.
class Team {
public:
  /// `threadsOfRank` threads share what a rank computes (base/thread_pool.h).
  /// Throws Error if the system does not have that many threads.
  explicit Team(int32_t threads, int32_t threadsOfRank = 1);
  ~Team();

  /// Callbacks while the ranks run, on the thread that called run().
  struct Watch {
    /// Once, as soon as the first rank has thrown: the others must stop. Says
    /// which thread it was, -1 for look(), and what it has thrown.
    std::function<void(int32_t thread, const std::exception_ptr &)> stopAll;
    /// About every 100 ms. An exception counts as one of a rank.
    std::function<void()> look;
    /// Reports why the process ends, and with which exit code.
    std::function<void(Exit, const std::string &)> say;
  };

  /// Runs task(r) for r in [0, count) and returns when all have ended. Throws a
  /// rank's first exception, other than Aborted. If ranks do not end within 5 s
  /// after stopAll, reports that exception and ends the process with its exit
  /// code.
  void run(int32_t count, const std::function<void(int32_t)> &task,
           const Watch &watch);
  /// For tasks that wait for nothing.
  void run(int32_t count, const std::function<void(int32_t)> &task);

private:
  void stop();
  void work(int32_t rank);
  void fail(int32_t thread, const std::exception_ptr &exception);

  std::mutex mutex;
  std::condition_variable started, ended;
  const std::function<void(int32_t)> *task = nullptr;
  /// The number of calls of run().
  uint64_t round = 0;
  int32_t count = 0, running = 0;
  bool isStopping = false;
  std::exception_ptr failure;
  /// The thread that failed; -1: look().
  int32_t failed = -1;
  std::vector<std::unique_ptr<ThreadPool>> pools;
  std::vector<std::thread> threads;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_TEAM_H
