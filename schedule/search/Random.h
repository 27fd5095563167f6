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
  /// Exponentially distributed, with the mean 1: minus the logarithm of a
  /// uniform number. Integers compute it, since libraries differ in its last
  /// bits.
  double exponential() { return exponentialOf(next()); }
  /// The same of a uniform number of another generator.
  static double exponentialOf(uint64_t uniform) {
    constexpr int bits = 12; // after the point
    const uint64_t number = uniform | 1;
    const int zeros = __builtin_clzll(number);
    // From 1 to 2, in units of 2^-31. Squared, it is 2 or more if the next bit
    // of its logarithm is 1.
    uint64_t mantissa = (number << zeros) >> 32;
    int64_t logarithm = 0;
    for (int bit = 0; bit < bits; ++bit) {
      mantissa = mantissa * mantissa >> 31;
      const uint64_t isOne = mantissa >> 32;
      mantissa >>= isOne;
      logarithm = 2 * logarithm + int64_t(isOne);
    }
    constexpr double ln2 = 0.6931471805599453;
    return double((int64_t(1 + zeros) << bits) - logarithm) *
           (ln2 / (1 << bits));
  }

private:
  uint64_t state;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_RANDOM_H
