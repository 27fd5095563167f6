//===- deadline.h - When a wait has taken too long --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every wait for another process has a Deadline; docs/reliability.md lists
// them. An expired one is an Error that names the rank that waits, the phase of
// the run and, if known, the rank that is waited for.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BASE_DEADLINE_H
#define RONDO_RUNTIME_BASE_DEADLINE_H

#include "runtime/base/clock.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace rondo::runtime {

/// `5 s`
std::string secondsText(double seconds);

/// The time that a wait may take without progress. For one thread, unless the
/// clock allows more.
class Deadline {
public:
  /// Never expires.
  Deadline() = default;
  /// 0 seconds: never expires. A null clock is an AwakeClock: ask at least once
  /// a second.
  explicit Deadline(double seconds, std::shared_ptr<Clock> clock = nullptr);

  bool hasExpired() const;
  /// Progress: the wait may take the whole time again.
  void renew();
  /// Since construction or the last renew().
  double elapsedSeconds() const;
  /// Until it expires, between 0 and `most`, for functions that wait.
  double leftSeconds(double most) const;
  double limitSeconds() const { return seconds; }

private:
  double seconds = 0;
  std::shared_ptr<Clock> clock;
  int64_t beginNs = 0;
};

/// Ends the process if a call that cannot be interrupted takes too long, as of
/// MPI: on expiry calls `expired` in a thread of its own, which prints the
/// error and must not return.
class DeadlineGuard {
public:
  DeadlineGuard(double seconds, std::function<void()> expired);
  /// The call has returned in time.
  ~DeadlineGuard();

private:
  void watch();

  const double seconds;
  const std::function<void()> expired;
  std::mutex mutex;
  std::condition_variable changed;
  bool hasReturned = false;
  std::thread thread;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BASE_DEADLINE_H
