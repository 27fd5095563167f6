//===- Progress.h - A live line for a running search ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_PROGRESS_H
#define RONDO_TOOLS_DRIVER_PROGRESS_H

#include "schedule/search/Search.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace rondo::driver {

/// Shows on standard error what a search has found, four times a second, and
/// erases the line at the end. Writes nothing if standard error is not a
/// terminal. Thread-safe.
class Progress {
public:
  /// `count` problems will be searched.
  explicit Progress(size_t count);
  ~Progress();

  /// Shows what a search of `problem` knows; the line calls it `name`.
  void show(const Problem &problem, const std::string &name,
            const SearchProgress &now);
  /// One of them is done.
  void step();

private:
  void run();
  std::string line() const;

  const size_t count;
  const std::chrono::steady_clock::time_point begin;
  size_t done = 0;
  std::string name;
  const char *objective = nullptr;
  SearchProgress latest;
  bool isEnding = false;
  std::mutex mutex;
  std::condition_variable ending;
  std::thread ticker;
};

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_PROGRESS_H
