//===- reduce.cu - Sums over rows, always in the same order ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/kernels.h"

#include "runtime/base/cuda/thread.h"
#include "runtime/model/cuda_layouts.h"

#include <algorithm>
#include <cassert>

namespace rondo::runtime::cuda {

namespace {

constexpr int groups = 16;

/// Passed as a kernel argument.
struct Table {
  Partials entries[maxPartials];
};

/// The entry that a block works on, where each has blocks of `width` columns;
/// `block` becomes its number among those of the entry. With constant
/// subscripts, entries are read where arguments are.
template <int width, typename Entry, int count>
__device__ __forceinline__ Entry entryOf(const Entry (&entries)[count],
                                         int64_t &block) {
  Entry found{};
  bool isFound = false;
#pragma unroll
  for (int e = 0; e < count; ++e) {
    if (isFound)
      continue;
    const int64_t blocks = (entries[e].columns + width - 1) / width;
    isFound = block < blocks;
    if (isFound)
      found = entries[e];
    else
      block -= blocks;
  }
  return found;
}

/// 32 columns of one entry per block; each of 16 warps adds every sixteenth
/// chunk. There are few blocks, so a thread has many loads in flight.
__global__ void __launch_bounds__(32 * groups)
    addPartialsKernel(Table table, bool accumulate) {
  auto *sums = reinterpret_cast<float *>(sharedMemory());
  const int lane = threadIdx.x % 32, group = threadIdx.x / 32;
  int64_t block = blockIdx.x;
  const Partials entry = entryOf<32>(table.entries, block);
  const int64_t columns = entry.columns;
  const int chunks = static_cast<int>(entry.chunks);
  const float *partials = entry.partials;
  const int64_t column = block * 32 + lane;
  float sum = 0;
  if (column < columns) {
#pragma unroll 16
    for (int chunk = group; chunk < chunks; chunk += groups)
      sum += partials[chunk * columns + column];
  }
  sums[group * 32 + lane] = sum;
  __syncthreads();
  if (group == 0 && column < columns) {
    float total = accumulate ? entry.sums[column] : 0;
    for (int i = 0; i < groups; ++i)
      total += sums[i * 32 + lane];
    entry.sums[column] = total;
  }
}

/// Warps of a block of columnSumsKernel(). A warp takes every eighth row, so
/// that a thread has few rows and most of them in flight.
constexpr int sumWarps = 8, sumThreads = 32 * sumWarps;

/// Adds `count` rows, every eighth from `row`. All loads are made before one is
/// used.
template <int count, int width, typename T>
__device__ __forceinline__ void addRows(float (&sums)[width], int64_t row,
                                        int64_t column, int64_t stride,
                                        const T *values) {
  float value[count][width];
#pragma unroll
  for (int a = 0; a < count; ++a)
    load(value[a], values + (row + a * sumWarps) * stride + column);
#pragma unroll
  for (int a = 0; a < count; ++a)
#pragma unroll
    for (int i = 0; i < width; ++i)
      sums[i] += value[a][i];
}

/// Passed as a kernel argument.
template <typename T> struct SumsTable {
  ColumnSums<T> entries[maxColumnSums];
};

/// For each entry, partials[blockIdx.y][c] = sum of values[row][c] over the
/// block's columnSumRows rows, in an order that the number of rows decides. A
/// thread has packs of `width` columns.
template <typename T, int width>
__global__ void __launch_bounds__(sumThreads)
    columnSumsKernel(int64_t rows, SumsTable<T> table) {
  constexpr int atOnce = 8;
  auto *scratch = reinterpret_cast<float *>(sharedMemory());
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int64_t block = blockIdx.x;
  const ColumnSums<T> entry = entryOf<32 * width>(table.entries, block);
  const int64_t columns = entry.columns;
  const int64_t column = (block * 32 + lane) * width;
  const int64_t first = int64_t(blockIdx.y) * columnSumRows;
  const int64_t last =
      first + columnSumRows < rows ? first + columnSumRows : rows;
  float sums[width] = {};
  if (column < columns) {
    int64_t row = first + warp;
    for (; row + (atOnce - 1) * sumWarps < last; row += atOnce * sumWarps)
      addRows<atOnce>(sums, row, column, entry.stride, entry.values);
    for (; row < last; row += sumWarps)
      addRows<1>(sums, row, column, entry.stride, entry.values);
  }
  store(scratch + threadIdx.x * width, sums);
  __syncthreads();
  // A thread per column.
  const int64_t mine = block * 32 * width + threadIdx.x;
  if (threadIdx.x >= 32 * width || mine >= columns)
    return;
  float total = 0;
#pragma unroll
  for (int w = 0; w < sumWarps; ++w)
    total += scratch[w * 32 * width + threadIdx.x];
  entry.partials[blockIdx.y * columns + mine] = total;
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

static void addUp(const Stream &stream, const Partials *first, size_t count,
                  bool accumulate) {
  assert(count <= maxPartials);
  Table table{};
  std::copy(first, first + count, table.entries);
  unsigned blocks = 0;
  for (const Partials &entry : table.entries)
    blocks += blocksFor(entry.columns, 32);
  launch(stream, addPartialsKernel, blocks, 32 * groups,
         32 * groups * sizeof(float), table, accumulate);
}

void addPartials(const Stream &stream, std::initializer_list<Partials> list) {
  addUp(stream, list.begin(), list.size(), true);
}

void setPartials(const Stream &stream, std::initializer_list<Partials> list) {
  addUp(stream, list.begin(), list.size(), false);
}

void addVectors(const Stream &stream, int64_t count, const float *values,
                std::initializer_list<float *> sums) {
  Partials list[maxPartials];
  size_t entries = 0;
  for (float *sum : sums) {
    list[entries] = {1, count, values + entries * count, sum};
    ++entries;
  }
  addUp(stream, list, entries, true);
}

template <int width, typename T>
static void launchColumnSums(const Stream &stream, int64_t rows,
                             const SumsTable<T> &table) {
  unsigned blocks = 0;
  for (const ColumnSums<T> &entry : table.entries)
    blocks += blocksFor(entry.columns, 32 * width);
  launch(stream, columnSumsKernel<T, width>,
         dim3(blocks, static_cast<unsigned>(columnSumChunks(rows))), sumThreads,
         int64_t(sumThreads) * width * int64_t(sizeof(float)), rows, table);
}

template <typename T>
void columnSums(const Stream &stream, int64_t rows,
                std::initializer_list<ColumnSums<T>> list) {
  assert(list.size() <= maxColumnSums);
  SumsTable<T> table{};
  std::copy(list.begin(), list.end(), table.entries);
  // Packs of 16 bytes, if all rows begin at a multiple of that.
  constexpr int width = 16 / sizeof(T);
  const bool hasPacks =
      std::all_of(list.begin(), list.end(), [](const ColumnSums<T> &entry) {
        return entry.columns % width == 0 && entry.stride % width == 0 &&
               reinterpret_cast<uintptr_t>(entry.values) % 16 == 0;
      });
  if (hasPacks)
    launchColumnSums<width>(stream, rows, table);
  else
    launchColumnSums<1>(stream, rows, table);
}

template <typename T>
void addToRows(const Stream &stream, int64_t rows, int64_t columns,
               int64_t stride, const T *vector, T *values) {
  launch(stream, addToRowsKernel<T>, rows, 256, 0, columns, stride, vector,
         values);
}

#define RONDO_INSTANTIATE(T)                                                   \
  template void columnSums(const Stream &, int64_t,                            \
                           std::initializer_list<ColumnSums<T>>);              \
  template void addToRows(const Stream &, int64_t, int64_t, int64_t,           \
                          const T *, T *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(Bf16)

} // namespace rondo::runtime::cuda
