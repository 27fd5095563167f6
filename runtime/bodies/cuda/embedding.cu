//===- embedding.cu - Token and position embedding on CUDA ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/kernels.h"

#include "runtime/base/cuda/thread.h"

#include <algorithm>

namespace rondo::runtime::cuda {

namespace {

/// One block per token.
template <typename T, int width>
__global__ void __launch_bounds__(256)
    forwardKernel(Documents documents, int64_t hidden, const int32_t *ids,
                  const T *tokenTable, const T *positionTable,
                  int32_t *savedIds, T *output) {
  const int64_t token = blockIdx.x, id = ids[token];
  const T *row = tokenTable + id * hidden;
  const int64_t position = positionTable ? documents.placeOf(token) : 0;
  if (threadIdx.x == 0)
    savedIds[token] = static_cast<int32_t>(id);
  for (int64_t c = int64_t(threadIdx.x) * width; c < hidden;
       c += int64_t(blockDim.x) * width) {
    float a[width], b[width] = {};
    load(a, row + c);
    if (positionTable)
      load(b, positionTable + position * hidden + c);
#pragma unroll
    for (int i = 0; i < width; ++i)
      a[i] += b[i];
    store(output + token * hidden + c, a);
  }
}

/// Tokens that a lane checks before the warp votes, and the most warps of a
/// block.
constexpr int64_t looks = 4, warpTokens = 32 * looks, maxWarps = 8;
/// Rows of a frequent token that a thread has in flight at once.
constexpr int rowsAtOnce = 8;
/// Shared memory of a warp: its votes, and the places of the tokens it found.
constexpr int64_t warpShared = sizeof(uint4) + warpTokens * sizeof(int);

/// Bit i of votes[l]: token first + 32 l + i is `id`, and below `end`.
__device__ __forceinline__ void findTokens(const int32_t *ids, int64_t first,
                                           int64_t end, int32_t id,
                                           unsigned (&votes)[looks]) {
  const int64_t mine = first + threadIdx.x % 32;
  int32_t found[looks];
#pragma unroll
  for (int l = 0; l < looks; ++l)
    found[l] = mine + 32 * l < end ? ids[mine + 32 * l] : -1;
#pragma unroll
  for (int l = 0; l < looks; ++l)
    votes[l] = __ballot_sync(0xffffffffu, found[l] == id);
}

/// The block of a token's first occurrence adds all rows of that token; the
/// other blocks leave. Its warps search together, a group of tokens each, and
/// each thread has columns of its own.
template <typename T, int width>
__global__ void __launch_bounds__(32 * maxWarps)
    tokenGradKernel(int64_t tokens, int64_t hidden, const int32_t *ids,
                    const T *outputGrad, float *tokenGrad) {
  static_assert(looks == 4, "a warp's votes are a uint4");
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const int lane = threadIdx.x % 32;
  auto *votes = reinterpret_cast<uint4 *>(sharedMemory());
  auto *places = reinterpret_cast<int *>(votes + warps);
  const int64_t token = blockIdx.x;
  const int32_t id = ids[token];
  const bool isFirstLane = lane == 0;
  const int64_t step = warps * warpTokens;
  // Most tokens are alone, or not the first: one pass over all ids, without
  // barriers, finds out.
  bool before = false, after = false;
#pragma unroll 8
  for (int64_t other = threadIdx.x; other < tokens; other += blockDim.x) {
    const bool isSame = ids[other] == id;
    before |= isSame && other < token;
    after |= isSame && other > token;
  }
  before = __ballot_sync(0xffffffffu, before) != 0;
  after = __ballot_sync(0xffffffffu, after) != 0;
  if (isFirstLane) {
    votes[warp].x = before;
    votes[warp].y = after;
  }
  __syncthreads();
  bool isAlone = true;
  for (int w = 0; w < warps; ++w) {
    if (votes[w].x)
      return;
    isAlone &= votes[w].y == 0;
  }
  if (isAlone) {
    for (int64_t c = int64_t(threadIdx.x) * width; c < hidden;
         c += int64_t(blockDim.x) * width) {
      float sum[width], value[width];
      load(sum, tokenGrad + int64_t(id) * hidden + c);
      load(value, outputGrad + token * hidden + c);
#pragma unroll
      for (int i = 0; i < width; ++i)
        sum[i] += value[i];
      store(tokenGrad + int64_t(id) * hidden + c, sum);
    }
    return;
  }
  unsigned mine[looks];
  for (int64_t begin = 0; begin < hidden;
       begin += int64_t(blockDim.x) * width) {
    const int64_t column = begin + int64_t(threadIdx.x) * width;
    float sum[width] = {};
    for (int64_t first = token; first < tokens; first += step) {
      findTokens(ids, first + warp * warpTokens, tokens, id, mine);
      // All threads have read the previous votes and places.
      __syncthreads();
      if (isFirstLane)
        votes[warp] = make_uint4(mine[0], mine[1], mine[2], mine[3]);
      __syncthreads();
      int count = 0, mineBegin = 0;
      for (int w = 0; w < warps; ++w) {
        const uint4 all = votes[w];
        if (w == warp)
          mineBegin = count;
        count += __popc(all.x) + __popc(all.y) + __popc(all.z) + __popc(all.w);
      }
      if (count == 0)
        continue;
#pragma unroll
      for (int l = 0; l < looks; ++l) {
        if (mine[l] >> lane & 1)
          places[mineBegin + __popc(mine[l] & ((1u << lane) - 1))] =
              static_cast<int>(warp * warpTokens) + 32 * l + lane;
        mineBegin += __popc(mine[l]);
      }
      __syncthreads();
      for (int i = 0; i < count && column < hidden; i += rowsAtOnce) {
        float value[rowsAtOnce][width];
        // Loads unconditionally, so that all are in flight before one is added;
        // past the last row, that row is loaded again.
#pragma unroll
        for (int r = 0; r < rowsAtOnce; ++r)
          load(value[r], outputGrad +
                             (first + places[min(i + r, count - 1)]) * hidden +
                             column);
#pragma unroll
        for (int r = 0; r < rowsAtOnce; ++r)
          if (i + r < count)
#pragma unroll
            for (int j = 0; j < width; ++j)
              sum[j] += value[r][j];
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

/// A block handles a position, one document after another. A warp finds those
/// that reach the position 32 at a time.
template <typename T, int width>
__global__ void __launch_bounds__(256)
    positionGradKernel(Documents documents, int64_t hidden, const T *outputGrad,
                       float *positionGrad) {
  const int position = blockIdx.x, lane = threadIdx.x % 32;
  for (int64_t begin = 0; begin < hidden;
       begin += int64_t(blockDim.x) * width) {
    const int64_t column = begin + int64_t(threadIdx.x) * width;
    const bool isColumn = column < hidden;
    float *grad = positionGrad + position * hidden + column;
    float sum[width] = {};
    if (isColumn)
      load(sum, grad);
    for (int some = 0; some < documents.count; some += 32) {
      const int mine = some + lane;
      unsigned found =
          __ballot_sync(0xffffffffu, mine < documents.count &&
                                         documents.tokensOf(mine) > position);
      while (found != 0 && isColumn) {
        // Several rows are in flight before one is added.
        float value[rowsAtOnce][width];
        int count = 0;
#pragma unroll
        for (int r = 0; r < rowsAtOnce; ++r)
          if (found != 0) {
            const int document = some + __ffs(found) - 1;
            found &= found - 1;
            count = r + 1;
            load(value[r], outputGrad +
                               (documents.first(document) + position) * hidden +
                               column);
          }
#pragma unroll
        for (int r = 0; r < rowsAtOnce; ++r)
          if (r < count)
#pragma unroll
            for (int i = 0; i < width; ++i)
              sum[i] += value[r][i];
      }
    }
    if (isColumn)
      store(grad, sum);
  }
}

/// Whole warps per row.
unsigned threadsFor(int64_t hidden, int width) {
  return std::clamp<int64_t>((hidden / width + 31) / 32 * 32, 32,
                             32 * maxWarps);
}

template <typename Run> void withWidth(int64_t hidden, Run run) {
  if (hidden % 4 == 0)
    run(std::integral_constant<int, 4>());
  else
    run(std::integral_constant<int, 1>());
}

} // namespace

template <typename T>
void embeddingForward(const Stream &stream, const Documents &documents,
                      int64_t hidden, const int32_t *ids, const T *tokenTable,
                      const T *positionTable, int32_t *savedIds, T *output) {
  withWidth(hidden, [&](auto width) {
    launch(stream, forwardKernel<T, width.value>, documents.tokens(),
           threadsFor(hidden, width.value), 0, documents, hidden, ids,
           tokenTable, positionTable, savedIds, output);
  });
}

template <typename T>
void embeddingWeightGrad(const Stream &stream, const Documents &documents,
                         int64_t positions, int64_t hidden, const int32_t *ids,
                         const T *outputGrad, float *tokenGrad,
                         float *positionGrad) {
  withWidth(hidden, [&](auto width) {
    const unsigned threads = threadsFor(hidden, width.value);
    const int64_t tokens = documents.tokens();
    launch(stream, tokenGradKernel<T, width.value>, tokens, threads,
           threads / 32 * warpShared, tokens, hidden, ids, outputGrad,
           tokenGrad);
    if (!positionGrad)
      return;
    launch(stream, positionGradKernel<T, width.value>, positions, threads, 0,
           documents, hidden, outputGrad, positionGrad);
  });
}

#define RONDO_INSTANTIATE(T)                                                   \
  template void embeddingForward(const Stream &, const Documents &, int64_t,   \
                                 const int32_t *, const T *, const T *,        \
                                 int32_t *, T *);                              \
  template void embeddingWeightGrad(const Stream &, const Documents &,         \
                                    int64_t, int64_t, const int32_t *,         \
                                    const T *, float *, float *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(Bf16)

} // namespace rondo::runtime::cuda
