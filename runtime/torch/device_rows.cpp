//===- device_rows.cpp - Sums into rows of graphs for GPUs ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// index_put of PyTorch's C interface, which graphs for GPUs call for gradients
// of embeddings.
//
//===----------------------------------------------------------------------===//

#include "runtime/torch/target.h"

#include <exception>
#include <new>
#include <optional>
#include <string>

namespace rondo::torch {

namespace {

/// Null, or what is not computed.
const char *unsupported(const Tensor &out, const Tensor &self,
                        const Tensor &index, const Tensor &values) {
  if (!out.is(ScalarType::Float32) || !self.is(ScalarType::Float32) ||
      (!values.is(ScalarType::Float32) && !values.is(ScalarType::BFloat16)))
    return "takes sums in fp32, and rows in fp32 or bf16";
  if (!index.is(ScalarType::Int32) && !index.is(ScalarType::Int64))
    return "takes indices of int32 or int64";
  if (!isContiguous(out) || out.numDims < 1 || out.sizes[0] == 0 ||
      values.count() != index.count() * (out.count() / out.sizes[0]))
    return "takes dense sums, and as many rows as indices";
  return nullptr;
}

/// The address of a tensor that kernels read 16 bytes at a time: its own, or
/// that of a copy. That depends on the layout alone.
class DenseInput {
public:
  explicit DenseInput(const Tensor &tensor) : tensor(tensor) {
    if (!isContiguous(tensor) ||
        tensor.offset * bytesOf(tensor.dtype) % 16 != 0)
      copy.emplace(tensor);
  }
  const char *data() const { return copy ? copy->get().data() : tensor.data(); }

private:
  const Tensor &tensor;
  std::optional<DenseCopy> copy;
};

void addRows(const Tensor &out, const Tensor &index, const Tensor &values) {
  const DenseInput indices(index), rows(values);
  RowSums sums{};
  sums.rows = index.count();
  sums.columns = out.count() / out.sizes[0];
  sums.rowType = values.dtype;
  sums.values = rows.data();
  sums.indexType = index.dtype;
  sums.indices = indices.data();
  sums.sums = out.floats();
  std::optional<Scratch> narrow;
  if (index.is(ScalarType::Int64))
    sums.narrow =
        reinterpret_cast<int32_t *>(narrow.emplace(sums.rows).floats());
  DeviceTarget::here()->addRows(sums);
}

} // namespace

extern "C" {

// out = self, with rows of `values` added to those that an index names, in
// their order. Indices are in range.
int32_t aoti_torch_index_put_out(Tensor *out, Tensor *self,
                                 Tensor *const *indices, uint32_t numIndices,
                                 Tensor *values, bool accumulates) try {
  const std::string name = "index_put ";
  if (!DeviceTarget::here())
    return fail(name + "is for GPUs");
  if (!accumulates || numIndices != 1)
    return fail(name + "on a GPU adds to rows of the first dimension");
  if (const char *what = unsupported(*out, *self, *indices[0], *values))
    return fail(name + "on a GPU " + what);
  if (!isSame(*out, *self))
    DeviceTarget::here()->copyElements(*out, *self, self->strides);
  addRows(*out, *indices[0], *values);
  return 0;
} catch (const std::bad_alloc &) {
  return failMemory("index_put");
} catch (const std::exception &error) {
  return fail(error.what());
}

} // extern "C"

} // namespace rondo::torch
