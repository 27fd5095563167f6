//===- attention_plain.cu - Attention without tensor cores ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For fp32, and for wide heads in bf16. A block is 4 warps with 4 rows each; a
// lane has one of the 32 rows of the streamed tile, then 1 column of 32.
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/cuda/attention.h"

#include "runtime/base/cuda/thread.h"
#include "runtime/model/layer_sizes.h"

namespace rondo::runtime::cuda {

namespace {

constexpr int warps = 4, warpRows = 4, rows = warps * warpRows, tile = 32;
constexpr int threads = 32 * warps;
/// Elements of a row per lane.
constexpr int laneColumns = maxHeadWidthCuda / 32;

/// Copies rows [first, first + count) as fp32, with zeros from `end` on. Rows
/// are width + 1 elements apart, so that lanes with one row each use different
/// banks.
template <typename T>
__device__ void loadRows(float *to, const T *head, int64_t stride, int first,
                         int count, int end, int width) {
  for (int i = threadIdx.x; i < count * width; i += threads) {
    const int row = i / width, column = i % width;
    to[row * (width + 1) + column] =
        first + row < end ? toFloat(head[(first + row) * stride + column]) : 0;
  }
}

__device__ float dot(const float *a, const float *b, int width) {
  float sum = 0;
  for (int i = 0; i < width; ++i)
    sum += a[i] * b[i];
  return sum;
}

/// Loads the two streamed tiles, one after the other. The block's threads have
/// finished with the previous tiles when it begins, and see all of the new ones
/// when it ends.
template <typename T>
__device__ void loadTiles(float *to, const T *one, int64_t strideOne,
                          const T *other, int64_t strideOther, int first,
                          int end, int width) {
  __syncthreads();
  loadRows(to, one, strideOne, first, tile, end, width);
  loadRows(to + tile * (width + 1), other, strideOther, first, tile, end,
           width);
  __syncthreads();
}

/// sum[c] += factor of row i, held by lane i, * rows[i][32 c + lane].
__device__ void addRows(float (&sum)[laneColumns], float factor,
                        const float *rows, int width) {
  const int lane = threadIdx.x % 32;
  for (int i = 0; i < tile; ++i) {
    const float each = __shfl_sync(0xffffffffu, factor, i);
#pragma unroll
    for (int c = 0; c < laneColumns; ++c)
      if (32 * c + lane < width)
        sum[c] += each * rows[i * (width + 1) + 32 * c + lane];
  }
}

template <typename T>
__device__ void storeRow(T *row, const float (&values)[laneColumns],
                         float factor, int width) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int c = 0; c < laneColumns; ++c)
    if (32 * c + lane < width)
      row[32 * c + lane] = fromFloat<T>(values[c] * factor);
}

/// First elements of a document's query head and of its keys and values, the
/// block's first row, and the warp's first row in the block.
struct Place {
  __device__ Place(const AttentionShape &shape, int head,
                   const DocumentTile &block)
      : hidden(shape.hidden()), stride(shape.stride),
        q(block.begin * stride + int64_t(head) * shape.width),
        k(block.begin * stride + shape.keys +
          int64_t(head / shape.group()) * shape.width),
        v(k + shape.values - shape.keys),
        output(block.begin * hidden + int64_t(head) * shape.width),
        row(block.begin * shape.heads + int64_t(head) * block.tokens),
        first(block.first), warpRow(threadIdx.x / 32 * warpRows) {}
  int64_t hidden, stride, q, k, v, output, row;
  int first, warpRow;
};

template <typename T>
__global__ void __launch_bounds__(threads)
    plainForwardKernel(AttentionShape shape, float scale, const T *qkv,
                       T *output, float *logSumExp) {
  const DocumentTile block =
      shape.documents.starts
          ? shape.documents.tile<rows, true>(blockIdx.x, blockIdx.z)
          : shape.documents.tile<rows, false>(blockIdx.x, blockIdx.z);
  const int width = shape.width, sequence = block.tokens;
  if (block.first >= sequence)
    return;
  auto *queries = reinterpret_cast<float *>(sharedMemory());
  float *keys = queries + rows * (width + 1);
  float *values = keys + tile * (width + 1);
  const Place at(shape, blockIdx.y, block);
  const T *k = qkv + at.k, *v = qkv + at.v;
  const int first = at.first, warpRow = at.warpRow, lane = threadIdx.x % 32;
  const int end = first + rows < sequence ? first + rows : sequence;
  loadRows(queries, qkv + at.q, at.stride, first, rows, sequence, width);
  float most[warpRows], sum[warpRows] = {}, out[warpRows][laneColumns] = {};
  for (int r = 0; r < warpRows; ++r)
    most[r] = -1e30f;
  for (int key = 0; key < end; key += tile) {
    loadTiles(keys, k, at.stride, v, at.stride, key, sequence, width);
#pragma unroll
    for (int r = 0; r < warpRows; ++r) {
      const int query = first + warpRow + r;
      float score = scale * dot(queries + (warpRow + r) * (width + 1),
                                keys + lane * (width + 1), width);
      if (key + lane > query)
        score = -INFINITY;
      const float top = fmaxf(most[r], warpMax(score));
      const float shrink = expf(most[r] - top), p = expf(score - top);
      most[r] = top;
      sum[r] = sum[r] * shrink + warpSum(p);
#pragma unroll
      for (int c = 0; c < laneColumns; ++c)
        out[r][c] *= shrink;
      addRows(out[r], p, values, width);
    }
  }
#pragma unroll
  for (int r = 0; r < warpRows; ++r) {
    const int query = first + warpRow + r;
    if (query >= sequence)
      break;
    storeRow(output + at.output + query * at.hidden, out[r], 1 / sum[r], width);
    if (lane == 0)
      logSumExp[at.row + query] = most[r] + logf(sum[r]);
  }
}

template <typename T>
__global__ void __launch_bounds__(threads)
    plainQueryGradKernel(AttentionShape shape, float scale, const T *qkv,
                         const T *outputGrad, const float *logSumExp,
                         const float *rowDots, T *queryGrad) {
  const DocumentTile block =
      shape.documents.starts
          ? shape.documents.tile<rows, true>(blockIdx.x, blockIdx.z)
          : shape.documents.tile<rows, false>(blockIdx.x, blockIdx.z);
  const int width = shape.width, sequence = block.tokens;
  if (block.first >= sequence)
    return;
  auto *queries = reinterpret_cast<float *>(sharedMemory());
  float *outGrads = queries + rows * (width + 1);
  float *keys = outGrads + rows * (width + 1);
  float *values = keys + tile * (width + 1);
  const Place at(shape, blockIdx.y, block);
  const T *k = qkv + at.k, *v = qkv + at.v;
  const int first = at.first, warpRow = at.warpRow, lane = threadIdx.x % 32;
  const int end = first + rows < sequence ? first + rows : sequence;
  loadRows(queries, qkv + at.q, at.stride, first, rows, sequence, width);
  loadRows(outGrads, outputGrad + at.output, at.hidden, first, rows, sequence,
           width);
  float grad[warpRows][laneColumns] = {};
  for (int key = 0; key < end; key += tile) {
    loadTiles(keys, k, at.stride, v, at.stride, key, sequence, width);
#pragma unroll
    for (int r = 0; r < warpRows; ++r) {
      const int query = first + warpRow + r;
      float scoreGrad = 0;
      if (query < sequence && key + lane <= query) {
        const float score = scale * dot(queries + (warpRow + r) * (width + 1),
                                        keys + lane * (width + 1), width);
        const float p = expf(score - logSumExp[at.row + query]);
        scoreGrad = p * (dot(outGrads + (warpRow + r) * (width + 1),
                             values + lane * (width + 1), width) -
                         rowDots[at.row + query]);
      }
      addRows(grad[r], scoreGrad, keys, width);
    }
  }
#pragma unroll
  for (int r = 0; r < warpRows; ++r)
    if (first + warpRow + r < sequence)
      storeRow(queryGrad + at.output + (first + warpRow + r) * at.hidden,
               grad[r], scale, width);
}

template <typename T>
__global__ void __launch_bounds__(threads)
    plainKeyGradKernel(AttentionShape shape, float scale, T *qkv,
                       const T *outputGrad, const float *logSumExp,
                       const float *rowDots) {
  const DocumentTile block =
      shape.documents.starts
          ? shape.documents.tile<rows, true>(blockIdx.x, blockIdx.z)
          : shape.documents.tile<rows, false>(blockIdx.x, blockIdx.z);
  const int width = shape.width, sequence = block.tokens;
  if (block.first >= sequence)
    return;
  auto *keys = reinterpret_cast<float *>(sharedMemory());
  float *values = keys + rows * (width + 1);
  float *queries = values + rows * (width + 1);
  float *outGrads = queries + tile * (width + 1);
  const int firstHead = blockIdx.y * shape.group();
  const Place at(shape, firstHead, block);
  T *k = qkv + at.k, *v = qkv + at.v;
  const int first = at.first, warpRow = at.warpRow, lane = threadIdx.x % 32;
  loadRows(keys, k, at.stride, first, rows, sequence, width);
  loadRows(values, v, at.stride, first, rows, sequence, width);
  float keyGrad[warpRows][laneColumns] = {};
  float valueGrad[warpRows][laneColumns] = {};
  for (int head = firstHead; head < firstHead + shape.group(); ++head) {
    const Place from(shape, head, block);
    for (int query = first / tile * tile; query < sequence; query += tile) {
      loadTiles<T>(queries, qkv + from.q, at.stride, outputGrad + from.output,
                   at.hidden, query, sequence, width);
#pragma unroll
      for (int r = 0; r < warpRows; ++r) {
        float p = 0, scoreGrad = 0;
        if (query + lane < sequence && first + warpRow + r <= query + lane) {
          const float score = scale * dot(keys + (warpRow + r) * (width + 1),
                                          queries + lane * (width + 1), width);
          p = expf(score - logSumExp[from.row + query + lane]);
          scoreGrad = p * (dot(values + (warpRow + r) * (width + 1),
                               outGrads + lane * (width + 1), width) -
                           rowDots[from.row + query + lane]);
        }
        addRows(valueGrad[r], p, outGrads, width);
        addRows(keyGrad[r], scoreGrad, queries, width);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < warpRows; ++r)
    if (first + warpRow + r < sequence) {
      storeRow(k + (first + warpRow + r) * at.stride, keyGrad[r], scale, width);
      storeRow(v + (first + warpRow + r) * at.stride, valueGrad[r], 1, width);
    }
}

/// `lanes` lanes handle one head of a token, `each` elements at a time.
template <typename T, int lanes, int each>
__global__ void __launch_bounds__(threads)
    rowDotsKernel(AttentionShape shape, const T *output, const T *outputGrad,
                  float *rowDots) {
  const int64_t item = (int64_t(blockIdx.x) * threads + threadIdx.x) / lanes;
  const bool valid = item < shape.tokens() * shape.heads;
  const int64_t at = item * shape.width;
  float sum = 0;
  for (int c = threadIdx.x % lanes * each; valid && c < shape.width;
       c += lanes * each) {
    float a[each], b[each];
    load(a, output + at + c);
    load(b, outputGrad + at + c);
#pragma unroll
    for (int i = 0; i < each; ++i)
      sum += a[i] * b[i];
  }
#pragma unroll
  for (int apart = lanes / 2; apart > 0; apart /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, apart);
  if (!valid || threadIdx.x % lanes != 0)
    return;
  const int64_t token = item / shape.heads, head = item % shape.heads;
  const int document = shape.documents.of(token);
  const int64_t first = shape.documents.first(document);
  rowDots[first * shape.heads + head * shape.documents.tokensOf(document) +
          token - first] = sum;
}

/// One block per token.
template <typename T, int width>
__global__ void __launch_bounds__(threads)
    copyQueryGradKernel(int64_t hidden, int64_t stride, const T *queryGrad,
                        T *qkv) {
  const int64_t token = blockIdx.x;
  for (int64_t c = int64_t(threadIdx.x) * width; c < hidden;
       c += threads * width) {
    float value[width];
    load(value, queryGrad + token * hidden + c);
    store(qkv + token * stride + c, value);
  }
}

/// For `count` rows.
size_t bytesOf(const AttentionShape &shape, int count) {
  return sizeof(float) * count * (shape.width + 1);
}
float scaleOf(const AttentionShape &shape) {
  return 1 / std::sqrt(static_cast<float>(shape.width));
}

} // namespace

template <typename T>
void attentionRowDots(const Stream &stream, const AttentionShape &shape,
                      const T *output, const T *outputGrad, float *rowDots) {
  const int64_t items = shape.tokens() * shape.heads;
  // The usual head of 64 elements gives all 8 lanes work.
  if (shape.width % 8 == 0)
    launch(stream, rowDotsKernel<T, 8, 8>, blocksFor(items * 8, threads),
           threads, 0, shape, output, outputGrad, rowDots);
  else
    launch(stream, rowDotsKernel<T, 32, 1>, blocksFor(items * 32, threads),
           threads, 0, shape, output, outputGrad, rowDots);
}

template <typename T>
void copyQueryGrad(const Stream &stream, const AttentionShape &shape,
                   const T *queryGrad, T *qkv) {
  const int64_t hidden = shape.hidden();
  if (hidden % 4 == 0 && shape.stride % 4 == 0)
    launch(stream, copyQueryGradKernel<T, 4>, shape.tokens(), threads, 0,
           hidden, shape.stride, queryGrad, qkv);
  else
    launch(stream, copyQueryGradKernel<T, 1>, shape.tokens(), threads, 0,
           hidden, shape.stride, queryGrad, qkv);
}

template <typename T>
void plainAttentionForward(const Stream &stream, const AttentionShape &shape,
                           const T *qkv, T *output, float *logSumExp) {
  launch(stream, plainForwardKernel<T>,
         shape.documents.gridOf<rows>(shape.heads), threads,
         bytesOf(shape, rows + 2 * tile), shape, scaleOf(shape), qkv, output,
         logSumExp);
}

template <typename T>
void plainAttentionInputGrad(const Stream &stream, const AttentionShape &shape,
                             T *qkv, const T *output, const T *outputGrad,
                             const float *logSumExp, T *queryGrad,
                             float *rowDots) {
  const size_t bytes = bytesOf(shape, 2 * rows + 2 * tile);
  attentionRowDots(stream, shape, output, outputGrad, rowDots);
  launch(stream, plainQueryGradKernel<T>,
         shape.documents.gridOf<rows>(shape.heads), threads, bytes, shape,
         scaleOf(shape), qkv, outputGrad, logSumExp, rowDots, queryGrad);
  launch(stream, plainKeyGradKernel<T>,
         shape.documents.gridOf<rows>(shape.kvHeads), threads, bytes, shape,
         scaleOf(shape), qkv, outputGrad, logSumExp, rowDots);
  copyQueryGrad(stream, shape, queryGrad, qkv);
}

#define RONDO_INSTANTIATE(T)                                                   \
  template void attentionRowDots(const Stream &, const AttentionShape &,       \
                                 const T *, const T *, float *);               \
  template void copyQueryGrad(const Stream &, const AttentionShape &,          \
                              const T *, T *);                                 \
  template void plainAttentionForward(const Stream &, const AttentionShape &,  \
                                      const T *, T *, float *);                \
  template void plainAttentionInputGrad(                                       \
      const Stream &, const AttentionShape &, T *, const T *, const T *,       \
      const float *, T *, float *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(Bf16)

} // namespace rondo::runtime::cuda
