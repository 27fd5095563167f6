//===- thread.h - What a thread of a kernel uses ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements, packs of elements, sums over a warp, shared memory. Kernels are
// plain C++: nvcc compiles them for a device, and a C++ compiler for the CPU,
// with test/cuda_emulation.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BASE_CUDA_THREAD_H
#define RONDO_RUNTIME_BASE_CUDA_THREAD_H

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace rondo::runtime::cuda {

using Bf16 = __nv_bfloat16;

__device__ __forceinline__ float toFloat(float value) { return value; }
__device__ __forceinline__ float toFloat(Bf16 value) {
  return __bfloat162float(value);
}
template <typename T> __device__ __forceinline__ T fromFloat(float value);
template <> __device__ __forceinline__ float fromFloat<float>(float value) {
  return value;
}
template <> __device__ __forceinline__ Bf16 fromFloat<Bf16>(float value) {
  return __float2bfloat16(value);
}

/// 2^x to within 2 units in the last place, in one instruction; tiny results
/// become 0.
__device__ __forceinline__ float fastExp2(float x) {
#ifdef __CUDACC__
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return std::exp2(x);
#endif
}

/// Two floats as two bf16 in one register, the first in the low half.
__device__ __forceinline__ uint32_t packBf16(float low, float high) {
  __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  uint32_t bits;
  memcpy(&bits, &pair, sizeof(bits));
  return bits;
}

/// The content of an address as a vector, read or written at once. The address
/// must be a multiple of the vector's size; otherwise the kernel fails.
template <typename Vector, typename T>
__device__ __forceinline__ Vector &asVector(T *address) {
#ifndef __CUDACC__
  emulation::checkAligned(address, sizeof(Vector));
#endif
  return *reinterpret_cast<Vector *>(address);
}

/// Loads `count` adjacent elements of type T as floats. They are moved 16 or 8
/// bytes at a time, so addresses must be multiples of count elements.
template <int count, typename T>
__device__ __forceinline__ void load(float (&values)[count], const T *from) {
  if constexpr (count == 1) {
    values[0] = toFloat(*from);
  } else if constexpr (count * sizeof(T) == 8) {
    uint2 bits = asVector<const uint2>(from);
    T elements[count];
    memcpy(elements, &bits, sizeof(bits));
#pragma unroll
    for (int i = 0; i < count; ++i)
      values[i] = toFloat(elements[i]);
  } else {
    constexpr int each = 16 / sizeof(T);
    static_assert(count % each == 0);
#pragma unroll
    for (int part = 0; part < count; part += each) {
      uint4 bits = asVector<const uint4>(from + part);
      T elements[each];
      memcpy(elements, &bits, sizeof(bits));
#pragma unroll
      for (int i = 0; i < each; ++i)
        values[part + i] = toFloat(elements[i]);
    }
  }
}

template <int count, typename T>
__device__ __forceinline__ void store(T *to, const float (&values)[count]) {
  if constexpr (count == 1) {
    *to = fromFloat<T>(values[0]);
  } else if constexpr (count * sizeof(T) == 8) {
    T elements[count];
#pragma unroll
    for (int i = 0; i < count; ++i)
      elements[i] = fromFloat<T>(values[i]);
    uint2 bits;
    memcpy(&bits, elements, sizeof(bits));
    asVector<uint2>(to) = bits;
  } else {
    constexpr int each = 16 / sizeof(T);
    static_assert(count % each == 0);
#pragma unroll
    for (int part = 0; part < count; part += each) {
      T elements[each];
#pragma unroll
      for (int i = 0; i < each; ++i)
        elements[i] = fromFloat<T>(values[part + i]);
      uint4 bits;
      memcpy(&bits, elements, sizeof(bits));
      asVector<uint4>(to + part) = bits;
    }
  }
}

/// The sum over a warp, the same in all lanes.
template <typename T> __device__ __forceinline__ T warpSum(T value) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, apart);
  return value;
}
__device__ __forceinline__ float warpMax(float value) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, apart));
  return value;
}

/// The block's shared memory, of the size given at the launch and aligned to
/// 128 bytes.
__device__ __forceinline__ unsigned char *sharedMemory() {
#ifdef __CUDACC__
  extern __shared__ __align__(128) unsigned char memory[];
  return memory;
#else
  return emulation::self().shared;
#endif
}

/// The sum over a block of whole warps, the same in all threads. `scratch` has
/// an element per warp and may be reused after the next barrier.
template <typename T>
__device__ __forceinline__ T blockSum(T value, T *scratch) {
  const unsigned warps = blockDim.x / 32;
  value = warpSum(value);
  if (threadIdx.x % 32 == 0)
    scratch[threadIdx.x / 32] = value;
  __syncthreads();
  T sum = scratch[0];
  for (unsigned i = 1; i < warps; ++i)
    sum += scratch[i];
  return sum;
}

//===----------------------------------------------------------------------===//
// The clock of a GPU.
//===----------------------------------------------------------------------===//

/// ns since some fixed time, in steps that depend on the GPU.
__device__ __forceinline__ int64_t deviceNs() {
#ifdef __CUDACC__
  int64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
#else
  return emulation::deviceNs();
#endif
}

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BASE_CUDA_THREAD_H
