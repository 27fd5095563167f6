//===- clock.cpp - Clocks -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/clock.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <thread>
#include <utility>

using namespace rondo::runtime;

int64_t rondo::runtime::nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Clock::~Clock() = default;

int64_t AwakeClock::now() {
  constexpr int64_t longestNs = 1'000'000'000;
  const int64_t now = source();
  awake += std::min(now - last, longestNs);
  last = now;
  return awake;
}

int64_t rondo::runtime::threadNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void rondo::runtime::sleepUntil(int64_t deadlineNs) {
  constexpr int64_t spinNs = 100'000;
  int64_t now = nowNs();
  while (deadlineNs - now > spinNs) {
    std::this_thread::sleep_for(
        std::chrono::nanoseconds(deadlineNs - now - spinNs));
    now = nowNs();
  }
  while (nowNs() < deadlineNs)
    pauseCpu();
}

std::string rondo::runtime::clockName() {
  // The clock counts from the machine's boot.
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string name;
  file >> name;
  return name;
}

//===----------------------------------------------------------------------===//
// Limits of waits.
//===----------------------------------------------------------------------===//

std::string rondo::runtime::secondsText(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", seconds);
  return text;
}

Deadline::Deadline(double seconds, std::shared_ptr<Clock> given)
    : seconds(seconds),
      clock(given ? std::move(given) : std::make_shared<AwakeClock>()),
      beginNs(clock->now()) {}

bool Deadline::hasExpired() const {
  return seconds > 0 && elapsedSeconds() > seconds;
}

void Deadline::renew() {
  if (clock)
    beginNs = clock->now();
}

double Deadline::elapsedSeconds() const {
  return clock ? 1e-9 * static_cast<double>(clock->now() - beginNs) : 0;
}

double Deadline::leftSeconds(double most) const {
  return seconds > 0 ? std::clamp(seconds - elapsedSeconds(), 0.0, most) : most;
}

DeadlineGuard::DeadlineGuard(double seconds, std::function<void()> expired)
    : seconds(seconds), expired(std::move(expired)) {
  if (seconds > 0)
    thread = std::thread([this] { watch(); });
}

DeadlineGuard::~DeadlineGuard() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    hasReturned = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

void DeadlineGuard::watch() {
  const Deadline deadline(seconds);
  std::unique_lock<std::mutex> lock(mutex);
  while (!changed.wait_for(lock, std::chrono::milliseconds(100),
                           [&] { return hasReturned; }))
    if (deadline.hasExpired())
      return expired();
}
