//===- cuda_bf16.h - bfloat16, on the CPU -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_CUDA_EMULATION_CUDA_BF16_H
#define RONDO_TEST_CUDA_EMULATION_CUDA_BF16_H

#include "kernel.h"

struct __nv_bfloat16 {
  uint16_t bits;
};
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};

inline float __bfloat162float(__nv_bfloat16 value) {
  return __uint_as_float(unsigned(value.bits) << 16);
}
/// To nearest, ties to even.
inline __nv_bfloat16 __float2bfloat16(float value) {
  unsigned bits = __float_as_uint(value);
  if (value != value)
    return {0x7fff};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return {__float2bfloat16(x), __float2bfloat16(y)};
}
inline float2 __bfloat1622float2(__nv_bfloat162 value) {
  return {__bfloat162float(value.x), __bfloat162float(value.y)};
}

#endif // RONDO_TEST_CUDA_EMULATION_CUDA_BF16_H
