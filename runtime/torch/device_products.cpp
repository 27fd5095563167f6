//===- device_products.cpp - Matrix products of graphs for GPUs -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The allocations of a product depend on sizes and strides alone, so that a
// recording without a GPU has the same ones. Operands have type fp32 or bf16. A
// product of bf16 may have a result in fp32, and then also an addend in fp32.
//
//===----------------------------------------------------------------------===//

#include "runtime/torch/product_functions.h"
#include "runtime/torch/target.h"

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <string>

namespace rondo::torch {

namespace {

int64_t sampleStride(const Tensor &tensor) {
  return tensor.numDims == 3 && tensor.sizes[0] > 1 ? tensor.strides[0] : 0;
}

/// A tensor as an operand; one that has no rows or columns of consecutive
/// elements is copied.
struct Operand {
  explicit Operand(const Tensor &tensor, bool transposed) {
    const View view = transposed ? viewOf(tensor).transposed() : viewOf(tensor);
    if (hasRows(view)) {
      matrices = {view.data, strideOf(view), false, sampleStride(tensor)};
    } else if (const View other = view.transposed(); hasRows(other)) {
      matrices = {other.data, strideOf(other), true, sampleStride(tensor)};
    } else {
      copy.emplace(tensor);
      const View rows = viewOf(copy->get());
      matrices = {rows.data, strideOf(rows), transposed,
                  sampleStride(copy->get())};
    }
  }

  Matrices matrices;
  std::optional<DenseCopy> copy;
};

/// The fault of a product's types and sizes; null: there is none.
const char *faultOf(const Tensor &out, const Tensor *addend, const Tensor &a,
                    const Tensor &b, double beta) {
  const bool isKnown = a.is(ScalarType::Float32) || a.is(ScalarType::BFloat16);
  if (!isKnown || b.dtype != a.dtype ||
      (out.dtype != a.dtype && !out.is(ScalarType::Float32)) ||
      (addend && addend->dtype != out.dtype))
    return "takes fp32, or bf16 with a result in bf16 or fp32, and adds what "
           "has the result's type";
  if (out.numDims != a.numDims || out.numDims != b.numDims || out.numDims < 2 ||
      out.numDims > 3 || (addend && addend->numDims > out.numDims))
    return "takes matrices, or as many samples of each";
  if (addend && beta != 0 && beta != 1)
    return "adds once or not at all: beta is 0 or 1";
  return nullptr;
}

/// RONDO_PRODUCT_FUNCTIONS; beta is 0 or 1.
int32_t product(Tensor *out, Tensor *addend, Tensor *a, Tensor *b, double beta,
                double alpha) try {
  DeviceTarget *target = DeviceTarget::here();
  if (!target)
    return fail("a graph for GPUs runs outside of a task");
  if (beta == 0)
    addend = nullptr;
  if (const char *what = faultOf(*out, addend, *a, *b, beta))
    return fail(std::string("a matrix product on a GPU ") + what);
  // A result of columns is the transposed product's result of rows.
  const View result = viewOf(*out);
  const bool swaps = !hasRows(result);
  const View rows = swaps ? result.transposed() : result;
  if (!hasRows(rows))
    return fail("a matrix product on a GPU needs a result with rows or columns "
                "of consecutive elements");
  const Operand left(swaps ? *b : *a, swaps), right(swaps ? *a : *b, swaps);
  MatrixProduct made{};
  made.samples = out->numDims == 3 ? out->sizes[0] : 1;
  made.rows = rows.rows;
  made.columns = rows.columns;
  made.inner = a->sizes[a->numDims - 1];
  made.type = a->dtype;
  made.resultType = out->dtype;
  made.a = left.matrices;
  made.b = right.matrices;
  made.alpha = float(alpha);
  made.d = rows.data;
  made.stride = strideOf(rows);
  made.sampleStride = sampleStride(*out);
  if (addend) {
    int64_t strides[maxDims];
    broadcastStrides(*addend, *out, strides);
    const int32_t d = out->numDims - 2;
    const bool isRow =
        made.samples == 1 && !swaps && strides[d] == 0 && strides[d + 1] == 1;
    if (isRow) {
      made.bias = addend->data();
    } else {
      made.accumulates = true;
      if (!isSame(*addend, *out))
        target->copyElements(*out, *addend, strides);
    }
  }
  made.scratchBytes =
      productScratchBytes(made.samples * made.rows, made.columns);
  const Scratch scratch(made.scratchBytes / int64_t(sizeof(float)));
  made.scratch = reinterpret_cast<char *>(scratch.floats());
  target->multiply(made);
  return 0;
} catch (const std::bad_alloc &) {
  return failMemory("a matrix product");
} catch (const std::exception &error) {
  return fail(error.what());
}

} // namespace

RONDO_PRODUCT_FUNCTIONS(cuda)

extern "C" int32_t aoti_torch_cuda_mm_dtype_out(Tensor *out, Tensor *a,
                                                Tensor *b, int32_t) {
  return product(out, nullptr, a, b, 0, 1);
}

} // namespace rondo::torch
