//===- target.h - Where graphs run ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that a graph calls work on memory that the host may not be able
// to read. They are written once; what differs by target is here, and in
// runtime/torch/cuda for GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TORCH_TARGET_H
#define RONDO_RUNTIME_TORCH_TARGET_H

#include "runtime/model/cuda_layouts.h"
#include "runtime/torch/views.h"

#include <vector>

namespace rondo::torch {

/// The work of a task in addition to its graph. Functions may throw.
class Target {
public:
  virtual ~Target() = default;
  virtual void copy(char *to, const char *from, int64_t bytes) = 0;
  virtual void clear(char *to, int64_t bytes) = 0;
  /// Runs the task's graph, which deletes its inputs and hands over its
  /// outputs. Returns 0; or 1, with lastFault().
  virtual int32_t run(const Task &task, std::vector<Tensor *> &inputs,
                      std::vector<Tensor *> &outputs) = 0;
};

/// Runs a task on memory of the target, as runTask() does.
const char *runTaskOn(Target &target, const Task &task, const Spaces &spaces);

/// A matrix of one sample of several, which are `sampleStride` elements apart.
struct Matrices {
  const char *data;
  int64_t stride;
  bool transposed;
  int64_t sampleStride;
};

/// d [rows, columns] = alpha a b + c for each sample, with `inner` the shared
/// extent.
struct MatrixProduct {
  int64_t samples, rows, columns, inner;
  /// Types of a and b, and of the others. Sums are in fp32.
  int32_t type, resultType;
  Matrices a, b;
  float alpha;
  char *d;
  int64_t stride, sampleStride;
  /// Whether d has what is added.
  bool accumulates;
  /// [columns], added to each row; may be null.
  const char *bias;
  /// Scratch memory of productScratchBytes(samples * rows, columns).
  char *scratch;
  int64_t scratchBytes;
};

/// The scratch memory of a product: what cuBLASLt may need, wherever it begins.
constexpr int64_t productScratchBytes(int64_t rows, int64_t columns) {
  return runtime::cuda::gemmRegionBytes(
      runtime::cuda::gemmWorkspaceBytes(rows, columns));
}

/// Causal attention of samples, softmax(q k^T / sqrt(width)) v, whose heads may
/// share keys and values. A token's q, k and v are in one row of `qkv`: all
/// heads of q at its begin, those of k and of v `keys` and `values` elements
/// after it.
struct PackedAttention {
  int64_t samples, tokens, heads, kvHeads, width;
  int64_t keys, values, rowElements;
  /// The type of all tensors but logSumExp, which has fp32.
  int32_t dtype;
  char *qkv;
  /// [samples][tokens][heads][width].
  char *out;
  /// [samples][heads][tokens].
  float *logSumExp;
};

/// sums[indices[i]] += values[i], rows of as many columns, in the order of the
/// indices.
struct RowSums {
  int64_t rows, columns;
  int32_t rowType, indexType;
  const char *values, *indices;
  /// [rows], for indices of 8 bytes.
  int32_t *narrow;
  float *sums;
};

/// A GPU, or what takes its place. The operations of graphs for GPUs call it.
class DeviceTarget : public Target {
public:
  /// The target of the graph that runs in the calling thread; null: none runs.
  static DeviceTarget *&here();

  virtual int32_t device() const = 0;
  virtual void *stream() const = 0;
  virtual void multiply(const MatrixProduct &product) = 0;
  virtual void attend(const PackedAttention &attention) = 0;
  /// Replaces q, k and v by their gradients. `queryGrad` is as large as `out`,
  /// and `rowDots` as logSumExp.
  virtual void attendBackward(const PackedAttention &attention,
                              const char *outGrad, char *queryGrad,
                              float *rowDots) = 0;
  virtual void addRows(const RowSums &sums) = 0;
  /// to = from, element by element. Both have the type and the sizes of `to`;
  /// `strides` are those of `from`, 0 where it repeats.
  virtual void copyElements(const Tensor &to, const Tensor &from,
                            const int64_t *strides) = 0;
};

/// For a machine without a GPU: nothing is done, but allocations are recorded.
class NoDevice : public DeviceTarget {
public:
  void copy(char *, const char *, int64_t) override {}
  void clear(char *, int64_t) override {}
  int32_t run(const Task &, std::vector<Tensor *> &,
              std::vector<Tensor *> &) override {
    return 0;
  }
  int32_t device() const override { return 0; }
  void *stream() const override { return nullptr; }
  void multiply(const MatrixProduct &) override {}
  void attend(const PackedAttention &) override {}
  void attendBackward(const PackedAttention &, const char *, char *,
                      float *) override {}
  void addRows(const RowSums &) override {}
  void copyElements(const Tensor &, const Tensor &, const int64_t *) override {}
};

/// A tensor of the sizes of another, without gaps, in an allocation.
class DenseCopy {
public:
  /// Throws std::bad_alloc if there are more allocations than planned.
  explicit DenseCopy(const Tensor &of);
  ~DenseCopy() { deleteTensor(tensor); }
  DenseCopy(const DenseCopy &) = delete;
  const Tensor &get() const { return *tensor; }

private:
  Tensor *tensor;
};

/// Makes a target that of the calling thread's graph, for a scope.
class OnDevice {
public:
  explicit OnDevice(DeviceTarget &target) { DeviceTarget::here() = &target; }
  ~OnDevice() { DeviceTarget::here() = nullptr; }
  OnDevice(const OnDevice &) = delete;
};

/// Runs a graph for GPUs in a container on `target`. Returns 0; or 1, with
/// lastFault().
int32_t runContainer(DeviceTarget &target, const DeviceGraph &graph,
                     void *container, std::vector<Tensor *> &inputs,
                     std::vector<Tensor *> &outputs);

} // namespace rondo::torch

#endif // RONDO_RUNTIME_TORCH_TARGET_H
