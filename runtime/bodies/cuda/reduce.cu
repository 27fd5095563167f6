//===- reduce.cu - Sums over rows, always in the same order ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/reduce.h"

#include "runtime/base/cuda/thread.h"
#include "runtime/model/cuda_layouts.h"

#include <algorithm>

namespace rondo::runtime::cuda {

namespace {

constexpr int groups = 16;

/// 32 columns per block; each of 16 warps adds every sixteenth chunk. There are
/// few blocks, so a thread has many loads in flight.
__global__ void __launch_bounds__(32 * groups)
    addChunksKernel(int chunks, int64_t columns, const float *partials,
                    bool accumulate, float *result) {
  auto *sums = reinterpret_cast<float *>(sharedMemory());
  const int lane = threadIdx.x % 32, group = threadIdx.x / 32;
  const int64_t column = int64_t(blockIdx.x) * 32 + lane;
  float sum = 0;
  if (column < columns) {
#pragma unroll 8
    for (int chunk = group; chunk < chunks; chunk += groups)
      sum += partials[chunk * columns + column];
  }
  sums[group * 32 + lane] = sum;
  __syncthreads();
  if (group == 0 && column < columns) {
    float total = accumulate ? result[column] : 0;
    for (int i = 0; i < groups; ++i)
      total += sums[i * 32 + lane];
    result[column] = total;
  }
}

struct Vectors {
  float *sums[mostVectors];
};

__global__ void __launch_bounds__(256)
    addVectorsKernel(int64_t count, const float *values, Vectors vectors) {
  const int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (i < count)
    vectors.sums[blockIdx.y][i] += values[blockIdx.y * count + i];
}

/// A thread adds `width` columns of a chunk of rows.
template <typename T, int width>
__global__ void __launch_bounds__(128)
    columnSumsKernel(int64_t rows, int64_t columns, int64_t stride,
                     const T *values, float *partials) {
  const int64_t column = (int64_t(blockIdx.x) * 128 + threadIdx.x) * width;
  if (column >= columns)
    return;
  const int64_t first = int64_t(blockIdx.y) * columnSumRows;
  const int64_t last =
      first + columnSumRows < rows ? first + columnSumRows : rows;
  float sums[width] = {};
#pragma unroll 8
  for (int64_t row = first; row < last; ++row) {
    float value[width];
    load(value, values + row * stride + column);
#pragma unroll
    for (int i = 0; i < width; ++i)
      sums[i] += value[i];
  }
  store(partials + blockIdx.y * columns + column, sums);
}

template <typename T>
__global__ void __launch_bounds__(256)
    addToRowsKernel(int64_t columns, int64_t stride, const T *vector,
                    T *values) {
  T *row = values + blockIdx.x * stride;
  for (int64_t c = threadIdx.x; c < columns; c += 256)
    row[c] = fromFloat<T>(toFloat(row[c]) + toFloat(vector[c]));
}

} // namespace

/// result[c] (+)= sum of partials[chunk][c].
static void addChunks(const Stream &stream, int64_t chunks, int64_t columns,
                      const float *partials, bool accumulate, float *result) {
  launch(stream, addChunksKernel, blocksFor(columns, 32), 32 * groups,
         32 * groups * sizeof(float), chunks, columns, partials, accumulate,
         result);
}

void addChunks(const Stream &stream, int64_t chunks, int64_t columns,
               const float *partials, float *sums) {
  addChunks(stream, chunks, columns, partials, false, sums);
}

void addVectors(const Stream &stream, int64_t count, const float *values,
                std::initializer_list<float *> sums) {
  Vectors vectors{};
  std::copy(sums.begin(), sums.end(), vectors.sums);
  launch(stream, addVectorsKernel, dim3(blocksFor(count, 256), sums.size()),
         256, 0, count, values, vectors);
}

template <typename T>
void addColumnSums(const Stream &stream, int64_t rows, int64_t columns,
                   int64_t stride, const T *values, float *partials,
                   float *sums) {
  const int64_t chunks = columnSumChunks(rows);
  if (columns % 4 == 0 && stride % 4 == 0)
    launch(stream, columnSumsKernel<T, 4>,
           dim3(blocksFor(columns, 4 * 128), chunks), 128, 0, rows, columns,
           stride, values, partials);
  else
    launch(stream, columnSumsKernel<T, 1>,
           dim3(blocksFor(columns, 128), chunks), 128, 0, rows, columns, stride,
           values, partials);
  addChunks(stream, chunks, columns, partials, true, sums);
}

template <typename T>
void addToRows(const Stream &stream, int64_t rows, int64_t columns,
               int64_t stride, const T *vector, T *values) {
  launch(stream, addToRowsKernel<T>, rows, 256, 0, columns, stride, vector,
         values);
}

#define RONDO_INSTANTIATE(T)                                                   \
  template void addColumnSums(const Stream &, int64_t, int64_t, int64_t,       \
                              const T *, float *, float *);                    \
  template void addToRows(const Stream &, int64_t, int64_t, int64_t,           \
                          const T *, T *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(Bf16)

} // namespace rondo::runtime::cuda
