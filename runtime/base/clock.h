//===- clock.h - Clocks -----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_CLOCK_H
#define RONDO_RUNTIME_BASE_CLOCK_H

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace rondo::runtime {

/// ns since some fixed time; monotonic.
int64_t nowNs();

/// The clock used for waits, so that a test can advance the time instead of
/// waiting.
class Clock {
public:
  virtual ~Clock();
  /// ns since the clock was made; monotonic.
  virtual int64_t now() = 0;
};

/// Counts only while the process runs: a job that is suspended as a whole and
/// resumed has not kept anyone waiting. For one thread, which must ask at least
/// once a second; a longer pause is taken for a suspension.
class AwakeClock : public Clock {
public:
  /// `source` keeps counting while the process is suspended.
  explicit AwakeClock(std::function<int64_t()> source = nowNs)
      : source(std::move(source)), last(this->source()) {}
  int64_t now() override;

private:
  const std::function<int64_t()> source;
  int64_t last, awake = 0;
};

/// Counts also while the process is suspended.
class SteadyClock : public Clock {
public:
  int64_t now() override { return nowNs() - begin; }

private:
  const int64_t begin = nowNs();
};

/// Processor time of the calling thread, ns.
int64_t threadNs();

/// Names the clock: equal in all processes whose nowNs() counts from the same
/// time. Empty if unknown.
std::string clockName();

/// Returns at `deadlineNs` or up to a few microseconds later. Sleeps, then
/// spins for the last 100 microseconds, because a sleep ends about 50 late.
void sleepUntil(int64_t deadlineNs);

/// Tells the core that its thread is spinning.
inline void pauseCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BASE_CLOCK_H
