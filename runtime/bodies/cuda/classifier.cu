//===- classifier.cu - Softmax and cross-entropy on CUDA ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/kernels.h"

#include "runtime/base/cuda/thread.h"
#include "runtime/bodies/cuda/tensor_core.h"

namespace rondo::runtime::cuda {

namespace {

constexpr int threads = 1024, warps = threads / 32;
constexpr int width = 8;
constexpr float log2E = 1.4426950408889634f;

/// Computation of a row's gradients.
enum class Way : uint8_t {
  /// The row is read once, into shared memory, of which two blocks fill a
  /// multiprocessor.
  Kept,
  /// The row is read twice. Two blocks fill a multiprocessor by their threads:
  /// with more rows in flight, the second read would miss the cache.
  Twice,
  /// The logarithm of the sum is known.
  Again,
};
/// Threads of a block, one row's.
template <Way way> constexpr int threadsOf = way == Way::Twice ? threads : 512;
/// Packs that a thread loads before it changes one.
template <Way way>
constexpr int packsAtOnce = way == Way::Kept    ? 2
                            : way == Way::Again ? 4
                                                : 1;

/// Shared memory of a block that keeps its row: the sums of the warps in front
/// of it. Of the 227 KiB of a multiprocessor of sm_90, two blocks get half.
constexpr int64_t maxKept = int64_t(112) << 10;
constexpr int64_t sumsBytes = 128;
template <typename T> constexpr int64_t keptBytes(int64_t vocab) {
  return sumsBytes + (vocab + width - 1) / width * width * int64_t(sizeof(T));
}
/// The row comes in this many groups of copies; a thread adds one while later
/// ones are on their way.
constexpr int keptParts = 4;

/// Loads a pack of logits; those after the last count nothing in a sum of
/// exponentials.
template <typename T>
__device__ __forceinline__ void loadLogits(float (&value)[width], const T *row,
                                           int64_t vocab, int64_t first) {
  load(value, row + first);
  if (vocab - first < width) {
#pragma unroll
    for (int i = 0; i < width; ++i)
      if (i >= vocab - first)
        value[i] = -1e30f;
  }
}

__device__ __forceinline__ float exponential(float x) {
  return fastExp2(x * log2E);
}

/// A sum of exponentials relative to a maximum that rises on the way.
struct RunningSum {
  float most = -1e30f, sum = 0;

  __device__ __forceinline__ void add(float otherMost, float otherSum) {
    const float top = fmaxf(most, otherMost);
    sum =
        sum * exponential(most - top) + otherSum * exponential(otherMost - top);
    most = top;
  }
  __device__ __forceinline__ void add(const float (&value)[width]) {
    float top = most;
#pragma unroll
    for (int i = 0; i < width; ++i)
      top = fmaxf(top, value[i]);
    sum *= exponential(most - top);
    most = top;
#pragma unroll
    for (int i = 0; i < width; ++i)
      sum += exponential(value[i] - top);
  }
};

/// Adds this thread's packs from `first` up to `end`, `step` logits apart.
template <typename T>
__device__ __forceinline__ void addLogits(RunningSum &sum, const T *row,
                                          int64_t vocab, int64_t first,
                                          int64_t end, int64_t step) {
  for (int64_t c = first; c < end; c += step) {
    float value[width];
    loadLogits(value, row, vocab, c);
    sum.add(value);
  }
}

/// Logarithm of the sum of a row's exponentials, the same in all threads.
template <int rowWarps>
__device__ __forceinline__ float logOf(RunningSum mine, RunningSum *scratch) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    const float most = __shfl_xor_sync(0xffffffffu, mine.most, apart);
    const float sum = __shfl_xor_sync(0xffffffffu, mine.sum, apart);
    mine.add(most, sum);
  }
  if (threadIdx.x % 32 == 0)
    scratch[threadIdx.x / 32] = mine;
  __syncthreads();
  RunningSum all = scratch[0];
  for (int i = 1; i < rowWarps; ++i)
    all.add(scratch[i].most, scratch[i].sum);
  return all.most + logf(all.sum);
}

/// Copies a row to shared memory and adds it on the way. Each thread adds what
/// it copied, so it waits for no other.
template <typename T>
__device__ __forceinline__ RunningSum keepRow(T *kept, const T *row,
                                              int64_t vocab) {
  constexpr int each = 16 / sizeof(T);
  constexpr int64_t step = int64_t(threadsOf<Way::Kept>) * width;
  const int64_t mine = int64_t(threadIdx.x) * width;
  const int64_t part =
      (vocab + step * keptParts - 1) / (step * keptParts) * step;
#pragma unroll
  for (int p = 0; p < keptParts; ++p) {
    const int64_t end = min((p + 1) * part, vocab);
    for (int64_t c = p * part + mine; c < end; c += step)
#pragma unroll
      for (int i = 0; i < width; i += each)
        copyAsync(kept + c + i, row + c + i, true);
    closeCopies();
  }
  RunningSum sum;
  const auto addPart = [&](int p) {
    addLogits<T>(sum, kept, vocab, p * part + mine, min((p + 1) * part, vocab),
                 step);
  };
  static_assert(keptParts == 4);
  awaitCopies<3>();
  addPart(0);
  awaitCopies<2>();
  addPart(1);
  awaitCopies<1>();
  addPart(2);
  awaitCopies<0>();
  addPart(3);
  return sum;
}

/// One block per row. Again: logSumExp and share are known.
template <typename T, Way way>
__global__ void __launch_bounds__(threadsOf<way>, 2)
    crossEntropyKernel(Logits<T> logits, const int32_t *targets, float share,
                       float *losses, float *logSumExp, float *savedShare) {
  constexpr int rowThreads = threadsOf<way>, atOnce = packsAtOnce<way>;
  constexpr int64_t step = int64_t(rowThreads) * width;
  static_assert(rowThreads / 32 * sizeof(RunningSum) <= sumsBytes ||
                way != Way::Kept);
  const int64_t row = blockIdx.x, vocab = logits.vocab;
  T *values = logits.values + row * logits.stride;
  const T *source = values;
  const int64_t target = targets[row];
  // Padding has no target.
  const bool counts = target >= 0;
  float shift;
  if constexpr (way == Way::Again) {
    shift = logSumExp[row];
    share = *savedShare;
  } else {
    const float atTarget = counts ? toFloat(values[target]) : 0;
    RunningSum sum;
    if constexpr (way == Way::Kept) {
      T *kept = reinterpret_cast<T *>(sharedMemory() + sumsBytes);
      sum = keepRow(kept, values, vocab);
      source = kept;
    } else {
      addLogits<T>(sum, values, vocab, int64_t(threadIdx.x) * width, vocab,
                   step);
    }
    shift = logOf<rowThreads / 32>(
        sum, reinterpret_cast<RunningSum *>(sharedMemory()));
    if (threadIdx.x == 0) {
      losses[row] = counts ? shift - atTarget : 0;
      if (logSumExp)
        logSumExp[row] = shift;
      if (savedShare && row == 0)
        *savedShare = share;
    }
  }
  if (!counts)
    share = 0;
  // Backwards, because what was read last is in the nearest cache.
  int64_t c = (vocab - 1) / step * step + int64_t(threadIdx.x) * width;
  for (c = c < vocab ? c : c - step; c >= 0; c -= atOnce * step) {
    float value[atOnce][width];
#pragma unroll
    for (int a = 0; a < atOnce; ++a)
      if (c >= a * step)
        loadLogits(value[a], source, vocab, c - a * step);
#pragma unroll
    for (int a = 0; a < atOnce; ++a) {
      const int64_t at = c - a * step;
      if (at < 0)
        continue;
      // Zeros follow the last logit, up to a whole pack.
#pragma unroll
      for (int i = 0; i < width; ++i)
        value[a][i] = exponential(value[a][i] - shift);
      if (target >= at && target < at + width) {
#pragma unroll
        for (int i = 0; i < width; ++i)
          if (i == target - at)
            value[a][i] -= 1;
      }
#pragma unroll
      for (int i = 0; i < width; ++i)
        value[a][i] *= share;
      store(values + at, value[a]);
    }
  }
}

/// Whether blocks of the current device may have as much shared memory.
bool mayHave(int64_t sharedBytes) {
  int device = 0, most = 0;
  RONDO_CUDA(cudaGetDevice(&device));
  RONDO_CUDA(cudaDeviceGetAttribute(
      &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  return sharedBytes <= most;
}

__global__ void __launch_bounds__(threads)
    meanLossKernel(int64_t count, const float *losses, float *mean) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += threads)
    sum += losses[i];
  sum = blockSum(sum, reinterpret_cast<double *>(sharedMemory()));
  if (threadIdx.x == 0)
    *mean = static_cast<float>(sum / static_cast<double>(count));
}

} // namespace

template <typename T>
void crossEntropy(const Stream &stream, const Logits<T> &logits,
                  const int32_t *targets, float share, float *losses,
                  float *logSumExp, float *savedShare) {
  const int64_t kept = keptBytes<T>(logits.vocab);
  if (kept > maxKept || !mayHave(kept)) {
    launch(stream, crossEntropyKernel<T, Way::Twice>, logits.rows, threads,
           warps * sizeof(RunningSum), logits, targets, share, losses,
           logSumExp, savedShare);
    return;
  }
  launch(stream, crossEntropyKernel<T, Way::Kept>, logits.rows,
         threadsOf<Way::Kept>, kept, logits, targets, share, losses, logSumExp,
         savedShare);
}

template <typename T>
void crossEntropyAgain(const Stream &stream, const Logits<T> &logits,
                       const int32_t *targets, const float *logSumExp,
                       const float *savedShare) {
  launch(stream, crossEntropyKernel<T, Way::Again>, logits.rows,
         threadsOf<Way::Again>, 0, logits, targets, 0.f, nullptr,
         const_cast<float *>(logSumExp), const_cast<float *>(savedShare));
}

void meanLoss(const Stream &stream, int64_t count, const float *losses,
              float *mean) {
  launch(stream, meanLossKernel, 1, threads, warps * sizeof(double), count,
         losses, mean);
}

#define RONDO_INSTANTIATE(T)                                                   \
  template void crossEntropy(const Stream &, const Logits<T> &,                \
                             const int32_t *, float, float *, float *,         \
                             float *);                                         \
  template void crossEntropyAgain(const Stream &, const Logits<T> &,           \
                                  const int32_t *, const float *,              \
                                  const float *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(Bf16)

} // namespace rondo::runtime::cuda
