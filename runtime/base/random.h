//===- random.h - Counter-based random bits ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_RANDOM_H
#define RONDO_RUNTIME_BASE_RANDOM_H

#include <cstdint>

/// Kernels use these functions too.
#ifdef __CUDACC__
#define RONDO_HOST_DEVICE __host__ __device__
#else
#define RONDO_HOST_DEVICE
#endif

namespace rondo::runtime {

/// SplitMix64's output function (Steele, Lea and Flood 2014).
RONDO_HOST_DEVICE inline uint64_t scramble(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
/// SplitMix64's increment: 2^64 divided by the golden ratio.
inline constexpr uint64_t goldenStep = 0x9e3779b97f4a7c15u;
/// Random bits derived from a number.
RONDO_HOST_DEVICE inline uint64_t mix(uint64_t x) {
  return scramble(x + goldenStep);
}
/// Random bits of (key, counter): scrambled twice, so that close keys do not
/// give shifted streams.
RONDO_HOST_DEVICE inline uint64_t mix(uint64_t key, uint64_t counter) {
  return scramble(mix(key) + (counter + 1) * goldenStep);
}

/// FNV-1a of a name.
inline uint64_t hashName(const char *name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *name; ++name)
    hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001b3u;
  return hash;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BASE_RANDOM_H
