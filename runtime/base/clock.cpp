//===- clock.cpp - Clocks -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/clock.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <thread>

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
