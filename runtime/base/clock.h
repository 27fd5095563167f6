//===- clock.h - Clocks -----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_CLOCK_H
#define RONDO_RUNTIME_BASE_CLOCK_H

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

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

/// Hint for the core that its thread is spinning.
inline void pauseCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

//===----------------------------------------------------------------------===//
// Time stamps that cost a few ns.
//===----------------------------------------------------------------------===//

/// Differences of a processor counter, in ns. Without a counter that runs at
/// one speed on all cores, ticks are those of nowNs().
class Ticks {
public:
  static uint64_t now() {
#if defined(__x86_64__)
    if (isSteady)
      return __rdtsc();
#endif
    return static_cast<uint64_t>(nowNs());
  }

  /// Starts comparing the counter with nowNs().
  Ticks() : first(readBoth()) {}

  /// ns per tick, measured since construction; a millisecond gives three
  /// digits.
  double nsPerTick() const {
    const Reading last = readBoth();
    const uint64_t ticks = last.tick - first.tick;
    const int64_t ns = last.ns - first.ns;
    return ticks > 0 && ns > 0
               ? static_cast<double>(ns) / static_cast<double>(ticks)
               : 1;
  }

  /// The shortest of 16 advances of the counter: some advance in steps of
  /// several ticks.
  static uint64_t step() {
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < 16; ++i) {
      const uint64_t begin = now();
      uint64_t end = begin;
      while (end == begin)
        end = now();
      shortest = std::min(shortest, end - begin);
    }
    return shortest;
  }

  /// Whether ticks are the processor's, not those of nowNs().
  static bool isCounter() { return isSteady; }

private:
  /// Both clocks at one moment.
  struct Reading {
    uint64_t tick = 0;
    int64_t ns = 0;
  };

  /// Reads the counter before and after nowNs(). Of `numReadings` attempts the
  /// one with the least time in between counts, since the thread may lose its
  /// core between the two clocks.
  static Reading readBoth() {
    constexpr int numReadings = 8;
    Reading best;
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < numReadings; ++i) {
      const uint64_t before = now();
      const int64_t ns = nowNs();
      const uint64_t between = now() - before;
      if (between < shortest) {
        shortest = between;
        best = {before + between / 2, ns};
      }
    }
    return best;
  }

  static bool findSteady() {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8) != 0;
#else
    return false;
#endif
  }
  static inline const bool isSteady = findSteady();

  Reading first;
};

//===----------------------------------------------------------------------===//
// Limits of waits.
//
// Every wait for another process has a Deadline; docs/reliability.md lists
// them. An expired one is an Error that names the rank that waits, the phase of
// the run and, if known, the rank that is waited for.
//===----------------------------------------------------------------------===//

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

#endif // RONDO_RUNTIME_BASE_CLOCK_H
