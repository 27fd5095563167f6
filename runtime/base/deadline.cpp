//===- deadline.cpp - When a wait has taken too long ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/deadline.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

using namespace rondo::runtime;

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
