//===- Random.h - Random numbers --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_RANDOM_H
#define RONDO_SCHEDULE_SEARCH_RANDOM_H

#include <cstdint>

namespace rondo {

/// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers on all machines.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 2862933555777941757u + 1) {}
  uint64_t next() {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// From 0 to n - 1. `n` is at least 1.
  int64_t below(int64_t n) { return int64_t(next() % uint64_t(n)); }
  /// At least 0 and less than 1.
  double unit() { return double(next() >> 11) / double(1ull << 53); }

private:
  uint64_t state;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_RANDOM_H
