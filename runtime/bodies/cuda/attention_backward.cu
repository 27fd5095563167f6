//===- attention_backward.cu - Attention on tensor cores, backward --------===//
//
// With P the probabilities, dO the output's gradient and d = rows of dO * O:
//
//   dV = P^T dO      dS = P * (dO V^T - d) * scale      dQ = dS K      dK =
//   dS^T Q
//
// A warp makes 16 rows of S (or S^T) and of dO V^T (or its transpose) in
// registers; as fragments they are the left operands of the products behind.
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/cuda/attention_plain.h"
#include "runtime/bodies/cuda/attention_tiles.h"

namespace rondo::runtime::cuda {

namespace {

/// Rows of a block: 16 for each warp.
constexpr int blockRows = 64;
/// Rows of the tiles that pass by.
template <int D> constexpr int passingRows = D == 128 ? 32 : 64;

/// Two tiles that stay, and two that pass, twice.
template <int D> constexpr int backwardSharedBytes() {
  return 2 * (2 * tileSize<D, blockRows> + 4 * tileSize<D, passingRows<D>>)+4 *
         4 * passingRows<D>;
}

/// Where a head of a sample lies.
struct HeadPlace {
  __device__ HeadPlace(const AttentionShape &shape, int head, int sample)
      : hidden(shape.hidden()), stride(3 * hidden),
        q(int64_t(sample) * shape.sequence * stride +
          int64_t(head) * shape.width),
        output(int64_t(sample) * shape.sequence * hidden +
               int64_t(head) * shape.width),
        row((int64_t(sample) * shape.heads + head) * shape.sequence) {}
  int64_t hidden, stride;
  /// First elements in qkv, in a tensor [tokens, hidden], and in statistics.
  int64_t q, output, row;
};

/// product [16, columns] = rows [16, D] of `left`, starting at `row`, times the
/// transpose of `right` [columns, D].
template <int D, int columns>
__device__ __forceinline__ void multiplyRows(float (&product)[columns / 8][4],
                                             const Bf16 *left, int row,
                                             const Bf16 *right) {
#pragma unroll
  for (int c = 0; c < D / 16; ++c) {
    uint32_t a[4];
    loadA(a, left, tileStride<D>, row, 16 * c);
#pragma unroll
    for (int n = 0; n < columns / 16; ++n) {
      uint32_t b[4];
      loadB(b, right, tileStride<D>, 16 * n, 16 * c);
      multiplyAdd(product[2 * n], a, b[0], b[1]);
      multiplyAdd(product[2 * n + 1], a, b[2], b[3]);
    }
  }
}

/// sum [16, D] += factor [16, inner] times `right` [inner, D].
template <int D, int inner>
__device__ __forceinline__ void addProduct(float (&sum)[D / 8][4],
                                           const float (&factor)[inner / 8][4],
                                           const Bf16 *right) {
#pragma unroll
  for (int c = 0; c < inner / 16; ++c) {
    const uint32_t a[4] = {
        packBf16(factor[2 * c][0], factor[2 * c][1]),
        packBf16(factor[2 * c][2], factor[2 * c][3]),
        packBf16(factor[2 * c + 1][0], factor[2 * c + 1][1]),
        packBf16(factor[2 * c + 1][2], factor[2 * c + 1][3])};
#pragma unroll
    for (int n = 0; n < D / 16; ++n) {
      uint32_t b[4];
      loadBTransposed(b, right, tileStride<D>, 16 * n, 16 * c);
      multiplyAdd(sum[2 * n], a, b[0], b[1]);
      multiplyAdd(sum[2 * n + 1], a, b[2], b[3]);
    }
  }
}

/// A block makes the gradients of 64 queries, key tile after key tile.
template <int D>
__global__ void __launch_bounds__(attentionThreads)
    queryGradKernel(AttentionShape shape, float scale, const Bf16 *qkv,
                    const Bf16 *outputGrad, const float *logSumExp,
                    const float *rowDots, Bf16 *queryGrad) {
  constexpr int keys = passingRows<D>;
  auto *tileQ = reinterpret_cast<Bf16 *>(sharedMemory());
  Bf16 *tileGrad = tileQ + tileSize<D, blockRows>;
  Bf16 *passing = tileGrad + tileSize<D, blockRows>;
  const HeadPlace at(shape, blockIdx.y, blockIdx.z);
  const Bf16 *k = qkv + at.q + at.hidden, *v = k + at.hidden;
  const int sequence = shape.sequence;
  // The last queries see the most keys: they begin first.
  const int first = (gridDim.x - 1 - blockIdx.x) * blockRows;
  const int end = first + blockRows < sequence ? first + blockRows : sequence;
  const int lane = threadIdx.x % 32, warpRow = threadIdx.x / 32 * 16;
  const float exponent = scale * log2e;

  loadTile<D, blockRows>(tileQ, qkv + at.q, at.stride, first, sequence,
                         shape.width);
  loadTile<D, blockRows>(tileGrad, outputGrad + at.output, at.hidden, first,
                         sequence, shape.width);
  auto loadKeys = [&](int key, int turn) {
    Bf16 *tileK = passing + turn * 2 * tileSize<D, keys>;
    loadTile<D, keys>(tileK, k, at.stride, key, sequence, shape.width);
    loadTile<D, keys>(tileK + tileSize<D, keys>, v, at.stride, key, sequence,
                      shape.width);
    closeCopies();
  };
  loadKeys(0, 0);

  float shift[2], dots[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int query = first + warpRow + lane / 4 + 8 * half;
    shift[half] = query < sequence ? logSumExp[at.row + query] * log2e : 0;
    dots[half] = query < sequence ? rowDots[at.row + query] : 0;
  }
  float grad[D / 8][4] = {};
  int turn = 0;
  for (int key = 0; key < end; key += keys, turn ^= 1) {
    awaitCopies();
    __syncthreads();
    if (key + keys < end)
      loadKeys(key + keys, turn ^ 1);
    if (key > first + warpRow + 15)
      continue;
    const Bf16 *tileK = passing + turn * 2 * tileSize<D, keys>;
    const Bf16 *tileV = tileK + tileSize<D, keys>;
    float scores[keys / 8][4] = {}, grads[keys / 8][4] = {};
    multiplyRows<D, keys>(scores, tileQ, warpRow, tileK);
    multiplyRows<D, keys>(grads, tileGrad, warpRow, tileV);
    if (key + keys - 1 > first + warpRow)
#pragma unroll
      for (int n = 0; n < keys / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if (key + 8 * n + lane % 4 * 2 + i % 2 >
              first + warpRow + lane / 4 + i / 2 * 8)
            scores[n][i] = -INFINITY;
#pragma unroll
    for (int n = 0; n < keys / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int half = i / 2;
        const float p = fastExp2(scores[n][i] * exponent - shift[half]);
        grads[n][i] = p * (grads[n][i] - dots[half]);
      }
    addProduct<D, keys>(grad, grads, tileK);
  }
  storeRows<D>(tileQ + warpRow * tileStride<D>, grad, scale, scale,
               queryGrad + at.output, at.hidden, first + warpRow, sequence,
               shape.width);
}

/// A block makes the gradients of 64 keys and values, query tile after query
/// tile, and writes them in place: no other block reads these rows.
template <int D>
__global__ void __launch_bounds__(attentionThreads, D == 128 ? 2 : 3)
    keyGradKernel(AttentionShape shape, float scale, Bf16 *qkv,
                  const Bf16 *outputGrad, const float *logSumExp,
                  const float *rowDots) {
  constexpr int queries = passingRows<D>;
  auto *tileK = reinterpret_cast<Bf16 *>(sharedMemory());
  Bf16 *tileV = tileK + tileSize<D, blockRows>;
  Bf16 *passing = tileV + tileSize<D, blockRows>;
  // [turn][shift or dot][query].
  auto *statistics =
      reinterpret_cast<float *>(passing + 4 * tileSize<D, queries>);
  const HeadPlace at(shape, blockIdx.y, blockIdx.z);
  Bf16 *k = qkv + at.q + at.hidden, *v = k + at.hidden;
  const int sequence = shape.sequence;
  // The first keys are seen by the most queries and begin first.
  const int first = blockIdx.x * blockRows;
  const int lane = threadIdx.x % 32, warpRow = threadIdx.x / 32 * 16;
  const float exponent = scale * log2e;

  loadTile<D, blockRows>(tileK, k, at.stride, first, sequence, shape.width);
  loadTile<D, blockRows>(tileV, v, at.stride, first, sequence, shape.width);
  auto loadQueries = [&](int query, int turn) {
    Bf16 *tileQ = passing + turn * 2 * tileSize<D, queries>;
    loadTile<D, queries>(tileQ, qkv + at.q, at.stride, query, sequence,
                         shape.width);
    loadTile<D, queries>(tileQ + tileSize<D, queries>, outputGrad + at.output,
                         at.hidden, query, sequence, shape.width);
    closeCopies();
    for (int i = threadIdx.x; i < queries; i += attentionThreads) {
      const bool valid = query + i < sequence;
      // A probability of 0 where there is no query.
      statistics[turn * 2 * queries + i] =
          valid ? logSumExp[at.row + query + i] * log2e : INFINITY;
      statistics[(turn * 2 + 1) * queries + i] =
          valid ? rowDots[at.row + query + i] : 0;
    }
  };
  // The first tile with a query that sees a key.
  const int start = first / queries * queries;
  loadQueries(start, 0);

  float keyGrad[D / 8][4] = {}, valueGrad[D / 8][4] = {};
  int turn = 0;
  for (int query = start; query < sequence; query += queries, turn ^= 1) {
    awaitCopies();
    __syncthreads();
    if (query + queries < sequence)
      loadQueries(query + queries, turn ^ 1);
    if (query + queries - 1 < first + warpRow)
      continue;
    const Bf16 *tileQ = passing + turn * 2 * tileSize<D, queries>;
    const Bf16 *tileGrad = tileQ + tileSize<D, queries>;
    const float *shift = statistics + turn * 2 * queries;
    const float *dots = shift + queries;
    float scores[queries / 8][4] = {};
    multiplyRows<D, queries>(scores, tileK, warpRow, tileQ);
    if (query < first + warpRow + 15)
#pragma unroll
      for (int n = 0; n < queries / 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if (first + warpRow + lane / 4 + i / 2 * 8 >
              query + 8 * n + lane % 4 * 2 + i % 2)
            scores[n][i] = -INFINITY;
#pragma unroll
    for (int n = 0; n < queries / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scores[n][i] = fastExp2(scores[n][i] * exponent -
                                shift[8 * n + lane % 4 * 2 + i % 2]);
    addProduct<D, queries>(valueGrad, scores, tileGrad);
    float grads[queries / 8][4] = {};
    multiplyRows<D, queries>(grads, tileV, warpRow, tileGrad);
#pragma unroll
    for (int n = 0; n < queries / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        grads[n][i] =
            scores[n][i] * (grads[n][i] - dots[8 * n + lane % 4 * 2 + i % 2]);
    addProduct<D, queries>(keyGrad, grads, tileQ);
  }
  storeRows<D>(tileK + warpRow * tileStride<D>, keyGrad, scale, scale, k,
               at.stride, first + warpRow, sequence, shape.width);
  storeRows<D>(tileV + warpRow * tileStride<D>, valueGrad, 1, 1, v, at.stride,
               first + warpRow, sequence, shape.width);
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
  if (shape.width > 128)
    return plainAttentionInputGrad(stream, shape, qkv, output, outputGrad,
                                   logSumExp, queryGrad, rowDots);
  const float scale = 1 / std::sqrt(static_cast<float>(shape.width));
  attentionRowDots(stream, shape, output, outputGrad, rowDots);
  const dim3 grid(blocksFor(shape.sequence, blockRows), shape.heads,
                  shape.batch);
  withPaddedWidth(shape.width, [&](auto width) {
    constexpr int bytes = backwardSharedBytes<width.value>();
    launch(stream, queryGradKernel<width.value>, grid, attentionThreads, bytes,
           shape, scale, qkv, outputGrad, logSumExp, rowDots, queryGrad);
    launch(stream, keyGradKernel<width.value>, grid, attentionThreads, bytes,
           shape, scale, qkv, outputGrad, logSumExp, rowDots);
  });
  copyQueryGrad(stream, shape, queryGrad, qkv);
}

} // namespace rondo::runtime::cuda
