//===- attention.cpp - Attention of compiled graphs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors are [samples, heads, tokens, width], in any layout with consecutive
// elements along the width. A key and a value head may serve several query
// heads. Probabilities are recomputed by the backward, a block of queries at a
// time (after FlashAttention, Dao et al. 2022, but with whole rows).
//
//===----------------------------------------------------------------------===//

#include "runtime/base/thread_pool.h"
#include "runtime/base/vectorise.h"
#include "runtime/bodies/linear.h"
#include "runtime/torch/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <new>
#include <vector>

namespace rondo::torch {

namespace {

using runtime::multiply;

constexpr int64_t blockRows = 64;

/// One head of one sample.
struct Head {
  float *data;
  int64_t stride;
};

Head headOf(const Tensor &tensor, int64_t sample, int64_t head) {
  return {tensor.floats() + sample * tensor.strides[0] +
              head * tensor.strides[1],
          tensor.strides[2]};
}

/// Sizes and options that all heads of a call share.
struct Attention {
  int64_t samples, heads, group, queries, keys, width, valueWidth;
  float scale;
  bool isCausal;
  /// Added to the scores; null: nothing. Broadcast strides.
  const Tensor *mask;
  int64_t maskStrides[4];

  /// Keys that the queries of a block may see, at least one.
  int64_t seenBy(int64_t first, int64_t rows) const {
    return isCausal ? std::min(keys, first + rows) : keys;
  }
  int64_t seenByRow(int64_t query) const {
    return isCausal ? std::min(keys, query + 1) : keys;
  }
};

/// scores[i][j] = scale * q_i k_j + mask.
void score(const Attention &all, int64_t sample, int64_t head, int64_t first,
           int64_t rows, Head q, Head k, float *scores) {
  const int64_t seen = all.seenBy(first, rows);
  multiply(rows, seen, all.width, all.scale,
           {q.data + first * q.stride, q.stride}, {k.data, k.stride, true},
           0.0f, scores, seen);
  if (!all.mask)
    return;
  const int64_t *strides = all.maskStrides;
  const float *mask =
      all.mask->floats() + sample * strides[0] + head * strides[1];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < seen; ++j)
      scores[i * seen + j] += mask[(first + i) * strides[2] + j * strides[3]];
}

/// Turns a block of scores into probabilities; returns the logarithm of each
/// row's sum. A row that sees nothing has probabilities of 0.
RONDO_VECTORISE void softmaxRows(int64_t first, int64_t rows, int64_t stride,
                                 bool isCausal, float *scores,
                                 float *logSumExp) {
  for (int64_t i = 0; i < rows; ++i) {
    float *row = scores + i * stride;
    const int64_t seen =
        isCausal && first + i + 1 < stride ? first + i + 1 : stride;
    const float most = runtime::laneMax(seen, row);
    if (most == -std::numeric_limits<float>::infinity()) {
      for (int64_t j = 0; j < stride; ++j)
        row[j] = 0;
      logSumExp[i] = most;
      continue;
    }
    for (int64_t j = 0; j < seen; ++j)
      row[j] = runtime::exponential(row[j] - most);
    const float sum =
        runtime::laneSum<float>(seen, [=](int64_t j) { return row[j]; });
    const float inverse = 1 / sum;
    for (int64_t j = 0; j < seen; ++j)
      row[j] *= inverse;
    for (int64_t j = seen; j < stride; ++j)
      row[j] = 0;
    logSumExp[i] = most + std::log(sum);
  }
}

/// The same probabilities, from the logarithms.
RONDO_VECTORISE void restoreRows(int64_t first, int64_t rows, int64_t stride,
                                 bool isCausal, float *scores,
                                 const float *logSumExp) {
  for (int64_t i = 0; i < rows; ++i) {
    float *row = scores + i * stride;
    const bool isBlind =
        logSumExp[i] == -std::numeric_limits<float>::infinity();
    int64_t seen = isCausal && first + i + 1 < stride ? first + i + 1 : stride;
    seen = isBlind ? 0 : seen;
    const float shift = logSumExp[i];
    for (int64_t j = 0; j < seen; ++j)
      row[j] = runtime::exponential(row[j] - shift);
    for (int64_t j = seen; j < stride; ++j)
      row[j] = 0;
  }
}

/// Gradients of probabilities become those of scores.
RONDO_VECTORISE void scoreGrads(int64_t rows, int64_t stride, float scale,
                                const float *__restrict probabilities,
                                const float *__restrict dots,
                                float *__restrict grads) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < stride; ++j)
      grads[i * stride + j] = probabilities[i * stride + j] *
                              (grads[i * stride + j] - dots[i]) * scale;
}

RONDO_VECTORISE float dot(int64_t count, const float *a, const float *b) {
  return runtime::laneSum<float>(count, [=](int64_t j) { return a[j] * b[j]; });
}

/// Fails with a message if Rondo's kernels do not compute this call.
bool describe(Tensor *q, Tensor *k, Tensor *v, double dropout, int32_t isCausal,
              Tensor **mask, const double *scale, Attention &all) {
  const char *what = nullptr;
  for (const Tensor *tensor : {q, k, v})
    if (tensor->dtype != int32_t(ScalarType::Float32) || tensor->numDims != 4 ||
        tensor->strides[3] != 1)
      what = "takes fp32 tensors of four dimensions, the last dense";
  if (!what && dropout != 0)
    what = "has no dropout";
  if (!what && q->sizes[1] % k->sizes[1] != 0)
    what = "needs a number of query heads that is a multiple of the key heads";
  if (!what && mask && *mask && (*mask)->dtype != int32_t(ScalarType::Float32))
    what = "takes a mask of fp32 alone";
  if (what) {
    std::fprintf(stderr, "rondo.torch: attention %s\n", what);
    return false;
  }
  all = {q->sizes[0],
         q->sizes[1],
         q->sizes[1] / k->sizes[1],
         q->sizes[2],
         k->sizes[2],
         q->sizes[3],
         v->sizes[3],
         scale ? float(*scale) : 1 / std::sqrt(float(q->sizes[3])),
         isCausal != 0,
         mask ? *mask : nullptr,
         {}};
  if (all.mask) {
    const int64_t extents[] = {all.samples, all.heads, all.queries, all.keys};
    const int32_t missing = 4 - all.mask->numDims;
    for (int32_t d = missing; d < 4; ++d)
      all.maskStrides[d] = all.mask->sizes[d - missing] == 1 && extents[d] != 1
                               ? 0
                               : all.mask->strides[d - missing];
  }
  return true;
}

/// A tensor in the layout that PyTorch's own attention gives its results:
/// [samples, tokens, heads, width] or without a width, with tokens and heads
/// swapped.
Tensor *makeResult(const Tensor &like, int32_t numDims, int64_t width) {
  const int64_t heads = like.sizes[1], tokens = like.sizes[2];
  const int64_t sizes[] = {like.sizes[0], heads, tokens, width};
  const int64_t strides[] = {tokens * heads * width, width, heads * width, 1};
  return allocate(int32_t(ScalarType::Float32), numDims, sizes, strides);
}

/// Calls each(head, memory) for all heads, on the threads of the rank. The
/// first thread's memory is planned, and has `elements`; others have their own.
template <typename Each>
void forHeads(const Attention &all, int64_t heads, int64_t elements,
              const Each &each) {
  const Scratch planned(elements);
  const int64_t scores = all.queries * all.keys * all.heads * all.samples;
  runtime::forRanges(heads, scores / heads, [&](int64_t first, int64_t count) {
    std::vector<float> own(first > 0 ? elements : 0);
    for (int64_t h = first; h < first + count; ++h)
      each(h, first > 0 ? own.data() : planned.floats());
  });
}

void forward(const Attention &all, const Tensor &q, const Tensor &k,
             const Tensor &v, Tensor &out, Tensor &logSumExp) {
  const int64_t elements = (all.keys + 1) * blockRows;
  forHeads(all, all.samples * all.heads, elements,
           [&](int64_t index, float *scores) {
             const int64_t sample = index / all.heads, head = index % all.heads;
             const Head qs = headOf(q, sample, head);
             const Head ks = headOf(k, sample, head / all.group);
             const Head vs = headOf(v, sample, head / all.group);
             const Head outs = headOf(out, sample, head);
             const Head sums = headOf(logSumExp, sample, head);
             float *logs = scores + all.keys * blockRows;
             for (int64_t first = 0; first < all.queries; first += blockRows) {
               const int64_t rows = std::min(blockRows, all.queries - first);
               const int64_t seen = all.seenBy(first, rows);
               score(all, sample, head, first, rows, qs, ks, scores);
               softmaxRows(first, rows, seen, all.isCausal, scores, logs);
               for (int64_t i = 0; i < rows; ++i)
                 sums.data[(first + i) * sums.stride] = logs[i];
               multiply(rows, all.valueWidth, seen, 1.0f, {scores, seen},
                        {vs.data, vs.stride}, 0.0f,
                        outs.data + first * outs.stride, outs.stride);
             }
           });
}

/// The tensors of a backward.
struct Backward {
  const Tensor &outGrad, &q, &k, &v, &out, &logSumExp;
  Tensor &qGrad, &kGrad, &vGrad;
};

void backwardOfHead(const Attention &all, const Backward &of, int64_t sample,
                    int64_t head, float *memory) {
  float *probabilities = memory, *grads = memory + all.keys * blockRows;
  float *logs = grads + all.keys * blockRows, *dots = logs + blockRows;
  const Head q = headOf(of.q, sample, head), out = headOf(of.out, sample, head),
             dOut = headOf(of.outGrad, sample, head),
             sums = headOf(of.logSumExp, sample, head),
             dQ = headOf(of.qGrad, sample, head);
  const int64_t shared = head / all.group;
  const Head k = headOf(of.k, sample, shared), v = headOf(of.v, sample, shared),
             dK = headOf(of.kGrad, sample, shared),
             dV = headOf(of.vGrad, sample, shared);
  for (int64_t first = 0; first < all.queries; first += blockRows) {
    const int64_t rows = std::min(blockRows, all.queries - first);
    const int64_t seen = all.seenBy(first, rows);
    const runtime::Matrix<float> blockGrad{dOut.data + first * dOut.stride,
                                           dOut.stride};
    const runtime::Matrix<float> blockQ{q.data + first * q.stride, q.stride};
    for (int64_t i = 0; i < rows; ++i) {
      logs[i] = sums.data[(first + i) * sums.stride];
      dots[i] = dot(all.valueWidth, blockGrad.data + i * dOut.stride,
                    out.data + (first + i) * out.stride);
    }
    score(all, sample, head, first, rows, q, k, probabilities);
    restoreRows(first, rows, seen, all.isCausal, probabilities, logs);
    multiply(seen, all.valueWidth, rows, 1.0f, {probabilities, seen, true},
             blockGrad, 1.0f, dV.data, dV.stride);
    multiply(rows, seen, all.valueWidth, 1.0f, blockGrad,
             {v.data, v.stride, true}, 0.0f, grads, seen);
    scoreGrads(rows, seen, all.scale, probabilities, dots, grads);
    multiply(seen, all.width, rows, 1.0f, {grads, seen, true}, blockQ, 1.0f,
             dK.data, dK.stride);
    multiply(rows, all.width, seen, 1.0f, {grads, seen}, {k.data, k.stride},
             0.0f, dQ.data + first * dQ.stride, dQ.stride);
  }
}

void backward(const Attention &all, const Backward &of) {
  for (Tensor *grad : {&of.kGrad, &of.vGrad})
    std::fill_n(grad->floats(), grad->count(), 0.0f);
  const int64_t elements = 2 * (all.keys + 1) * blockRows;
  // The query heads of a group add to the same keys, in turn.
  forHeads(all, all.samples * all.heads / all.group, elements,
           [&](int64_t index, float *own) {
             const int64_t shared = all.heads / all.group;
             for (int64_t h = 0; h < all.group; ++h)
               backwardOfHead(all, of, index / shared,
                              index % shared * all.group + h, own);
           });
}

} // namespace

extern "C" {

int32_t aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu(
    Tensor *q, Tensor *k, Tensor *v, double dropout, int32_t isCausal,
    Tensor **mask, double *scale, Tensor **out, Tensor **logSumExp) try {
  Attention all;
  if (!describe(q, k, v, dropout, isCausal, mask, scale, all))
    return 1;
  *out = makeResult(*q, 4, all.valueWidth);
  *logSumExp = makeResult(*q, 3, 1);
  if (!*out || !*logSumExp)
    throw std::bad_alloc();
  forward(all, *q, *k, *v, **out, **logSumExp);
  return 0;
} catch (const std::bad_alloc &) {
  std::fprintf(stderr, "rondo.torch: attention needs memory that was not "
                       "planned\n");
  return 1;
}

int32_t aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu_backward(
    Tensor *outGrad, Tensor *q, Tensor *k, Tensor *v, Tensor *out,
    Tensor *logSumExp, double dropout, int32_t isCausal, Tensor **mask,
    double *scale, Tensor **qGrad, Tensor **kGrad, Tensor **vGrad) try {
  Attention all;
  if (!describe(q, k, v, dropout, isCausal, mask, scale, all))
    return 1;
  if (outGrad->strides[3] != 1 || out->strides[3] != 1) {
    std::fprintf(stderr, "rondo.torch: attention needs an output and a "
                         "gradient whose last dimension is dense\n");
    return 1;
  }
  *qGrad = makeResult(*q, 4, all.width);
  *kGrad = makeResult(*k, 4, all.width);
  *vGrad = makeResult(*v, 4, all.valueWidth);
  if (!*qGrad || !*kGrad || !*vGrad)
    throw std::bad_alloc();
  backward(all,
           {*outGrad, *q, *k, *v, *out, *logSumExp, **qGrad, **kGrad, **vGrad});
  return 0;
} catch (const std::bad_alloc &) {
  std::fprintf(stderr, "rondo.torch: the backward of attention needs memory "
                       "that was not planned\n");
  return 1;
}

} // extern "C"

} // namespace rondo::torch
