//===- kernel.h - The language of kernels, on the CPU -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of nvcc's C++ that our kernels use, so that a C++ compiler takes
// the same sources. The threads of blocks are fibres of one host thread: each
// runs until it waits at a barrier of its block or meets the other lanes of its
// warp. The next to run is chosen at random, of two blocks at once, so that a
// missing barrier shows. Kernels get their shared memory at launch
// (runtime/base/cuda/thread.h); it starts full of NaNs and ends at an
// allocation's end.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_CUDA_EMULATION_KERNEL_H
#define RONDO_TEST_CUDA_EMULATION_KERNEL_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}
};
struct uint3 {
  unsigned x, y, z;
};

// Kernels read and write elements of any type through these, 16 bytes at once.
struct __attribute__((may_alias, aligned(8))) float2 {
  float x, y;
};
struct __attribute__((may_alias, aligned(16))) float4 {
  float x, y, z, w;
};
struct __attribute__((may_alias, aligned(8))) uint2 {
  unsigned x, y;
};
struct __attribute__((may_alias, aligned(16))) uint4 {
  unsigned x, y, z, w;
};
struct __attribute__((may_alias, aligned(16))) int4 {
  int x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}

namespace emulation {

/// The running thread.
struct Thread {
  uint3 index, block;
  dim3 blockExtent, gridExtent;
  unsigned lane, warp;
  unsigned char *shared;
};
extern thread_local Thread *current;
/// The clock of the device that is running a kernel.
int64_t deviceNs();
inline Thread &self() { return *current; }

/// Runs `body` once for each thread of each block. Aborts with a message if
/// threads wait for what cannot come.
void runGrid(dim3 grid, dim3 block, size_t sharedBytes,
             const std::function<void()> &body);

/// Waits for all threads of the block that have not ended.
void blockBarrier();

/// Waits for all lanes of the warp. The last to arrive calls `work(arguments,
/// 32 pointers)` for all, with each lane's own at its number. Lanes that meet
/// with different `kind`s abort.
void meetWarp(const char *kind, void *argument, void (*work)(void **arguments));

/// Aborts if a device would fail on a single access of this many bytes.
void checkAligned(const void *address, size_t bytes);

/// The calling thread's asynchronous copies (cp.async), which end when they are
/// waited for.
void copyLater(void *to, const void *from, size_t bytes);
void closeCopies();
/// Completes all but the latest `open` groups.
void awaitCopies(unsigned open);

struct Exchange {
  uint64_t value, result;
  int source;
};
template <typename T> T exchange(const char *kind, T value, int source) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  Exchange mine{0, 0, source};
  std::memcpy(&mine.value, &value, sizeof(T));
  meetWarp(kind, &mine, [](void **lanes) {
    for (int i = 0; i < 32; ++i) {
      auto *lane = static_cast<Exchange *>(lanes[i]);
      lane->result = static_cast<Exchange *>(lanes[lane->source & 31])->value;
    }
  });
  std::memcpy(&value, &mine.result, sizeof(T));
  return value;
}

} // namespace emulation

namespace emulation {
/// A built-in variable: reads the running thread's member.
template <typename Extent, Extent Thread::*member> struct Variable {
  struct X {
    operator unsigned() const { return (self().*member).x; }
  } x;
  struct Y {
    operator unsigned() const { return (self().*member).y; }
  } y;
  struct Z {
    operator unsigned() const { return (self().*member).z; }
  } z;
};
} // namespace emulation
constexpr emulation::Variable<uint3, &emulation::Thread::index> threadIdx{};
constexpr emulation::Variable<uint3, &emulation::Thread::block> blockIdx{};
constexpr emulation::Variable<dim3, &emulation::Thread::blockExtent> blockDim{};
constexpr emulation::Variable<dim3, &emulation::Thread::gridExtent> gridDim{};

inline void __syncthreads() { emulation::blockBarrier(); }
inline void __syncwarp(unsigned = 0xffffffffu) {
  emulation::meetWarp("__syncwarp", nullptr, [](void **) {});
}
template <typename T> T __shfl_sync(unsigned, T value, int source) {
  return emulation::exchange("__shfl_sync", value, source);
}
template <typename T> T __shfl_xor_sync(unsigned, T value, int mask) {
  return emulation::exchange("__shfl_xor_sync", value,
                             int(emulation::self().lane) ^ mask);
}
inline unsigned __ballot_sync(unsigned, int predicate) {
  emulation::Exchange mine{predicate != 0, 0, 0};
  emulation::meetWarp("__ballot_sync", &mine, [](void **lanes) {
    uint64_t votes = 0;
    for (int i = 0; i < 32; ++i)
      votes |= static_cast<emulation::Exchange *>(lanes[i])->value << i;
    for (int i = 0; i < 32; ++i)
      static_cast<emulation::Exchange *>(lanes[i])->result = votes;
  });
  return static_cast<unsigned>(mine.result);
}
inline int __ffs(unsigned bits) { return __builtin_ffs(int(bits)); }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
template <typename T> T __ldg(const T *address) { return *address; }

inline float __uint_as_float(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
inline unsigned __float_as_uint(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float __expf(float x) { return std::exp(x); }
/// As the manual specifies for large divisors.
inline float __fdividef(float x, float y) {
  return std::fabs(y) > 0x1p126f ? x * 0 : x / y;
}
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline void sincospif(float x, float *sine, float *cosine) {
  *sine = static_cast<float>(std::sin(M_PI * x));
  *cosine = static_cast<float>(std::cos(M_PI * x));
}
using std::max;
using std::min;

#endif // RONDO_TEST_CUDA_EMULATION_KERNEL_H
