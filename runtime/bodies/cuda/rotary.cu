//===- rotary.cu - Norms and rotary positions of heads, on CUDA -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/kernels.h"

#include "runtime/base/cuda/thread.h"
#include "runtime/bodies/attention.h"
#include "runtime/model/llama_sizes.h"

namespace rondo::runtime::cuda {

namespace {

constexpr int threads = 256;
constexpr int maxPairs = maxHeadWidthCuda / 2;

struct Heads {
  int64_t tokens, rowsPerBlock, stride, keys;
  Documents documents;
  int heads, rotated, pairs;
  float epsilon;
  /// Frequency of each pair, in turns per position.
  double frequencies[maxPairs];

  /// The place of a head in a row.
  __device__ __forceinline__ int64_t at(int head) const {
    return head < heads ? int64_t(head) * 2 * pairs
                        : keys + int64_t(head - heads) * 2 * pairs;
  }
};

/// `lanes` lanes share a head, each with one pack of pairs, or with pairs that
/// are `lanes` apart if heads have no packs.
template <int lanes, int pack> struct Share {
  static constexpr int packs = pack == 1 ? maxPairs / lanes : 1;
  static constexpr int count = packs * pack;
  static constexpr int groups = threads / lanes;
};

/// Loads the pairs of one head: the first halves, then the second.
template <int lanes, int pack, typename T>
__device__ __forceinline__ void loadHead(float (&a)[Share<lanes, pack>::count],
                                         float (&b)[Share<lanes, pack>::count],
                                         const T *head, int pairs, bool valid) {
#pragma unroll
  for (int p = 0; p < Share<lanes, pack>::packs; ++p) {
    const int j = (p * lanes + static_cast<int>(threadIdx.x % lanes)) * pack;
    float first[pack] = {}, second[pack] = {};
    if (valid && j < pairs) {
      load(first, head + j);
      load(second, head + pairs + j);
    }
#pragma unroll
    for (int i = 0; i < pack; ++i) {
      a[p * pack + i] = first[i];
      b[p * pack + i] = second[i];
    }
  }
}

template <int lanes, int pack, typename T>
__device__ __forceinline__ void
storeHead(const float (&a)[Share<lanes, pack>::count],
          const float (&b)[Share<lanes, pack>::count], T *head, int pairs,
          bool valid) {
#pragma unroll
  for (int p = 0; p < Share<lanes, pack>::packs; ++p) {
    const int j = (p * lanes + static_cast<int>(threadIdx.x % lanes)) * pack;
    float first[pack], second[pack];
#pragma unroll
    for (int i = 0; i < pack; ++i) {
      first[i] = a[p * pack + i];
      second[i] = b[p * pack + i];
    }
    if (valid && j < pairs) {
      store(head + j, first);
      store(head + pairs + j, second);
    }
  }
}

/// The sum over the lanes of a head, the same in all of them.
template <int lanes> __device__ __forceinline__ float headSum(float value) {
#pragma unroll
  for (int apart = lanes / 2; apart > 0; apart /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, apart);
  return value;
}

/// A block handles some tokens, a group of lanes one head after another.
template <typename T, int lanes, int pack, bool norms, bool backward>
__global__ void __launch_bounds__(threads)
    headsKernel(Heads shape, HeadNorms<T> norm, T *qkv, float *partials) {
  using Mine = Share<lanes, pack>;
  const int lane = threadIdx.x % lanes, group = threadIdx.x / lanes;
  const int pairs = shape.pairs, width = 2 * pairs;
  const int64_t first = int64_t(blockIdx.x) * shape.rowsPerBlock;
  const int64_t end = first + shape.rowsPerBlock < shape.tokens
                          ? first + shape.rowsPerBlock
                          : shape.tokens;
  // Gradients of the gains of q and of k.
  float sumA[2][Mine::count] = {}, sumB[2][Mine::count] = {};
  for (int64_t token = first; token < end; ++token) {
    const int64_t place = shape.documents.placeOf(token);
    float cosine[Mine::count], sine[Mine::count];
#pragma unroll
    for (int i = 0; i < Mine::count; ++i) {
      const int j = (i / pack * lanes + lane) * pack + i % pack;
      const double turns = place * shape.frequencies[j < pairs ? j : 0];
      sincospif(static_cast<float>(2 * (turns - rint(turns))), &sine[i],
                &cosine[i]);
      if (backward)
        sine[i] = -sine[i];
    }
    // All lanes of a warp take part in its sums.
    for (int base = 0; base < shape.rotated; base += Mine::groups) {
      const int head = base + group;
      const bool valid = head < shape.rotated, isKey = head >= shape.heads;
      const int64_t place = token * shape.rotated + (valid ? head : 0);
      T *values = qkv + token * shape.stride + shape.at(valid ? head : 0);
      float a[Mine::count], b[Mine::count];
      loadHead<lanes, pack>(a, b, values, pairs, valid);
      [[maybe_unused]] float gainA[Mine::count], gainB[Mine::count];
      if constexpr (norms)
        loadHead<lanes, pack>(
            gainA, gainB, isKey ? norm.keyGain : norm.queryGain, pairs, valid);
      if constexpr (norms && !backward) {
        float squares = 0;
#pragma unroll
        for (int i = 0; i < Mine::count; ++i)
          squares += a[i] * a[i] + b[i] * b[i];
        const float scale =
            rsqrtf(headSum<lanes>(squares) / width + shape.epsilon);
#pragma unroll
        for (int i = 0; i < Mine::count; ++i) {
          a[i] *= scale;
          b[i] *= scale;
        }
        storeHead<lanes, pack>(a, b, norm.normal + place * width, pairs, valid);
        if (valid && lane == 0)
          norm.scale[place] = scale;
#pragma unroll
        for (int i = 0; i < Mine::count; ++i) {
          a[i] *= gainA[i];
          b[i] *= gainB[i];
        }
      }
#pragma unroll
      for (int i = 0; i < Mine::count; ++i) {
        const float before = a[i];
        a[i] = before * cosine[i] - b[i] * sine[i];
        b[i] = b[i] * cosine[i] + before * sine[i];
      }
      if constexpr (norms && backward) {
        float normalA[Mine::count], normalB[Mine::count], slope = 0;
        loadHead<lanes, pack>(normalA, normalB, norm.normal + place * width,
                              pairs, valid);
#pragma unroll
        for (int i = 0; i < Mine::count; ++i) {
          const float gradA = a[i] * normalA[i], gradB = b[i] * normalB[i];
          slope += gradA * gainA[i] + gradB * gainB[i];
          sumA[0][i] += isKey ? 0 : gradA;
          sumB[0][i] += isKey ? 0 : gradB;
          sumA[1][i] += isKey ? gradA : 0;
          sumB[1][i] += isKey ? gradB : 0;
        }
        slope = headSum<lanes>(slope) / width;
        const float scale = valid ? norm.scale[place] : 0;
#pragma unroll
        for (int i = 0; i < Mine::count; ++i) {
          a[i] = scale * (a[i] * gainA[i] - normalA[i] * slope);
          b[i] = scale * (b[i] * gainB[i] - normalB[i] * slope);
        }
      }
      storeHead<lanes, pack>(a, b, values, pairs, valid);
    }
  }
  if constexpr (norms && backward) {
    // The groups' sums are added in their order.
    auto *sums = reinterpret_cast<float *>(sharedMemory());
    for (int which = 0; which < 2; ++which)
      storeHead<lanes, pack>(sumA[which], sumB[which],
                             sums + (group * 2 + which) * width, pairs, true);
    __syncthreads();
    for (int c = threadIdx.x; c < 2 * width; c += threads) {
      float sum = 0;
      for (int g = 0; g < Mine::groups; ++g)
        sum += sums[g * 2 * width + c];
      partials[int64_t(blockIdx.x) * 2 * width + c] = sum;
    }
  }
}

template <typename T, int lanes, int pack, bool backward>
void run(const Stream &stream, const Heads &shape, const HeadNorms<T> &norms,
         T *qkv, float *partials) {
  const unsigned blocks = blocksFor(shape.tokens, shape.rowsPerBlock);
  if (!norms.queryGain)
    return launch(stream, headsKernel<T, lanes, pack, false, backward>, blocks,
                  threads, 0, shape, norms, qkv, partials);
  const size_t bytes =
      backward ? sizeof(float) * threads / lanes * 4 * shape.pairs : 0;
  launch(stream, headsKernel<T, lanes, pack, true, backward>, blocks, threads,
         bytes, shape, norms, qkv, partials);
}

template <bool backward, typename T>
void onHeads(const Stream &stream, const LayerDesc &layer,
             const Documents &documents, const HeadNorms<T> &norms, T *qkv,
             float *partials) {
  const QkvColumns columns(layer);
  Heads shape{0, 0, 0, 0, documents, 0, 0, 0, 0, {}};
  shape.tokens = numTokens(layer);
  // Gradients of gains are added by as many blocks as a norm's.
  shape.rowsPerBlock =
      backward && norms.queryGain ? normChunkRows(shape.tokens) : 1;
  shape.stride = columns.stride;
  shape.keys = columns.keys;
  shape.heads = layer.heads;
  shape.rotated = static_cast<int>(rotatedHeads(layer));
  shape.pairs = static_cast<int>(headWidth(layer) / 2);
  shape.epsilon = static_cast<float>(layer.llama.normEpsilon);
  constexpr double turn = 6.283185307179586;
  for (int j = 0; j < shape.pairs; ++j)
    shape.frequencies[j] = rotaryFrequency(layer, j) / turn;
  if (shape.pairs % 4 != 0)
    run<T, 32, 1, backward>(stream, shape, norms, qkv, partials);
  else if (shape.pairs <= 32)
    run<T, 8, 4, backward>(stream, shape, norms, qkv, partials);
  else if (shape.pairs <= 64)
    run<T, 16, 4, backward>(stream, shape, norms, qkv, partials);
  else
    run<T, 32, 4, backward>(stream, shape, norms, qkv, partials);
}

} // namespace

template <typename T>
void headsForward(const Stream &stream, const LayerDesc &layer,
                  const Documents &documents, const HeadNorms<T> &norms,
                  T *qkv) {
  onHeads<false>(stream, layer, documents, norms, qkv, nullptr);
}

template <typename T>
void headsInputGrad(const Stream &stream, const LayerDesc &layer,
                    const Documents &documents, const HeadNorms<T> &norms,
                    T *qkv, float *gainGrads, float *partials) {
  onHeads<true>(stream, layer, documents, norms, qkv, partials);
  if (norms.queryGain)
    setPartials(stream, {{normChunks(numTokens(layer)), 2 * headWidth(layer),
                          partials, gainGrads}});
}

#define RONDO_INSTANTIATE(T)                                                   \
  template void headsForward(const Stream &, const LayerDesc &,                \
                             const Documents &, const HeadNorms<T> &, T *);    \
  template void headsInputGrad(const Stream &, const LayerDesc &,              \
                               const Documents &, const HeadNorms<T> &, T *,   \
                               float *, float *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(Bf16)

} // namespace rondo::runtime::cuda
