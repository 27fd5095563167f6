//===- column_sums.h - A block's sums over rows, on CUDA --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For kernels that walk a tensor [rows, columns] once and need the sums of its
// columns. Blocks are columnSumRows rows high; reduce.h adds their sums.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_COLUMN_SUMS_H
#define RONDO_RUNTIME_BODIES_CUDA_COLUMN_SUMS_H

#include "runtime/base/cuda/stream.h"
#include "runtime/base/cuda/thread.h"
#include "runtime/model/cuda_layouts.h"

namespace rondo::runtime::cuda {

/// Warps of a block. A warp takes every eighth row, so that a thread has few
/// rows and most of them in flight.
constexpr int sumWarps = 8, sumThreads = 32 * sumWarps;

/// Blocks for packs of `width` columns, and their shared memory.
inline dim3 sumBlocks(int64_t rows, int64_t columns, int width) {
  return dim3(blocksFor(columns, 32 * width),
              static_cast<unsigned>(columnSumChunks(rows)));
}
constexpr int64_t sumSharedBytes(int width) {
  return int64_t(sumThreads) * width * int64_t(sizeof(float));
}

/// Whether a kernel may move 16 bytes of these rows at a time.
template <typename T>
bool inPacks(int64_t columns, int64_t stride, const T *values) {
  constexpr int64_t width = 16 / sizeof(T);
  return columns % width == 0 && stride % width == 0 &&
         reinterpret_cast<uintptr_t>(values) % 16 == 0;
}

/// Adds `count` rows, every eighth from `row`. All loads are made before one is
/// used.
template <int count, int width, typename T, typename Each>
__device__ __forceinline__ void addRows(float (&sums)[width], int64_t row,
                                        int64_t column, int64_t stride,
                                        const T *values, Each &each) {
  float value[count][width];
#pragma unroll
  for (int a = 0; a < count; ++a) {
    load(value[a], values + (row + a * sumWarps) * stride + column);
    each.read(a, row + a * sumWarps, column);
  }
#pragma unroll
  for (int a = 0; a < count; ++a) {
#pragma unroll
    for (int i = 0; i < width; ++i)
      sums[i] += value[a][i];
    each.write(a, row + a * sumWarps, column);
  }
}

/// partials[blockIdx.y][c] = sum of values[row][c] over the block's rows, in an
/// order that the number of rows decides. For each pack, first
/// each.read(number, row, column) of `atOnce` packs, then each.write(...) of
/// them, for what a kernel does on the way.
template <int width, int atOnce, typename T, typename Each>
__device__ __forceinline__ void sumColumns(int64_t rows, int64_t columns,
                                           int64_t stride, const T *values,
                                           float *partials, Each each) {
  auto *scratch = reinterpret_cast<float *>(sharedMemory());
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t column = (int64_t(blockIdx.x) * 32 + lane) * width;
  const int64_t first = int64_t(blockIdx.y) * columnSumRows;
  const int64_t last =
      first + columnSumRows < rows ? first + columnSumRows : rows;
  float sums[width] = {};
  if (column < columns) {
    int64_t row = first + warp;
    for (; row + (atOnce - 1) * sumWarps < last; row += atOnce * sumWarps)
      addRows<atOnce>(sums, row, column, stride, values, each);
    for (; row < last; row += sumWarps)
      addRows<1>(sums, row, column, stride, values, each);
  }
  store(scratch + threadIdx.x * width, sums);
  __syncthreads();
  // A thread per column.
  const int64_t mine = int64_t(blockIdx.x) * 32 * width + threadIdx.x;
  if (threadIdx.x >= 32 * width || mine >= columns)
    return;
  float total = 0;
#pragma unroll
  for (int w = 0; w < sumWarps; ++w)
    total += scratch[w * 32 * width + threadIdx.x];
  partials[blockIdx.y * columns + mine] = total;
}

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_COLUMN_SUMS_H
