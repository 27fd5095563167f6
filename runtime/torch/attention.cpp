//===- attention.cpp - Attention of compiled graphs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors are [samples, heads, tokens, width], in any layout with consecutive
// elements along the width. A key and a value head may serve several query
// heads.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/thread_pool.h"
#include "runtime/bodies/attention_head.h"
#include "runtime/torch/attention_results.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <string>
#include <vector>

namespace rondo::torch {

namespace {

using runtime::AttentionHead;
using runtime::HeadRows;

/// Queries of a head at a time.
constexpr int64_t blockRows = 64;

/// One head of one sample.
HeadRows<float> headOf(const Tensor &tensor, int64_t sample, int64_t head) {
  return {tensor.floats() + sample * tensor.strides[0] +
              head * tensor.strides[1],
          tensor.strides[2]};
}

HeadRows<const float> inputOf(const Tensor &tensor, int64_t sample,
                              int64_t head) {
  return {headOf(tensor, sample, head).data, tensor.strides[2]};
}

/// Sizes and options that all heads of a call share.
struct Attention {
  int64_t samples, heads, group, queries, keys, width;
  float scale;
  bool isCausal;
  /// Added to the scores; null: nothing. Broadcast strides.
  const Tensor *mask;
  int64_t maskStrides[4];

  int64_t block() const { return std::min(queries, blockRows); }

  AttentionHead<float> of(int64_t sample, int64_t head) const {
    AttentionHead<float> result{queries, keys, width, block(), scale, isCausal};
    if (mask) {
      result.mask =
          mask->floats() + sample * maskStrides[0] + head * maskStrides[1];
      result.maskRow = maskStrides[2];
      result.maskColumn = maskStrides[3];
    }
    return result;
  }

  runtime::AttentionInputs<float> inputs(const Tensor &q, const Tensor &k,
                                         const Tensor &v, int64_t sample,
                                         int64_t head) const {
    return {inputOf(q, sample, head), inputOf(k, sample, head / group),
            inputOf(v, sample, head / group)};
  }
};

/// Fails with a message if Rondo's kernels do not compute this call.
bool describe(Tensor *q, Tensor *k, Tensor *v, double dropout, int32_t isCausal,
              Tensor **mask, const double *scale, Attention &all) {
  const char *what = nullptr;
  for (const Tensor *tensor : {q, k, v})
    if (!tensor->is(ScalarType::Float32) || tensor->numDims != 4 ||
        tensor->strides[3] != 1)
      what = "takes fp32 tensors of four dimensions, the last dense";
  if (!what && dropout != 0)
    what = "has no dropout";
  if (!what && v->sizes[3] != q->sizes[3])
    what = "needs values as wide as keys";
  if (!what && q->sizes[1] % k->sizes[1] != 0)
    what = "needs a number of query heads that is a multiple of the key heads";
  if (!what && mask && *mask && (*mask)->dtype != int32_t(ScalarType::Float32))
    what = "takes a mask of fp32 alone";
  if (what) {
    fail(std::string("attention ") + what);
    return false;
  }
  all = {q->sizes[0],
         q->sizes[1],
         q->sizes[1] / k->sizes[1],
         q->sizes[2],
         k->sizes[2],
         q->sizes[3],
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
  forHeads(all, all.samples * all.heads, all.keys * all.block(),
           [&](int64_t index, float *scores) {
             const int64_t sample = index / all.heads, head = index % all.heads;
             runtime::attendForward(
                 all.of(sample, head), all.inputs(q, k, v, sample, head),
                 {headOf(out, sample, head), headOf(logSumExp, sample, head)},
                 scores);
           });
}

/// The tensors of a backward.
struct Backward {
  const Tensor &outGrad, &q, &k, &v, &out, &logSumExp;
  Tensor &qGrad, &kGrad, &vGrad;
};

void backward(const Attention &all, const Backward &of) {
  for (Tensor *grad : {&of.kGrad, &of.vGrad})
    std::fill_n(grad->floats(), grad->count(), 0.0f);
  const int64_t scores = all.keys * all.block();
  // The query heads of a group add to the same keys, in turn.
  forHeads(all, all.samples * all.heads / all.group, 2 * scores + all.block(),
           [&](int64_t index, float *own) {
             const int64_t shared = all.heads / all.group;
             const int64_t sample = index / shared, keyHead = index % shared;
             for (int64_t h = 0; h < all.group; ++h) {
               const int64_t head = keyHead * all.group + h;
               runtime::attendBackward(
                   all.of(sample, head),
                   all.inputs(of.q, of.k, of.v, sample, head),
                   {inputOf(of.out, sample, head),
                    inputOf(of.logSumExp, sample, head)},
                   {inputOf(of.outGrad, sample, head),
                    headOf(of.qGrad, sample, head),
                    headOf(of.kGrad, sample, keyHead),
                    headOf(of.vGrad, sample, keyHead)},
                   {own, own + scores, own + 2 * scores});
             }
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
  *out = makeOutput(*q);
  *logSumExp = makeResult(*q, 3, 1, ScalarType::Float32);
  if (!*out || !*logSumExp)
    throw std::bad_alloc();
  forward(all, *q, *k, *v, **out, **logSumExp);
  return 0;
} catch (const std::bad_alloc &) {
  return failMemory("attention");
}

int32_t aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu_backward(
    Tensor *outGrad, Tensor *q, Tensor *k, Tensor *v, Tensor *out,
    Tensor *logSumExp, double dropout, int32_t isCausal, Tensor **mask,
    double *scale, Tensor **qGrad, Tensor **kGrad, Tensor **vGrad) try {
  Attention all;
  if (!describe(q, k, v, dropout, isCausal, mask, scale, all))
    return 1;
  if (outGrad->strides[3] != 1 || out->strides[3] != 1)
    return fail("attention needs an output and a gradient whose last dimension "
                "is dense");
  *qGrad = makeResult(*q, 4, all.width, ScalarType::Float32);
  *kGrad = makeResult(*k, 4, all.width, ScalarType::Float32);
  *vGrad = makeResult(*v, 4, all.width, ScalarType::Float32);
  if (!*qGrad || !*kGrad || !*vGrad)
    throw std::bad_alloc();
  backward(all,
           {*outGrad, *q, *k, *v, *out, *logSumExp, **qGrad, **kGrad, **vGrad});
  return 0;
} catch (const std::bad_alloc &) {
  return failMemory("the backward of attention");
}

} // extern "C"

} // namespace rondo::torch
