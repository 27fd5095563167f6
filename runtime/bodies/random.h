//===- random.h - Counter-based random bits ---------------------*- C++ -*-===//

#ifndef RONDO_RUNTIME_BODIES_RANDOM_H
#define RONDO_RUNTIME_BODIES_RANDOM_H

#include <cstdint>

namespace rondo::runtime {

/// Random bits of (key, counter): SplitMix64's output function (Steele, Lea and
/// Flood 2014), applied to the key as well, so that near keys do not give
/// shifted streams.
inline uint64_t mix(uint64_t key, uint64_t counter) {
  auto scramble = [](uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  };
  const uint64_t golden = 0x9e3779b97f4a7c15u;
  return scramble(scramble(key + golden) + (counter + 1) * golden);
}

/// FNV-1a of a name.
inline uint64_t hashName(const char *name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *name; ++name)
    hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001b3u;
  return hash;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_RANDOM_H
