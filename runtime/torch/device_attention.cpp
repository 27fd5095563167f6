//===- device_attention.cpp - Attention of graphs for GPUs ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors are [samples, heads, tokens, width], in any layout. Rondo's kernels
// take a token's q, k and v in one row. Those that are not, and all in a
// backward, are copied there first, and gradients back: a few passes over
// memory, of tokens times width each.
//
//===----------------------------------------------------------------------===//

#include "runtime/model/gpt_sizes.h"
#include "runtime/torch/attention_results.h"
#include "runtime/torch/target.h"

#include <cmath>
#include <exception>
#include <new>
#include <optional>
#include <string>

namespace rondo::torch {

namespace {

/// Null, or what Rondo's kernels do not compute.
const char *unsupported(const Tensor &q, const Tensor &k, const Tensor &v,
                        double dropout, int32_t isCausal, Tensor **mask,
                        const double *scale) {
  for (const Tensor *tensor : {&q, &k, &v})
    if (tensor->numDims != 4 || tensor->dtype != q.dtype ||
        (!tensor->is(ScalarType::Float32) && !tensor->is(ScalarType::BFloat16)))
      return "takes tensors of four dimensions, all in fp32 or in bf16";
  if (dropout != 0)
    return "has no dropout";
  if ((mask && *mask) || !isCausal)
    return "is causal and has no mask";
  if (q.sizes[2] != k.sizes[2])
    return "takes as many queries as keys";
  if (v.sizes[3] != q.sizes[3] || q.sizes[1] % k.sizes[1] != 0)
    return "needs values as wide as keys, and a number of query heads that is "
           "a multiple of the key heads";
  if (q.sizes[3] > runtime::maxHeadWidthCuda)
    return "has heads of at most 256 columns";
  if (scale && std::abs(*scale * std::sqrt(double(q.sizes[3])) - 1) > 1e-6)
    return "divides scores by the square root of a head's width";
  return nullptr;
}

/// The sizes of an attention whose rows have no gaps.
PackedAttention sizesOf(const Tensor &q, const Tensor &k) {
  PackedAttention all{};
  all.samples = q.sizes[0];
  all.heads = q.sizes[1];
  all.tokens = q.sizes[2];
  all.width = q.sizes[3];
  all.kvHeads = k.sizes[1];
  all.keys = all.heads * all.width;
  all.values = all.keys + all.kvHeads * all.width;
  all.rowElements = all.values + all.kvHeads * all.width;
  all.dtype = q.dtype;
  return all;
}

/// Heads of rows that begin `first` elements after theirs, as a tensor.
Tensor partOf(const PackedAttention &all, int64_t first, int64_t heads) {
  Tensor part{};
  part.storage = all.qkv;
  part.offset = first;
  part.dtype = all.dtype;
  part.numDims = 4;
  part.allocation = -1;
  const int64_t row = all.rowElements;
  const int64_t sizes[] = {all.samples, heads, all.tokens, all.width};
  const int64_t strides[] = {all.tokens * row, all.width, row, 1};
  std::copy_n(sizes, 4, part.sizes);
  std::copy_n(strides, 4, part.strides);
  return part;
}

void copyTensor(const Tensor &to, const Tensor &from) {
  DeviceTarget::here()->copyElements(to, from, from.strides);
}

/// Whether a tensor is such a part.
bool isPart(const Tensor &tensor, const PackedAttention &all, int64_t first,
            int64_t heads) {
  const Tensor part = partOf(all, first, heads);
  for (int32_t d = 0; d < 4; ++d)
    if (tensor.sizes[d] > 1 && tensor.strides[d] != part.strides[d])
      return false;
  return true;
}

/// Finds rows that q, k and v, views of one tensor, are already in. False:
/// there are none that kernels can read.
bool findRows(const Tensor &q, const Tensor &k, const Tensor &v,
              PackedAttention &all) {
  if (q.storage != k.storage || q.storage != v.storage)
    return false;
  all.keys = k.offset - q.offset;
  all.values = v.offset - q.offset;
  all.rowElements = q.strides[2];
  all.qkv = q.data();
  // Kernels read 16 bytes at a time.
  const int64_t pack = 16 / bytesOf(q.dtype);
  return q.offset % pack == 0 && all.keys % pack == 0 &&
         all.values % pack == 0 && all.rowElements % pack == 0 &&
         isPart(q, all, 0, all.heads) &&
         isPart(k, all, all.keys, all.kvHeads) &&
         isPart(v, all, all.values, all.kvHeads);
}

/// Rows of q, k and v: their own, or a copy in scratch memory.
class Rows {
public:
  enum class Use : uint8_t { Read, Replace };

  Rows(const Tensor &q, const Tensor &k, const Tensor &v, Use use)
      : all(sizesOf(q, k)) {
    if (use == Use::Read && findRows(q, k, v, all))
      return;
    all = sizesOf(q, k);
    memory.emplace(floatsFor(all.samples * all.tokens * all.rowElements));
    all.qkv = reinterpret_cast<char *>(memory->floats());
    copyTensor(query(), q);
    copyTensor(key(), k);
    copyTensor(value(), v);
  }

  Tensor query() const { return partOf(all, 0, all.heads); }
  Tensor key() const { return partOf(all, all.keys, all.kvHeads); }
  Tensor value() const { return partOf(all, all.values, all.kvHeads); }
  /// The number of fp32 numbers that fit the memory of `elements`.
  int64_t floatsFor(int64_t elements) const {
    return (elements * bytesOf(all.dtype) + 3) / 4;
  }
  int64_t outElements() const {
    return all.samples * all.tokens * all.heads * all.width;
  }
  int64_t rowNumbers() const { return all.samples * all.heads * all.tokens; }

  PackedAttention all;

private:
  std::optional<Scratch> memory;
};

/// Whether tokens come one after another, with all their heads.
bool isTokenMajor(const Tensor &tensor) {
  const int64_t heads = tensor.sizes[1], tokens = tensor.sizes[2],
                width = tensor.sizes[3];
  const int64_t strides[] = {tokens * heads * width, width, heads * width, 1};
  for (int32_t d = 0; d < 4; ++d)
    if (tensor.sizes[d] > 1 && tensor.strides[d] != strides[d])
      return false;
  return true;
}

/// A tensor that kernels read or write with tokens one after another: itself,
/// or scratch memory.
class TokenMajor {
public:
  TokenMajor(const Tensor &of, const Rows &rows) : of(of), own(of) {
    // Kernels read 16 bytes at a time.
    if (isTokenMajor(of) && of.offset * bytesOf(of.dtype) % 16 == 0)
      return;
    memory.emplace(rows.floatsFor(rows.outElements()));
    own.storage = reinterpret_cast<char *>(memory->floats());
    own.offset = 0;
    const int64_t heads = of.sizes[1], width = of.sizes[3];
    const int64_t strides[] = {of.sizes[2] * heads * width, width,
                               heads * width, 1};
    std::copy_n(strides, 4, own.strides);
  }
  char *read() {
    if (memory)
      copyTensor(own, of);
    return own.data();
  }
  char *place() const { return own.data(); }
  void write() const {
    if (memory)
      copyTensor(of, own);
  }

private:
  const Tensor &of;
  Tensor own;
  std::optional<Scratch> memory;
};

/// [samples, heads, tokens] without gaps, in scratch memory.
Tensor rowTensor(const PackedAttention &all, const Scratch &memory) {
  Tensor result{};
  result.storage = reinterpret_cast<char *>(memory.floats());
  result.dtype = int32_t(ScalarType::Float32);
  result.numDims = 3;
  result.allocation = -1;
  const int64_t sizes[] = {all.samples, all.heads, all.tokens};
  const int64_t strides[] = {all.heads * all.tokens, all.tokens, 1};
  std::copy_n(sizes, 3, result.sizes);
  std::copy_n(strides, 3, result.strides);
  return result;
}

int32_t forward(Tensor *q, Tensor *k, Tensor *v, Tensor **out,
                Tensor **logSumExp) {
  *out = makeOutput(*q);
  *logSumExp = makeResult(*q, 3, 1, ScalarType::Float32);
  if (!*out || !*logSumExp)
    throw std::bad_alloc();
  Rows rows(*q, *k, *v, Rows::Use::Read);
  const TokenMajor result(**out, rows);
  const Scratch sums(rows.rowNumbers());
  rows.all.out = result.place();
  rows.all.logSumExp = sums.floats();
  DeviceTarget::here()->attend(rows.all);
  result.write();
  copyTensor(**logSumExp, rowTensor(rows.all, sums));
  return 0;
}

/// The tensors that a backward reads.
struct Saved {
  const Tensor &outGrad, &q, &k, &v, &out, &logSumExp;
};

int32_t backward(const Saved &of, Tensor **qGrad, Tensor **kGrad,
                 Tensor **vGrad) {
  const auto dtype = static_cast<ScalarType>(of.q.dtype);
  *qGrad = makeResult(of.q, 4, of.q.sizes[3], dtype);
  *kGrad = makeResult(of.k, 4, of.q.sizes[3], dtype);
  *vGrad = makeResult(of.v, 4, of.q.sizes[3], dtype);
  if (!*qGrad || !*kGrad || !*vGrad)
    throw std::bad_alloc();
  Rows rows(of.q, of.k, of.v, Rows::Use::Replace);
  TokenMajor out(of.out, rows), outGrad(of.outGrad, rows);
  const Scratch sums(rows.rowNumbers()), dots(rows.rowNumbers()),
      queryGrad(rows.floatsFor(rows.outElements()));
  copyTensor(rowTensor(rows.all, sums), of.logSumExp);
  rows.all.out = out.read();
  rows.all.logSumExp = sums.floats();
  DeviceTarget::here()->attendBackward(
      rows.all, outGrad.read(), reinterpret_cast<char *>(queryGrad.floats()),
      dots.floats());
  copyTensor(**qGrad, rows.query());
  copyTensor(**kGrad, rows.key());
  copyTensor(**vGrad, rows.value());
  return 0;
}

/// Runs one of them. Returns 0; or 1, with lastFault().
template <typename Run>
int32_t attention(const char *what, const Run &run) try {
  if (!DeviceTarget::here())
    return fail("a graph for GPUs runs outside of a task");
  if (what)
    return fail(std::string("attention on a GPU ") + what);
  return run();
} catch (const std::bad_alloc &) {
  return failMemory("attention");
} catch (const std::exception &error) {
  return fail(error.what());
}

} // namespace

extern "C" {

int32_t aoti_torch_cuda__scaled_dot_product_flash_attention_for_cpu(
    Tensor *q, Tensor *k, Tensor *v, double dropout, int32_t isCausal,
    Tensor **mask, double *scale, Tensor **out, Tensor **logSumExp) {
  return attention(unsupported(*q, *k, *v, dropout, isCausal, mask, scale),
                   [&] { return forward(q, k, v, out, logSumExp); });
}

int32_t aoti_torch_cuda__scaled_dot_product_flash_attention_for_cpu_backward(
    Tensor *outGrad, Tensor *q, Tensor *k, Tensor *v, Tensor *out,
    Tensor *logSumExp, double dropout, int32_t isCausal, Tensor **mask,
    double *scale, Tensor **qGrad, Tensor **kGrad, Tensor **vGrad) {
  return attention(unsupported(*q, *k, *v, dropout, isCausal, mask, scale),
                   [&] {
                     return backward({*outGrad, *q, *k, *v, *out, *logSumExp},
                                     qGrad, kGrad, vGrad);
                   });
}

} // extern "C"

} // namespace rondo::torch
