//===- half.h - Floats of 16 bits on the host -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_HALF_H
#define RONDO_RUNTIME_BASE_HALF_H

#include <cstdint>
#include <cstring>

namespace rondo::runtime {

/// The fp32 number of these bits.
inline float floatOfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// A bf16 number is the upper half of an fp32 number. Exact.
inline float fromBf16(uint16_t bits) {
  return floatOfBits(static_cast<uint32_t>(bits) << 16);
}

/// From IEEE 754's binary16. Exact, also for infinities, NaNs and numbers below
/// 2^-14.
inline float fromF16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0x1f)
    return floatOfBits(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0)
    return floatOfBits(sign | (exponent + 112) << 23 | fraction << 13);
  const float least = floatOfBits(103u << 23); // 2^-24
  const float value = static_cast<float>(fraction) * least;
  return sign ? -value : value;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BASE_HALF_H
