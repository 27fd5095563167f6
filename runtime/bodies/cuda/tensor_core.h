//===- tensor_core.h - Matrix fragments of a warp, and copies ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX on a device, the documented layouts in the emulation. All lanes of a warp
// call together. Below, g = lane / 4 and t = lane % 4.
//
//   A 16 x 16 bf16, 4 registers: [g][2t], [g + 8][2t], [g][2t + 8],
//                                [g + 8][2t + 8], each with its right neighbour
//   B 16 x 8 bf16, 2 registers:  [2t][g] and [2t + 8][g], each with the element
//                                below
//   C 16 x 8 fp32, 4 registers:  [g][2t], [g][2t + 1], [g + 8][2t],
//                                [g + 8][2t + 1]
//
// So the C of two neighbouring products, packed in pairs, is an A.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_TENSOR_CORE_H
#define RONDO_RUNTIME_BODIES_CUDA_TENSOR_CORE_H

#include "runtime/base/cuda/thread.h"

namespace rondo::runtime::cuda {

#ifndef __CUDACC__
namespace fragments {

struct Multiply {
  float *c;
  const uint32_t *a;
  uint32_t b0, b1;
};
inline float half(uint32_t pair, int which) {
  return __uint_as_float(which ? pair & 0xffff0000u : pair << 16);
}
inline void multiply(void **lanes) {
  float a[16][16], b[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const auto &mine = *static_cast<Multiply *>(lanes[lane]);
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 2; ++i) {
      a[g][2 * t + i] = half(mine.a[0], i);
      a[g + 8][2 * t + i] = half(mine.a[1], i);
      a[g][2 * t + 8 + i] = half(mine.a[2], i);
      a[g + 8][2 * t + 8 + i] = half(mine.a[3], i);
      b[2 * t + i][g] = half(mine.b0, i);
      b[2 * t + 8 + i][g] = half(mine.b1, i);
    }
  }
  // Row by row, so that compilers use vectors; each sum keeps its order.
  float c[16][8];
  auto element = [&](int lane, int i) -> float & {
    return c[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
  };
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      element(lane, i) = static_cast<Multiply *>(lanes[lane])->c[i];
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < 16; ++k)
      for (int column = 0; column < 8; ++column)
        c[row][column] += a[row][k] * b[k][column];
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      static_cast<Multiply *>(lanes[lane])->c[i] = element(lane, i);
}

struct Load {
  uint32_t *registers;
  const Bf16 *row;
};
template <bool transposed> void load(void **lanes) {
  for (int lane = 0; lane < 32; ++lane)
    for (int matrix = 0; matrix < 4; ++matrix) {
      uint32_t pair = 0;
      for (int i = 0; i < 2; ++i) {
        const int row = transposed ? lane % 4 * 2 + i : lane / 4;
        const int column = transposed ? lane / 4 : lane % 4 * 2 + i;
        const Bf16 *from =
            static_cast<Load *>(lanes[matrix * 8 + row])->row + column;
        pair |= uint32_t(from->bits) << (16 * i);
      }
      static_cast<Load *>(lanes[lane])->registers[matrix] = pair;
    }
}

} // namespace fragments
#endif

/// c += a b.
__device__ __forceinline__ void
multiplyAdd(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#ifdef __CUDACC__
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  fragments::Multiply mine{c, a, b0, b1};
  emulation::meetWarp("multiplyAdd", &mine, fragments::multiply);
#endif
}

/// Loads four 8 x 8 matrices from shared memory. Lane i gives the address of
/// row i % 8 of matrix i / 8, a multiple of 16 bytes. A lane gets [g][2t] of
/// each with its right neighbour; transposed: [2t][g] with the element below.
template <bool transposed>
__device__ __forceinline__ void loadMatrices(uint32_t (&registers)[4],
                                             const Bf16 *row) {
#ifdef __CUDACC__
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (transposed)
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]),
          "=r"(registers[3])
        : "r"(address));
  else
    asm volatile(
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]),
          "=r"(registers[3])
        : "r"(address));
#else
  emulation::checkAligned(row, 16);
  fragments::Load mine{registers, row};
  emulation::meetWarp(transposed ? "loadMatrices transposed" : "loadMatrices",
                      &mine, fragments::load<transposed>);
#endif
}

/// Loads A from rows [row][k] of shared memory, `stride` elements apart.
__device__ __forceinline__ void loadA(uint32_t (&a)[4], const Bf16 *tile,
                                      int stride, int row, int k) {
  const int lane = threadIdx.x % 32;
  loadMatrices<false>(a, tile + (row + lane % 16) * stride + k + lane / 16 * 8);
}

/// Loads the B of columns n and n + 8 from rows [column][k]: b[0], b[1] and
/// b[2], b[3].
__device__ __forceinline__ void loadB(uint32_t (&b)[4], const Bf16 *tile,
                                      int stride, int n, int k) {
  const int lane = threadIdx.x % 32;
  loadMatrices<false>(b, tile + (n + lane % 8 + lane / 16 * 8) * stride + k +
                             lane / 8 % 2 * 8);
}

/// The same from rows [k][column].
__device__ __forceinline__ void
loadBTransposed(uint32_t (&b)[4], const Bf16 *tile, int stride, int n, int k) {
  const int lane = threadIdx.x % 32;
  loadMatrices<true>(b, tile + (k + lane % 16) * stride + n + lane / 16 * 8);
}

/// Starts copying 16 bytes to shared memory; zeros if not `valid`.
template <typename T>
__device__ __forceinline__ void copyAsync(T *to, const T *from, bool valid) {
#ifdef __CUDACC__
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(address), "l"(from), "r"(valid ? 16 : 0)
               : "memory");
#else
  static const T zeros[16 / sizeof(T)] = {};
  emulation::checkAligned(to, 16);
  emulation::checkAligned(from, 16);
  emulation::copyLater(to, valid ? from : zeros, 16);
#endif
}

/// Makes a group of the copies since the last call.
__device__ __forceinline__ void closeCopies() {
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  emulation::closeCopies();
#endif
}

/// Waits for all groups of this thread but the latest `open`. A barrier makes
/// them visible to others.
template <int open = 0> __device__ __forceinline__ void awaitCopies() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;" ::"n"(open) : "memory");
#else
  emulation::awaitCopies(open);
#endif
}

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_TENSOR_CORE_H
