//===- vectorise.h - Fast loops that give the same bits ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime is compiled for the oldest x86-64, so that it starts everywhere.
// Functions marked RONDO_VECTORISE are compiled twice, and the loader takes the
// AVX2 version if the CPU has it. Both give the same bits: each element is
// computed by the same IEEE operations (-ffp-contract=off keeps the compiler
// from merging some of them), and sums have a fixed number of lanes. Only the
// matrix products depend on the CPU, since OpenBLAS chooses its kernels by it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BASE_VECTORISE_H
#define RONDO_RUNTIME_BASE_VECTORISE_H

#include <cmath>
#include <cstdint>
#include <cstring>

// ThreadSanitizer crashes if the loader picks a version before the sanitizer
// has started.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&         \
    !defined(__SANITIZE_THREAD__)
#define RONDO_VECTORISE                                                        \
  __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define RONDO_VECTORISE
#endif
#define RONDO_INLINE inline __attribute__((always_inline))

namespace rondo::runtime {

inline constexpr int numLanes = 16;

/// Sum of term(0) .. term(count - 1): lane i mod 16 first, then lanes by
/// halves.
template <typename Real, typename Term>
RONDO_INLINE Real laneSum(int64_t count, Term term) {
  Real lanes[numLanes] = {};
  int64_t i = 0;
  for (; i + numLanes <= count; i += numLanes)
    for (int lane = 0; lane < numLanes; ++lane)
      lanes[lane] += term(i + lane);
  for (int lane = 0; i < count; ++i, ++lane)
    lanes[lane] += term(i);
  for (int half = numLanes / 2; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane)
      lanes[lane] += lanes[lane + half];
  return lanes[0];
}

/// Largest of `count` >= 1 values; may ignore NaNs.
template <typename Real>
RONDO_INLINE Real laneMax(int64_t count, const Real *values) {
  Real lanes[numLanes];
  for (int lane = 0; lane < numLanes; ++lane)
    lanes[lane] = values[0];
  int64_t i = 0;
  for (; i + numLanes <= count; i += numLanes)
    for (int lane = 0; lane < numLanes; ++lane)
      lanes[lane] =
          lanes[lane] < values[i + lane] ? values[i + lane] : lanes[lane];
  Real most = lanes[0];
  for (int lane = 1; lane < numLanes; ++lane)
    most = most < lanes[lane] ? lanes[lane] : most;
  for (; i < count; ++i)
    most = most < values[i] ? values[i] : most;
  return most;
}

/// e^x; in fp64 the library's function.
RONDO_INLINE double exponential(double x) { return std::exp(x); }

/// e^x in fp32 to within 2 units in the last place. x is clamped to [-87, 88],
/// where the result is a normal number; NaN stays NaN. Polynomial of Cephes'
/// expf; adding and subtracting 1.5 * 2^23 rounds to an integer, which is then
/// in the low bits.
RONDO_INLINE float exponential(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  const float magic = 12582912.0f;
  float shifted = x * 1.44269504088896341f + magic;
  float whole = shifted - magic;
  float r = x - whole * 0.693359375f;
  r = r + whole * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  uint32_t bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  bits = (bits - 0x4B400000u + 127u) << 23;
  float power;
  std::memcpy(&power, &bits, sizeof(power));
  return p * power;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BASE_VECTORISE_H
