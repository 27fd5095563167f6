//===- vector_math.cpp - Elementary functions of compiled graphs ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PyTorch's generated code calls the functions of SLEEF by name. Here they are
// those of the C library's libmvec, with errors of at most 4 units in the last
// place, so that a program needs no other library.
//
//===----------------------------------------------------------------------===//

#include <cstddef>

#if defined(__x86_64__) && defined(__GLIBC__)

#include <immintrin.h>

#define RONDO_FUNCTIONS(ONE, TWO)                                              \
  ONE(acos)                                                                    \
  ONE(acosh)                                                                   \
  ONE(asin)                                                                    \
  ONE(asinh)                                                                   \
  ONE(atan)                                                                    \
  ONE(atanh)                                                                   \
  ONE(cos)                                                                     \
  ONE(cosh)                                                                    \
  ONE(erf)                                                                     \
  ONE(exp)                                                                     \
  ONE(exp10)                                                                   \
  ONE(exp2)                                                                    \
  ONE(expm1)                                                                   \
  ONE(log)                                                                     \
  ONE(log10)                                                                   \
  ONE(log1p)                                                                   \
  ONE(log2)                                                                    \
  ONE(sin)                                                                     \
  ONE(sinh)                                                                    \
  ONE(tan)                                                                     \
  ONE(tanh)                                                                    \
  TWO(atan2)                                                                   \
  TWO(pow)

// `SUFFIX` is f for fp32; the accuracy is 1.0 units (u10), or 1.5 (u15).
#define RONDO_ONE(NAME, SUFFIX, LANES, ABI, VECTOR, TARGET)                    \
  extern "C" __attribute__((                                                   \
      target(TARGET))) VECTOR _ZGV##ABI##N##LANES##v_##NAME##SUFFIX(VECTOR);   \
  extern "C" __attribute__((target(TARGET))) VECTOR                            \
  Sleef_##NAME##SUFFIX##LANES##_u10(VECTOR x) {                                \
    return _ZGV##ABI##N##LANES##v_##NAME##SUFFIX(x);                           \
  }                                                                            \
  extern "C" __attribute__((target(TARGET))) VECTOR                            \
  Sleef_##NAME##SUFFIX##LANES##_u15(VECTOR x) {                                \
    return _ZGV##ABI##N##LANES##v_##NAME##SUFFIX(x);                           \
  }                                                                            \
  extern "C" __attribute__((target(TARGET))) VECTOR                            \
  Sleef_##NAME##SUFFIX##LANES##_u35(VECTOR x) {                                \
    return _ZGV##ABI##N##LANES##v_##NAME##SUFFIX(x);                           \
  }
#define RONDO_TWO(NAME, SUFFIX, LANES, ABI, VECTOR, TARGET)                    \
  extern "C" __attribute__((target(                                            \
      TARGET))) VECTOR _ZGV##ABI##N##LANES##vv_##NAME##SUFFIX(VECTOR, VECTOR); \
  extern "C" __attribute__((target(TARGET))) VECTOR                            \
  Sleef_##NAME##SUFFIX##LANES##_u10(VECTOR x, VECTOR y) {                      \
    return _ZGV##ABI##N##LANES##vv_##NAME##SUFFIX(x, y);                       \
  }

#define RONDO_ONE_F16(NAME) RONDO_ONE(NAME, f, 16, e, __m512, "avx512f")
#define RONDO_TWO_F16(NAME) RONDO_TWO(NAME, f, 16, e, __m512, "avx512f")
#define RONDO_ONE_F8(NAME) RONDO_ONE(NAME, f, 8, d, __m256, "avx2")
#define RONDO_TWO_F8(NAME) RONDO_TWO(NAME, f, 8, d, __m256, "avx2")

RONDO_FUNCTIONS(RONDO_ONE_F16, RONDO_TWO_F16)
RONDO_FUNCTIONS(RONDO_ONE_F8, RONDO_TWO_F8)

#endif
