//===- Deadline.h - Time limits ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_DEADLINE_H
#define RONDO_PLANNING_DEADLINE_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

namespace rondo {

/// A time limit that counts from its construction.
class Deadline {
public:
  /// No limit.
  Deadline() = default;
  /// `ms` 0: no limit. `clock` gives seconds since any fixed time; null: wall
  /// time.
  explicit Deadline(int64_t ms, double (*clock)() = nullptr)
      : ms(ms), clock(clock ? clock : wallSeconds), begin(this->clock()) {}

  bool exists() const { return ms > 0; }
  /// Time left of the first `part` (0 to 1) of the limit, in ms, at least 0;
  /// int64_t's maximum if there is no limit.
  int64_t leftMs(double part = 1) const {
    if (!exists())
      return std::numeric_limits<int64_t>::max();
    const auto used = static_cast<int64_t>(1000 * (clock() - begin));
    return std::max<int64_t>(0, static_cast<int64_t>(double(ms) * part) - used);
  }
  bool isOver(double part = 1) const { return leftMs(part) == 0; }
  /// The part of the limit that has passed, 0 to 1; 0 if there is no limit.
  double passed() const {
    return exists() ? 1 - double(leftMs()) / double(ms) : 0;
  }
  /// A limit on the same clock that starts now.
  Deadline after(int64_t otherMs) const { return Deadline(otherMs, clock); }

  /// `part` (0 to 1) of a limit of `ms`, at least 1 ms; 0 (no limit) if `ms` is
  /// 0.
  static int64_t partMs(int64_t ms, double part) {
    return ms > 0 ? std::max<int64_t>(1, int64_t(double(ms) * part)) : 0;
  }

private:
  static double wallSeconds() {
    return std::chrono::duration<double>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  int64_t ms = 0;
  double (*clock)() = wallSeconds;
  double begin = 0;
};

} // namespace rondo

#endif // RONDO_PLANNING_DEADLINE_H
