//===- classifier.cu - Softmax and cross-entropy on CUDA ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/classifier.h"

#include "runtime/base/cuda/thread.h"

namespace rondo::runtime::cuda {

namespace {

/// Two blocks fill a multiprocessor: with more rows in flight, the second read
/// of a row would miss the cache.
constexpr int threads = 1024, warps = threads / 32;
constexpr int width = 8;

/// The number of logits in a pack.
__device__ __forceinline__ int inPack(int64_t vocab, int64_t first) {
  return vocab - first < width ? static_cast<int>(vocab - first) : width;
}

/// A sum of exponentials relative to a maximum that rises on the way.
struct RunningSum {
  float most = -1e30f, sum = 0;

  __device__ __forceinline__ void add(float otherMost, float otherSum) {
    const float top = fmaxf(most, otherMost);
    sum = sum * __expf(most - top) + otherSum * __expf(otherMost - top);
    most = top;
  }
};

/// Logarithm of the sum of a row's exponentials, the same in all threads.
template <typename T>
__device__ __forceinline__ float logSumOf(const T *row, int64_t vocab,
                                          RunningSum *scratch) {
  RunningSum mine;
  for (int64_t c = int64_t(threadIdx.x) * width; c < vocab;
       c += threads * width) {
    const int count = inPack(vocab, c);
    float value[width];
    load(value, row + c);
    float top = mine.most;
#pragma unroll
    for (int i = 0; i < width; ++i)
      if (i < count)
        top = fmaxf(top, value[i]);
    mine.sum *= __expf(mine.most - top);
    mine.most = top;
#pragma unroll
    for (int i = 0; i < width; ++i)
      if (i < count)
        mine.sum += __expf(value[i] - top);
  }
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
  for (int i = 1; i < warps; ++i)
    all.add(scratch[i].most, scratch[i].sum);
  return all.most + logf(all.sum);
}

/// One block per row. `again`: logSumExp and share are known.
template <typename T, bool again>
__global__ void __launch_bounds__(threads)
    crossEntropyKernel(Logits<T> logits, const int32_t *targets, float share,
                       float *losses, float *logSumExp, float *savedShare) {
  const int64_t row = blockIdx.x;
  T *values = logits.values + row * logits.stride;
  const int64_t target = targets[row];
  float shift;
  if constexpr (again) {
    shift = logSumExp[row];
    share = *savedShare;
  } else {
    const float atTarget = toFloat(values[target]);
    shift = logSumOf(values, logits.vocab,
                     reinterpret_cast<RunningSum *>(sharedMemory()));
    if (threadIdx.x == 0) {
      losses[row] = shift - atTarget;
      if (logSumExp)
        logSumExp[row] = shift;
      if (savedShare && row == 0)
        *savedShare = share;
    }
  }
  // Backwards, because what was read last is in the nearest cache.
  constexpr int64_t step = int64_t(threads) * width;
  int64_t c = (logits.vocab - 1) / step * step + int64_t(threadIdx.x) * width;
  for (c = c < logits.vocab ? c : c - step; c >= 0; c -= step) {
    const int count = inPack(logits.vocab, c);
    // Outside the pack in most cases.
    const int one = static_cast<int>(target - c);
    float value[width];
    load(value, values + c);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const float p = __expf(value[i] - shift);
      // Zeros follow the last logit, up to a whole pack.
      value[i] = i < count ? (i == one ? p - 1 : p) * share : 0;
    }
    store(values + c, value);
  }
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
  launch(stream, crossEntropyKernel<T, false>, logits.rows, threads,
         warps * sizeof(RunningSum), logits, targets, share, losses, logSumExp,
         savedShare);
}

template <typename T>
void crossEntropyAgain(const Stream &stream, const Logits<T> &logits,
                       const int32_t *targets, const float *logSumExp,
                       const float *savedShare) {
  launch(stream, crossEntropyKernel<T, true>, logits.rows, threads, 0, logits,
         targets, 0.f, nullptr, const_cast<float *>(logSumExp),
         const_cast<float *>(savedShare));
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
