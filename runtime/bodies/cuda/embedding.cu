//===- embedding.cu - Token and position embedding on CUDA ----------------===//

#include "runtime/bodies/cuda/embedding.h"

#include "runtime/bodies/cuda/thread.h"

#include <algorithm>

namespace rondo::runtime::cuda {

namespace {

/// A block does a token.
template <typename T, int width>
__global__ void __launch_bounds__(256)
    forwardKernel(int64_t sequence, int64_t hidden, const int32_t *ids,
                  const T *tokenTable, const T *positionTable,
                  int32_t *savedIds, T *output) {
  const int64_t token = blockIdx.x, id = ids[token];
  const T *row = tokenTable + id * hidden;
  const T *position = positionTable + token % sequence * hidden;
  if (threadIdx.x == 0)
    savedIds[token] = static_cast<int32_t>(id);
  for (int64_t c = int64_t(threadIdx.x) * width; c < hidden;
       c += int64_t(blockDim.x) * width) {
    float a[width], b[width];
    load(a, row + c);
    load(b, position + c);
#pragma unroll
    for (int i = 0; i < width; ++i)
      a[i] += b[i];
    store(output + token * hidden + c, a);
  }
}

/// Tokens that a lane looks at before the warp votes.
constexpr int64_t looks = 4, warpTokens = 32 * looks;

/// Bit i of votes[l]: token first + 32 l + i is `id`, and below `end`.
__device__ __forceinline__ bool findTokens(const int32_t *ids, int64_t first,
                                           int64_t end, int32_t id,
                                           unsigned (&votes)[looks]) {
  const int64_t mine = first + threadIdx.x % 32;
  int32_t found[looks];
#pragma unroll
  for (int l = 0; l < looks; ++l)
    found[l] = mine + 32 * l < end ? ids[mine + 32 * l] : -1;
  bool any = false;
#pragma unroll
  for (int l = 0; l < looks; ++l) {
    votes[l] = __ballot_sync(0xffffffffu, found[l] == id);
    any |= votes[l] != 0;
  }
  return any;
}

/// The block of a token's first place adds all rows of that token; the others
/// leave. Each warp looks for them itself and has columns of its own.
template <typename T, int width>
__global__ void __launch_bounds__(256)
    tokenGradKernel(int64_t tokens, int64_t hidden, const int32_t *ids,
                    const T *outputGrad, float *tokenGrad) {
  const int64_t token = blockIdx.x;
  const int32_t id = ids[token];
  unsigned votes[looks];
  for (int64_t first = 0; first < token; first += warpTokens)
    if (findTokens(ids, first, token, id, votes))
      return;
  for (int64_t group = int64_t(threadIdx.x) / 32 * 32 * width; group < hidden;
       group += int64_t(blockDim.x) * width) {
    const int64_t column = group + int64_t(threadIdx.x) % 32 * width;
    float sum[width] = {};
    for (int64_t first = token; first < tokens; first += warpTokens) {
      if (!findTokens(ids, first, tokens, id, votes))
        continue;
#pragma unroll
      for (int l = 0; l < looks; ++l)
        for (unsigned left = votes[l]; left != 0; left &= left - 1) {
          const int64_t place = first + 32 * l + __ffs(left) - 1;
          if (column >= hidden)
            continue;
          float value[width];
          load(value, outputGrad + place * hidden + column);
#pragma unroll
          for (int i = 0; i < width; ++i)
            sum[i] += value[i];
        }
    }
    if (column >= hidden)
      continue;
    float *grad = tokenGrad + int64_t(id) * hidden + column;
    float before[width];
    load(before, grad);
#pragma unroll
    for (int i = 0; i < width; ++i)
      before[i] += sum[i];
    store(grad, before);
  }
}

/// A block does a position, sample after sample.
template <typename T, int width>
__global__ void __launch_bounds__(256)
    positionGradKernel(int64_t samples, int64_t sequence, int64_t hidden,
                       const T *outputGrad, float *positionGrad) {
  const int64_t position = blockIdx.x;
  for (int64_t c = int64_t(threadIdx.x) * width; c < hidden;
       c += int64_t(blockDim.x) * width) {
    float sum[width];
    load(sum, positionGrad + position * hidden + c);
    for (int64_t sample = 0; sample < samples; ++sample) {
      float value[width];
      load(value, outputGrad + (sample * sequence + position) * hidden + c);
#pragma unroll
      for (int i = 0; i < width; ++i)
        sum[i] += value[i];
    }
    store(positionGrad + position * hidden + c, sum);
  }
}

/// Whole warps for a row.
unsigned threadsFor(int64_t hidden, int width) {
  return std::clamp<int64_t>((hidden / width + 31) / 32 * 32, 32, 256);
}

template <typename Run> void withWidth(int64_t hidden, Run run) {
  if (hidden % 4 == 0)
    run(std::integral_constant<int, 4>());
  else
    run(std::integral_constant<int, 1>());
}

} // namespace

template <typename T>
void embeddingForward(const Stream &stream, int64_t tokens, int64_t sequence,
                      int64_t hidden, const int32_t *ids, const T *tokenTable,
                      const T *positionTable, int32_t *savedIds, T *output) {
  withWidth(hidden, [&](auto width) {
    launch(stream, forwardKernel<T, width.value>, tokens,
           threadsFor(hidden, width.value), 0, sequence, hidden, ids,
           tokenTable, positionTable, savedIds, output);
  });
}

template <typename T>
void embeddingWeightGrad(const Stream &stream, int64_t tokens, int64_t sequence,
                         int64_t hidden, const int32_t *ids,
                         const T *outputGrad, float *tokenGrad,
                         float *positionGrad) {
  withWidth(hidden, [&](auto width) {
    const unsigned threads = threadsFor(hidden, width.value);
    launch(stream, tokenGradKernel<T, width.value>, tokens, threads, 0, tokens,
           hidden, ids, outputGrad, tokenGrad);
    launch(stream, positionGradKernel<T, width.value>, sequence, threads, 0,
           tokens / sequence, sequence, hidden, outputGrad, positionGrad);
  });
}

#define RONDO_INSTANTIATE(T)                                                   \
  template void embeddingForward(const Stream &, int64_t, int64_t, int64_t,    \
                                 const int32_t *, const T *, const T *,        \
                                 int32_t *, T *);                              \
  template void embeddingWeightGrad(const Stream &, int64_t, int64_t, int64_t, \
                                    const int32_t *, const T *, float *,       \
                                    float *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(Bf16)

} // namespace rondo::runtime::cuda
