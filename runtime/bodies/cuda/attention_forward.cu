//===- attention_forward.cu - Attention on tensor cores, forward ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/attention.h"
#include "runtime/bodies/cuda/attention_tiles.h"

namespace rondo::runtime::cuda {

namespace {

/// A warp has 32 queries, so that everything it loads of k and v is used twice.
constexpr int parts = 2;
constexpr int blockQueries = 4 * 16 * parts;
/// Keys per tile: fewer if the output takes many registers.
template <int D> constexpr int blockKeys = D == 128 ? 32 : 64;
/// Queries stay in registers if there is room.
template <int D> constexpr bool holdsQueries = D <= 64;

template <int D> constexpr int forwardSharedBytes() {
  return 2 * (tileSize<D, blockQueries> + 2 * tileSize<D, blockKeys<D>>);
}

/// Raises the running maximum of 2 rows, rescales the output and turns scores
/// into probabilities, all in units of log2.
template <int D, int keys>
__device__ __forceinline__ void
softmaxStep(float scale, float (&scores)[keys / 8][4], float (&most)[2],
            float (&sum)[2], float (&output)[D / 8][4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float top = most[half];
#pragma unroll
    for (int n = 0; n < keys / 8; ++n)
      top = fmaxf(top, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
    // Every row has seen key 0, so `top` is finite.
    const float shrink = fastExp2((most[half] - top) * scale);
    most[half] = top;
    sum[half] *= shrink;
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
      output[n][2 * half] *= shrink;
      output[n][2 * half + 1] *= shrink;
    }
#pragma unroll
    for (int n = 0; n < keys / 8; ++n)
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[n][i] = fastExp2(scores[n][i] * scale - top * scale);
        sum[half] += scores[n][i];
      }
  }
}

/// A block handles 128 queries of one head and document. While it computes a
/// tile's scores, the tile's values are copied; while it uses these, the next
/// keys.
template <int D, bool isRow>
__global__ void __launch_bounds__(attentionThreads)
    attentionForwardKernel(AttentionShape shape, float scale, const Bf16 *qkv,
                           Bf16 *output, float *logSumExp) {
  constexpr int keys = blockKeys<D>, stride = tileStride<D>;
  auto *tileQ = reinterpret_cast<Bf16 *>(sharedMemory());
  Bf16 *tileK = tileQ + tileSize<D, blockQueries>;
  Bf16 *tileV = tileK + tileSize<D, keys>;
  // The last queries see the most keys, so they start first.
  const DocumentTile tile = shape.documents.tileFromLast<blockQueries, isRow>(
      blockIdx.x, blockIdx.z, gridDim.x);
  const int head = blockIdx.y, first = tile.first, sequence = tile.tokens;
  if (isRow && first >= sequence)
    return;
  const int64_t hidden = shape.hidden(), rowStride = shape.stride;
  const Bf16 *rows = qkv + tile.begin * rowStride;
  const Bf16 *q = rows + int64_t(head) * shape.width;
  const int64_t kvHead = int64_t(head / shape.group()) * shape.width;
  const Bf16 *k = rows + shape.keys + kvHead;
  const Bf16 *v = rows + shape.values + kvHead;
  const int end =
      first + blockQueries < sequence ? first + blockQueries : sequence;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warpFirst = warp * 16 * parts;

  loadTile<D, blockQueries>(tileQ, q, rowStride, first, sequence, shape.width);
  loadTile<D, keys>(tileK, k, rowStride, 0, sequence, shape.width);
  closeCopies();

  float out[parts][D / 8][4] = {};
  float most[parts][2], sum[parts][2] = {};
  uint32_t held[parts][holdsQueries<D> ? D / 16 : 1][4];
#pragma unroll
  for (int m = 0; m < parts; ++m)
    most[m][0] = most[m][1] = -1e30f;

  for (int key = 0; key < end; key += keys) {
    awaitCopies();
    __syncthreads();
    loadTile<D, keys>(tileV, v, rowStride, key, sequence, shape.width);
    closeCopies();
    if constexpr (holdsQueries<D>)
      if (key == 0)
#pragma unroll
        for (int m = 0; m < parts; ++m)
#pragma unroll
          for (int c = 0; c < D / 16; ++c)
            loadA(held[m][c], tileQ, stride, warpFirst + 16 * m, 16 * c);

    // Warps with early queries have no work in the last tiles, and warps after
    // the last query none at all.
    const bool seen = key <= first + warpFirst + 16 * parts - 1 &&
                      (!isRow || first + warpFirst < sequence);
    float scores[parts][keys / 8][4] = {};
    if (seen) {
#pragma unroll
      for (int c = 0; c < D / 16; ++c) {
        constexpr bool loads = !holdsQueries<D>;
        if constexpr (loads)
#pragma unroll
          for (int m = 0; m < parts; ++m)
            loadA(held[m][0], tileQ, stride, warpFirst + 16 * m, 16 * c);
#pragma unroll
        for (int n = 0; n < keys / 16; ++n) {
          uint32_t b[4];
          loadB(b, tileK, stride, 16 * n, 16 * c);
#pragma unroll
          for (int m = 0; m < parts; ++m) {
            multiplyAdd(scores[m][2 * n], held[m][loads ? 0 : c], b[0], b[1]);
            multiplyAdd(scores[m][2 * n + 1], held[m][loads ? 0 : c], b[2],
                        b[3]);
          }
        }
      }
    }
    awaitCopies();
    __syncthreads();
    if (key + keys < end) {
      loadTile<D, keys>(tileK, k, rowStride, key + keys, sequence, shape.width);
      closeCopies();
    }
    if (!seen)
      continue;

#pragma unroll
    for (int m = 0; m < parts; ++m) {
      const int query = first + warpFirst + 16 * m + lane / 4;
      if (key + keys - 1 > first + warpFirst + 16 * m)
#pragma unroll
        for (int n = 0; n < keys / 8; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            if (key + 8 * n + lane % 4 * 2 + i % 2 > query + i / 2 * 8)
              scores[m][n][i] = -INFINITY;
      softmaxStep<D, keys>(scale, scores[m], most[m], sum[m], out[m]);
    }
#pragma unroll
    for (int c = 0; c < keys / 16; ++c) {
      uint32_t a[parts][4];
#pragma unroll
      for (int m = 0; m < parts; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          a[m][i] = packBf16(scores[m][2 * c + i / 2][i % 2 * 2],
                             scores[m][2 * c + i / 2][i % 2 * 2 + 1]);
#pragma unroll
      for (int n = 0; n < D / 16; ++n) {
        uint32_t b[4];
        loadBTransposed(b, tileV, stride, 16 * n, 16 * c);
#pragma unroll
        for (int m = 0; m < parts; ++m) {
          multiplyAdd(out[m][2 * n], a[m], b[0], b[1]);
          multiplyAdd(out[m][2 * n + 1], a[m], b[2], b[3]);
        }
      }
    }
  }

  Bf16 *outHead = output + tile.begin * hidden + int64_t(head) * shape.width;
  float *sums = logSumExp + tile.begin * shape.heads + int64_t(head) * sequence;
#pragma unroll
  for (int m = 0; m < parts; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      sum[m][half] += __shfl_xor_sync(0xffffffffu, sum[m][half], 1);
      sum[m][half] += __shfl_xor_sync(0xffffffffu, sum[m][half], 2);
      const int query = first + warpFirst + 16 * m + lane / 4 + 8 * half;
      if (lane % 4 == 0 && query < sequence)
        sums[query] = most[m][half] * scale / log2e + logf(sum[m][half]);
    }
    // No other thread reads these rows of the queries' tile.
    storeRows<D>(tileQ + (warpFirst + 16 * m) * stride, out[m], 1 / sum[m][0],
                 1 / sum[m][1], outHead, hidden, first + warpFirst + 16 * m,
                 sequence, shape.width);
  }
}

} // namespace

template <>
void attentionForward(const Stream &stream, const AttentionShape &shape,
                      const float *qkv, float *output, float *logSumExp) {
  plainAttentionForward(stream, shape, qkv, output, logSumExp);
}

template <>
void attentionForward(const Stream &stream, const AttentionShape &shape,
                      const Bf16 *qkv, Bf16 *output, float *logSumExp) {
  if (stream.attention &&
      stream.attention->forward(stream, shape, qkv, output, logSumExp))
    return;
  if (shape.width > 128)
    return plainAttentionForward(stream, shape, qkv, output, logSumExp);
  const float scale = log2e / std::sqrt(static_cast<float>(shape.width));
  withKernelOf(shape, [&](auto width, auto isRow) {
    launch(stream, attentionForwardKernel<width.value, isRow.value>,
           shape.documents.gridOf<blockQueries>(shape.heads), attentionThreads,
           forwardSharedBytes<width.value>(), shape, scale, qkv, output,
           logSumExp);
  });
}

} // namespace rondo::runtime::cuda
