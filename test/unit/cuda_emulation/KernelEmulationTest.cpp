// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Errors in kernels that the emulation must reveal, and correct kernels that
// must pass.

#include "runtime/base/cuda/stream.h"
#include "runtime/bodies/cuda/tensor_core.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace rondo::runtime::cuda {
namespace {

constexpr int threads = 128;

/// Runs a kernel on `blocks` blocks with room for one float per thread, and
/// returns what it wrote.
std::vector<float> run(void (*kernel)(float *), int blocks) {
  std::vector<float> result(blocks * threads);
  launch(Stream{}, kernel, blocks, threads, threads * sizeof(float),
         result.data());
  RONDO_CUDA(cudaDeviceSynchronize());
  return result;
}

float *shared() { return reinterpret_cast<float *>(sharedMemory()); }
int place() { return static_cast<int>(blockIdx.x * threads + threadIdx.x); }

template <bool withBarrier> void rotate(float *result) {
  shared()[threadIdx.x] = static_cast<float>(threadIdx.x);
  if (withBarrier)
    __syncthreads();
  result[place()] = shared()[(threadIdx.x + 1) % threads];
}

TEST(KernelEmulation, ShowsAMissingBarrier) {
  int wrong = 0;
  for (float value : run(rotate<false>, 4))
    wrong += std::isnan(value);
  EXPECT_GT(wrong, 0);
  std::vector<float> right = run(rotate<true>, 4);
  for (int i = 0; i < 4 * threads; ++i)
    EXPECT_EQ(right[i], (i + 1) % threads);
}

// Without a barrier, the second write overtakes the first read.
template <bool withBarrier> void rotateTwice(float *result) {
  shared()[threadIdx.x] = 1;
  __syncthreads();
  float first = shared()[(threadIdx.x + 1) % threads];
  if (withBarrier)
    __syncthreads();
  shared()[threadIdx.x] = 2;
  result[place()] = first;
}

TEST(KernelEmulation, ShowsAMissingBarrierBeforeReuse) {
  int wrong = 0;
  for (float value : run(rotateTwice<false>, 4))
    wrong += value != 1;
  EXPECT_GT(wrong, 0);
  for (float value : run(rotateTwice<true>, 4))
    EXPECT_EQ(value, 1);
}

// Blocks run in any order, and one goes on while another waits at a barrier.
void countBlocks(float *result) {
  const float before = *result;
  __syncthreads();
  if (threadIdx.x == 0)
    *result = before + 1;
}

void followPrevious(float *result) {
  if (threadIdx.x == 0)
    result[blockIdx.x * threads] =
        blockIdx.x == 0 ? 1 : result[(blockIdx.x - 1) * threads];
}

TEST(KernelEmulation, ShowsRacesBetweenBlocks) {
  const int blocks = 32;
  EXPECT_LT(run(countBlocks, blocks).front(), blocks);
  const std::vector<float> result = run(followPrevious, blocks);
  float sum = 0;
  for (int block = 0; block < blocks; ++block)
    sum += result[block * threads];
  EXPECT_LT(sum, blocks);
}

TEST(KernelEmulation, KeepsTheLastError) {
  auto *kernel = reinterpret_cast<const void *>(countBlocks);
  EXPECT_EQ(cudaFuncSetAttribute(
                kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

template <bool waits> void copied(float *result) {
  alignas(16) static const Bf16 ones[8] = {{0x3f80}, {0x3f80}, {0x3f80},
                                           {0x3f80}, {0x3f80}, {0x3f80},
                                           {0x3f80}, {0x3f80}};
  auto *mine = reinterpret_cast<Bf16 *>(sharedMemory()) + threadIdx.x / 8 * 8;
  if (threadIdx.x % 8 == 0)
    copyAsync(mine, ones, true);
  closeCopies();
  if (waits)
    awaitCopies();
  __syncthreads();
  result[place()] = toFloat(mine[threadIdx.x % 8]);
  awaitCopies();
}

TEST(KernelEmulation, ShowsACopyThatIsNotAwaited) {
  int wrong = 0;
  for (float value : run(copied<false>, 1))
    wrong += std::isnan(value);
  EXPECT_GT(wrong, 0);
  for (float value : run(copied<true>, 1))
    EXPECT_EQ(value, 1);
}

void divergent(float *result) {
  float value = 1;
  if (threadIdx.x % 32 < 16)
    value = __shfl_sync(0xffffffffu, value, 0);
  else
    __syncwarp();
  result[place()] = value;
}
void halfAtBarrier(float *result) {
  if (threadIdx.x < threads / 2)
    __syncthreads();
  else
    __shfl_sync(0xffffffffu, threadIdx.x % 32 ? 1 : 0, 0);
  if (threadIdx.x == 0)
    __syncwarp();
  result[place()] = 0;
}

TEST(KernelEmulationDeathTest, ShowsLanesThatDoNotMeet) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(run(divergent, 1), "lanes of a warp meet in different");
  EXPECT_DEATH(run(halfAtBarrier, 1), "threads of a block wait for others");
}

// A CPU takes vectors at any address.
template <int count> void misplacedVector(float *result) {
  float values[count] = {};
  load(values, result + 1);
  store(result, values);
}
void misplacedCopy(float *) {
  auto *memory = reinterpret_cast<Bf16 *>(sharedMemory());
  copyAsync(memory + 4, memory + 16, true);
  awaitCopies();
}
void misplacedRow(float *result) {
  uint32_t registers[4];
  loadMatrices<false>(registers, reinterpret_cast<Bf16 *>(sharedMemory()) + 4);
  result[place()] = static_cast<float>(registers[0]);
}

TEST(KernelEmulationDeathTest, ShowsMisplacedVectors) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const char *what = "a vector's address is no multiple of its size";
  EXPECT_DEATH(run(misplacedVector<2>, 1), what);
  EXPECT_DEATH(run(misplacedVector<4>, 1), what);
  EXPECT_DEATH(run(misplacedCopy, 1), what);
  EXPECT_DEATH(run(misplacedRow, 1), what);
}

TEST(KernelEmulation, RefusesWhatADeviceRefuses) {
  std::vector<float> result(threads);
  auto configured = [&](dim3 grid, dim3 block, size_t bytes) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = bytes;
    return cudaLaunchKernelEx(&config, rotate<true>, result.data());
  };
  EXPECT_NE(configured(1, 2048, 0), cudaSuccess);
  EXPECT_NE(configured(dim3(1, 65536), threads, 0), cudaSuccess);
  EXPECT_NE(configured(1, threads, 49 << 10), cudaSuccess);
  EXPECT_EQ(configured(1, threads, 48 << 10), cudaSuccess);
  RONDO_CUDA(cudaDeviceSynchronize());
}

} // namespace
} // namespace rondo::runtime::cuda
