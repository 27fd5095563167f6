//===- attention_backward.cu - Attention on tensor cores, backward --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With P the probabilities, dO the output's gradient and d = rows of dO * O:
//
//   dV = P^T dO      dS = P * (dO V^T - d) * scale      dQ = dS K      dK =
//   dS^T Q
//
// A warp computes 16 or 32 rows of S (or S^T) and of dO V^T (or its transpose)
// in registers; as fragments they are the left operands of the products that
// follow.
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/cuda/attention.h"
#include "runtime/bodies/cuda/attention_tiles.h"

namespace rondo::runtime::cuda {

namespace {

/// Matrices of 16 rows per warp: with two, everything it loads of a streamed
/// tile is used twice. Wide heads take too many registers for that.
template <int D> constexpr int parts = D == 128 ? 1 : 2;
/// Rows per block.
template <int D> constexpr int blockRows = 4 * 16 * parts<D>;
/// Rows of the streamed tiles.
constexpr int passingRows = 32;

/// Two resident tiles, and two streamed ones, double-buffered.
template <int D> constexpr int backwardSharedBytes() {
  return 2 * (2 * tileSize<D, blockRows<D>> + 4 * tileSize<D, passingRows>)+4 *
         4 * passingRows;
}

/// Offsets of a document's query head and of its keys and values.
struct HeadPlace {
  __device__ HeadPlace(const AttentionShape &shape, int head,
                       const DocumentTile &tile)
      : hidden(shape.hidden()), stride(shape.stride),
        q(tile.begin * stride + int64_t(head) * shape.width),
        k(tile.begin * stride + shape.keys +
          int64_t(head / shape.group()) * shape.width),
        v(k + shape.values - shape.keys),
        output(tile.begin * hidden + int64_t(head) * shape.width),
        row(tile.begin * shape.heads + int64_t(head) * tile.tokens) {}
  int64_t hidden, stride;
  /// First elements in qkv, in a tensor [tokens, hidden], and in statistics.
  int64_t q, k, v, output, row;
};

/// 16 rows per part, as C fragments.
template <int D, int columns> using Rows = float (&)[parts<D>][columns / 8][4];

/// product [rows, columns] = rows of `left` [.., D], starting at `row`, times
/// the transpose of `right` [columns, D].
template <int D, int columns>
__device__ __forceinline__ void multiplyRows(Rows<D, columns> product,
                                             const Bf16 *left, int row,
                                             const Bf16 *right) {
#pragma unroll
  for (int c = 0; c < D / 16; ++c) {
    uint32_t a[parts<D>][4];
#pragma unroll
    for (int m = 0; m < parts<D>; ++m)
      loadA(a[m], left, tileStride<D>, row + 16 * m, 16 * c);
#pragma unroll
    for (int n = 0; n < columns / 16; ++n) {
      uint32_t b[4];
      loadB(b, right, tileStride<D>, 16 * n, 16 * c);
#pragma unroll
      for (int m = 0; m < parts<D>; ++m) {
        multiplyAdd(product[m][2 * n], a[m], b[0], b[1]);
        multiplyAdd(product[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

/// sum [rows, D] += factor [rows, inner] times `right` [inner, D].
template <int D, int inner>
__device__ __forceinline__ void
addProduct(Rows<D, D> sum, Rows<D, inner> factor, const Bf16 *right) {
#pragma unroll
  for (int c = 0; c < inner / 16; ++c) {
    uint32_t a[parts<D>][4];
#pragma unroll
    for (int m = 0; m < parts<D>; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        a[m][i] = packBf16(factor[m][2 * c + i / 2][i % 2 * 2],
                           factor[m][2 * c + i / 2][i % 2 * 2 + 1]);
#pragma unroll
    for (int n = 0; n < D / 16; ++n) {
      uint32_t b[4];
      loadBTransposed(b, right, tileStride<D>, 16 * n, 16 * c);
#pragma unroll
      for (int m = 0; m < parts<D>; ++m) {
        multiplyAdd(sum[m][2 * n], a[m], b[0], b[1]);
        multiplyAdd(sum[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

/// Calls run(part, matrix, i) for each of a lane's elements.
template <int D, int columns, typename Run>
__device__ __forceinline__ void forElements(Run run) {
#pragma unroll
  for (int m = 0; m < parts<D>; ++m)
#pragma unroll
    for (int n = 0; n < columns / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        run(m, n, i);
}

/// A block computes the gradients of its queries, one key tile after another.
template <int D, bool isRow>
__global__ void __launch_bounds__(attentionThreads, 3)
    queryGradKernel(AttentionShape shape, float scale, const Bf16 *qkv,
                    const Bf16 *outputGrad, const float *logSumExp,
                    const float *rowDots, Bf16 *queryGrad) {
  constexpr int keys = passingRows, rows = blockRows<D>,
                warpRows = 16 * parts<D>;
  auto *tileQ = reinterpret_cast<Bf16 *>(sharedMemory());
  Bf16 *tileGrad = tileQ + tileSize<D, rows>;
  Bf16 *passing = tileGrad + tileSize<D, rows>;
  // The last queries see the most keys, so they start first.
  const DocumentTile tile = shape.documents.tileFromLast<rows, isRow>(
      blockIdx.x, blockIdx.z, gridDim.x);
  const int first = tile.first, sequence = tile.tokens;
  if (isRow && first >= sequence)
    return;
  const HeadPlace at(shape, blockIdx.y, tile);
  const Bf16 *k = qkv + at.k, *v = qkv + at.v;
  const int end = first + rows < sequence ? first + rows : sequence;
  const int lane = threadIdx.x % 32, warpRow = threadIdx.x / 32 * warpRows;
  const float exponent = scale * log2e;

  loadTile<D, rows>(tileQ, qkv + at.q, at.stride, first, sequence, shape.width);
  loadTile<D, rows>(tileGrad, outputGrad + at.output, at.hidden, first,
                    sequence, shape.width);
  auto loadKeys = [&](int key, int turn) {
    Bf16 *tileK = passing + turn * 2 * tileSize<D, keys>;
    loadTile<D, keys>(tileK, k, at.stride, key, sequence, shape.width);
    loadTile<D, keys>(tileK + tileSize<D, keys>, v, at.stride, key, sequence,
                      shape.width);
    closeCopies();
  };
  loadKeys(0, 0);

  float shift[parts<D>][2], dots[parts<D>][2];
#pragma unroll
  for (int m = 0; m < parts<D>; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int query = first + warpRow + 16 * m + lane / 4 + 8 * half;
      shift[m][half] = query < sequence ? logSumExp[at.row + query] * log2e : 0;
      dots[m][half] = query < sequence ? rowDots[at.row + query] : 0;
    }
  float grad[parts<D>][D / 8][4] = {};
  int turn = 0;
  for (int key = 0; key < end; key += keys, turn ^= 1) {
    awaitCopies();
    __syncthreads();
    if (key + keys < end)
      loadKeys(key + keys, turn ^ 1);
    if (key > first + warpRow + warpRows - 1 ||
        (isRow && first + warpRow >= sequence))
      continue;
    const Bf16 *tileK = passing + turn * 2 * tileSize<D, keys>;
    const Bf16 *tileV = tileK + tileSize<D, keys>;
    float scores[parts<D>][keys / 8][4] = {}, grads[parts<D>][keys / 8][4] = {};
    multiplyRows<D, keys>(scores, tileQ, warpRow, tileK);
    multiplyRows<D, keys>(grads, tileGrad, warpRow, tileV);
    if (key + keys - 1 > first + warpRow)
      forElements<D, keys>([&](int m, int n, int i) {
        if (key + 8 * n + lane % 4 * 2 + i % 2 >
            first + warpRow + 16 * m + lane / 4 + i / 2 * 8)
          scores[m][n][i] = -INFINITY;
      });
    forElements<D, keys>([&](int m, int n, int i) {
      const float p = fastExp2(scores[m][n][i] * exponent - shift[m][i / 2]);
      grads[m][n][i] = p * (grads[m][n][i] - dots[m][i / 2]);
    });
    addProduct<D, keys>(grad, grads, tileK);
  }
#pragma unroll
  for (int m = 0; m < parts<D>; ++m)
    storeRows<D>(tileQ + (warpRow + 16 * m) * tileStride<D>, grad[m], scale,
                 scale, queryGrad + at.output, at.hidden,
                 first + warpRow + 16 * m, sequence, shape.width);
}

/// A block computes the gradients of its keys and values, one query tile after
/// another, for each head that shares them, and writes them in place: no other
/// block reads these rows.
template <int D, bool isRow>
__global__ void __launch_bounds__(attentionThreads, 2)
    keyGradKernel(AttentionShape shape, float scale, Bf16 *qkv,
                  const Bf16 *outputGrad, const float *logSumExp,
                  const float *rowDots) {
  constexpr int queries = passingRows, rows = blockRows<D>,
                warpRows = 16 * parts<D>;
  auto *tileK = reinterpret_cast<Bf16 *>(sharedMemory());
  Bf16 *tileV = tileK + tileSize<D, rows>;
  Bf16 *passing = tileV + tileSize<D, rows>;
  // [turn][shift or dot][query].
  auto *statistics =
      reinterpret_cast<float *>(passing + 4 * tileSize<D, queries>);
  const int group = shape.group();
  // The first keys are seen by the most queries, so they start first.
  const DocumentTile tile =
      shape.documents.tile<rows, isRow>(blockIdx.x, blockIdx.z);
  const int first = tile.first, sequence = tile.tokens;
  if (isRow && first >= sequence)
    return;
  // The place of the first head that shares the keys; the others follow it.
  const HeadPlace at(shape, blockIdx.y * group, tile);
  Bf16 *k = qkv + at.k, *v = qkv + at.v;
  const int lane = threadIdx.x % 32, warpRow = threadIdx.x / 32 * warpRows;
  const float exponent = scale * log2e;

  loadTile<D, rows>(tileK, k, at.stride, first, sequence, shape.width);
  loadTile<D, rows>(tileV, v, at.stride, first, sequence, shape.width);
  auto loadQueries = [&](int head, int query, int turn) {
    Bf16 *tileQ = passing + turn * 2 * tileSize<D, queries>;
    const int64_t place = int64_t(head) * shape.width;
    const int64_t row = at.row + int64_t(head) * sequence;
    loadTile<D, queries>(tileQ, qkv + at.q + place, at.stride, query, sequence,
                         shape.width);
    loadTile<D, queries>(tileQ + tileSize<D, queries>,
                         outputGrad + at.output + place, at.hidden, query,
                         sequence, shape.width);
    closeCopies();
    for (int i = threadIdx.x; i < queries; i += attentionThreads) {
      const bool valid = query + i < sequence;
      // Makes the probability 0 for rows past the last query.
      statistics[turn * 2 * queries + i] =
          valid ? logSumExp[row + query + i] * log2e : INFINITY;
      statistics[(turn * 2 + 1) * queries + i] =
          valid ? rowDots[row + query + i] : 0;
    }
  };
  // The first tile with a query that sees a key.
  const int start = first / queries * queries;
  loadQueries(0, start, 0);

  float keyGrad[parts<D>][D / 8][4] = {}, valueGrad[parts<D>][D / 8][4] = {};
  int turn = 0, nextHead = 0, next = start;
  for (; nextHead < group; turn ^= 1) {
    const int query = next;
    next += queries;
    if (next >= sequence) {
      next = start;
      ++nextHead;
    }
    awaitCopies();
    __syncthreads();
    if (nextHead < group)
      loadQueries(nextHead, next, turn ^ 1);
    if (query + queries - 1 < first + warpRow ||
        (isRow && first + warpRow >= sequence))
      continue;
    const Bf16 *tileQ = passing + turn * 2 * tileSize<D, queries>;
    const Bf16 *tileGrad = tileQ + tileSize<D, queries>;
    const float *shift = statistics + turn * 2 * queries;
    const float *dots = shift + queries;
    float scores[parts<D>][queries / 8][4] = {};
    multiplyRows<D, queries>(scores, tileK, warpRow, tileQ);
    if (query < first + warpRow + warpRows - 1)
      forElements<D, queries>([&](int m, int n, int i) {
        if (first + warpRow + 16 * m + lane / 4 + i / 2 * 8 >
            query + 8 * n + lane % 4 * 2 + i % 2)
          scores[m][n][i] = -INFINITY;
      });
    forElements<D, queries>([&](int m, int n, int i) {
      scores[m][n][i] = fastExp2(scores[m][n][i] * exponent -
                                 shift[8 * n + lane % 4 * 2 + i % 2]);
    });
    addProduct<D, queries>(valueGrad, scores, tileGrad);
    float grads[parts<D>][queries / 8][4] = {};
    multiplyRows<D, queries>(grads, tileV, warpRow, tileGrad);
    forElements<D, queries>([&](int m, int n, int i) {
      grads[m][n][i] = scores[m][n][i] *
                       (grads[m][n][i] - dots[8 * n + lane % 4 * 2 + i % 2]);
    });
    addProduct<D, queries>(keyGrad, grads, tileQ);
  }
#pragma unroll
  for (int m = 0; m < parts<D>; ++m) {
    const int row = warpRow + 16 * m;
    storeRows<D>(tileK + row * tileStride<D>, keyGrad[m], scale, scale, k,
                 at.stride, first + row, sequence, shape.width);
    storeRows<D>(tileV + row * tileStride<D>, valueGrad[m], 1, 1, v, at.stride,
                 first + row, sequence, shape.width);
  }
}

} // namespace

template <>
void attentionInputGrad(const Stream &stream, const AttentionShape &shape,
                        float *qkv, const float *output,
                        const float *outputGrad, const float *logSumExp,
                        float *queryGrad, float *rowDots) {
  plainAttentionInputGrad(stream, shape, qkv, output, outputGrad, logSumExp,
                          queryGrad, rowDots);
}

template <>
void attentionInputGrad(const Stream &stream, const AttentionShape &shape,
                        Bf16 *qkv, const Bf16 *output, const Bf16 *outputGrad,
                        const float *logSumExp, Bf16 *queryGrad,
                        float *rowDots) {
  if (stream.attention &&
      stream.attention->inputGrad(stream, shape, qkv, output, outputGrad,
                                  logSumExp))
    return;
  if (shape.width > 128)
    return plainAttentionInputGrad(stream, shape, qkv, output, outputGrad,
                                   logSumExp, queryGrad, rowDots);
  const float scale = 1 / std::sqrt(static_cast<float>(shape.width));
  attentionRowDots(stream, shape, output, outputGrad, rowDots);
  withKernelOf(shape, [&](auto width, auto isRow) {
    constexpr int bytes = backwardSharedBytes<width.value>();
    constexpr int rows = blockRows<width.value>;
    launch(stream, queryGradKernel<width.value, isRow.value>,
           shape.documents.gridOf<rows>(shape.heads), attentionThreads, bytes,
           shape, scale, qkv, outputGrad, logSumExp, rowDots, queryGrad);
    launch(stream, keyGradKernel<width.value, isRow.value>,
           shape.documents.gridOf<rows>(shape.kvHeads), attentionThreads, bytes,
           shape, scale, qkv, outputGrad, logSumExp, rowDots);
  });
  copyQueryGrad(stream, shape, queryGrad, qkv);
}

} // namespace rondo::runtime::cuda
