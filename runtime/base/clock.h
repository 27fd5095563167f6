//===- clock.h - The time of a run ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_CLOCK_H
#define RONDO_RUNTIME_BASE_CLOCK_H

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace rondo::runtime {

/// ns since some fixed time; never goes back.
int64_t nowNs();

/// What waits read, so that a test can move the time on instead of waiting.
class Clock {
public:
  virtual ~Clock();
  /// ns since the clock was made; never goes back.
  virtual int64_t now() = 0;
};

/// Counts the time in which the process runs: a job that is stopped as a whole,
/// and goes on, has not kept anybody waiting. For one thread, which asks at
/// least every second; more than that is taken for a stop.
class AwakeClock : public Clock {
public:
  /// `source` goes on while the process is stopped.
  explicit AwakeClock(std::function<int64_t()> source = nowNs)
      : source(std::move(source)), last(this->source()) {}
  int64_t now() override;

private:
  const std::function<int64_t()> source;
  int64_t last, awake = 0;
};

/// Processor time of the calling thread, ns.
int64_t threadNs();

/// Names the clock: the same text on all processes whose nowNs() count from the
/// same time. Empty if that is not known.
std::string clockName();

/// Returns at `deadlineNs` or up to a few microseconds later. Sleeps, then
/// spins the last 100 microseconds, because a sleep ends about 50 late.
void sleepUntil(int64_t deadlineNs);

/// Tells the core that its thread spins.
inline void pauseCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BASE_CLOCK_H
