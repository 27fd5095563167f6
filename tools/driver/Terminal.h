//===- Terminal.h - Ctrl-C and the live line of a search --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_TERMINAL_H
#define RONDO_TOOLS_DRIVER_TERMINAL_H

#include "schedule/search/Search.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace rondo::driver {

/// While an object exists (one at a time), the first Ctrl-C sets a flag that
/// ends searches with the best result so far; a second one ends the process, as
/// it always does otherwise.
class Interrupt {
public:
  Interrupt();
  ~Interrupt();

  /// For searches; always false while no object exists.
  static const std::atomic<bool> *flag();
  /// Whether Ctrl-C came since the process started.
  static bool happened();
  /// Returns Interrupted, with a note, instead of a success that Ctrl-C cut
  /// short.
  static int exitCode(int code);
};

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

#endif // RONDO_TOOLS_DRIVER_TERMINAL_H
