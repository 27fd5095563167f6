//===- TorchTensors.h - Tensors for operations of graphs --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_RUNTIME_TORCHTENSORS_H
#define RONDO_TEST_UNIT_RUNTIME_TORCHTENSORS_H

#include "runtime/torch/tensor.h"

#include <random>
#include <vector>

namespace rondo::torch {

/// The memory of what operations of this thread allocate, until the end of a
/// scope, as when the exporter records them.
struct Recording {
  Recording() { Allocator::here() = &allocator; }
  ~Recording() { Allocator::here() = nullptr; }
  Recording(const Recording &) = delete;

  Allocator allocator;
};

/// A tensor of fp32 over memory of the test; without strides its elements lie
/// side by side.
inline Tensor over(std::vector<float> &memory,
                   const std::vector<int64_t> &sizes,
                   const std::vector<int64_t> &strides = {}) {
  Tensor tensor{};
  tensor.storage = reinterpret_cast<char *>(memory.data());
  tensor.dtype = int32_t(ScalarType::Float32);
  tensor.numDims = int32_t(sizes.size());
  tensor.allocation = -1;
  int64_t stride = 1;
  for (int32_t d = tensor.numDims - 1; d >= 0; --d) {
    tensor.sizes[d] = sizes[d];
    tensor.strides[d] = strides.empty() ? stride : strides[d];
    stride *= sizes[d];
  }
  return tensor;
}

inline std::vector<float> randomly(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> result(count);
  for (float &value : result)
    value = normal(random);
  return result;
}

} // namespace rondo::torch

#endif // RONDO_TEST_UNIT_RUNTIME_TORCHTENSORS_H
