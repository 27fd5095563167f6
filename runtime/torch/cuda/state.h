//===- state.h - What exported layers keep on a GPU -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TORCH_CUDA_STATE_H
#define RONDO_RUNTIME_TORCH_CUDA_STATE_H

#include "runtime/base/cuda/stream.h"
#include "runtime/bodies/cuda/gemm.h"
#include "runtime/torch/target.h"

#include <map>
#include <memory>

namespace rondo::torch {

/// Containers of graphs, of one rank. Its layers share them: kernels are loaded
/// once for each container.
class RankGraphs {
public:
  /// On GPU `device`, which is the current one.
  explicit RankGraphs(int32_t device) : device(device) {}
  ~RankGraphs();
  RankGraphs(const RankGraphs &) = delete;

  /// Throws Error if the graph cannot be loaded.
  void *container(const DeviceGraph &graph);
  /// For tasks that no rank runs, such as those of probes.
  runtime::cuda::Gemms &gemms();

  const int32_t device;

private:
  std::unique_ptr<runtime::cuda::Gemms> ownGemms;
  std::map<const DeviceGraph *, void *> containers;
};

/// The state of a layer on a rank. One stream runs its tasks, one after the
/// other.
struct DeviceLayer {
  std::shared_ptr<RankGraphs> graphs;
  /// Shared by all layers on the GPU with the same ones; null: there are none.
  std::shared_ptr<const runtime::cuda::DeviceMemory> constants;
  /// A DeviceScalars.
  runtime::cuda::DeviceMemory scalars;
};

/// Numbers that differ by task, which graphs read in the GPU's memory.
struct DeviceScalars {
  uint64_t randomKey;
  float lossScale;
};

/// A GPU's stream, with the products and the attention of its rank. Throws
/// Error if a call fails.
class CudaTarget : public DeviceTarget {
public:
  CudaTarget(DeviceLayer &layer, void *stream);

  void copy(char *to, const char *from, int64_t bytes) override;
  void clear(char *to, int64_t bytes) override;
  int32_t run(const Task &task, std::vector<Tensor *> &inputs,
              std::vector<Tensor *> &outputs) override;
  int32_t device() const override { return layer.graphs->device; }
  void *stream() const override { return own.handle; }
  void multiply(const MatrixProduct &product) override;
  void attend(const PackedAttention &attention) override;
  void attendBackward(const PackedAttention &attention, const char *outGrad,
                      char *queryGrad, float *rowDots) override;
  void addRows(const RowSums &sums) override;
  void copyElements(const Tensor &to, const Tensor &from,
                    const int64_t *strides) override;

private:
  DeviceLayer &layer;
  runtime::cuda::Stream own;
};

} // namespace rondo::torch

#endif // RONDO_RUNTIME_TORCH_CUDA_STATE_H
