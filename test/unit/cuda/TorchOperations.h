//===- TorchOperations.h - Operations of graphs on a device -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The allocations of an operation are recorded without a GPU first, as the
// exporter does.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_UNIT_CUDA_TORCHOPERATIONS_H
#define RONDO_TEST_UNIT_CUDA_TORCHOPERATIONS_H

#include "DeviceTest.h"

#include "runtime/torch/cuda/state.h"

#include <functional>

namespace rondo::torch {

using namespace runtime::cuda;
using runtime::alignedBytes;

using Extents = std::vector<int64_t>;

/// A tensor and its content on the host and on the device.
template <typename T> struct Held {
  Extents sizes, strides;
  std::vector<T> host;
  DeviceArray<T> device;
  /// The first element's place.
  int64_t first;

  Held(uint64_t seed, Extents sizes, Extents strides, int64_t first = 0)
      : sizes(std::move(sizes)), strides(std::move(strides)),
        host(randoms<T>(seed, extent(this->sizes, this->strides) + first)),
        device(host), first(first) {}

  static int64_t extent(const Extents &sizes, const Extents &strides) {
    int64_t last = 0;
    for (size_t d = 0; d < sizes.size(); ++d)
      last += (sizes[d] - 1) * strides[d];
    return last + 1;
  }
  Tensor tensor() const {
    Tensor result{};
    result.storage = reinterpret_cast<char *>(device.get());
    result.offset = first;
    result.dtype =
        int32_t(sizeof(T) == 2 ? ScalarType::BFloat16 : ScalarType::Float32);
    result.numDims = int32_t(sizes.size());
    std::copy(sizes.begin(), sizes.end(), result.sizes);
    std::copy(strides.begin(), strides.end(), result.strides);
    result.allocation = -1;
    return result;
  }
  /// The place of an element of a matrix, or of one of several.
  int64_t at(int64_t sample, int64_t i, int64_t j) const {
    const size_t d = sizes.size() - 2;
    return first + (d == 1 ? sample * strides[0] : 0) + i * strides[d] +
           j * strides[d + 1];
  }
};

class TorchOperations : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped())
      return;
    layer.reset(new DeviceLayer{std::make_shared<RankGraphs>(0), nullptr,
                                DeviceMemory(sizeof(DeviceScalars))});
  }

  /// Runs an operation twice: recorded without a device, then on it, with its
  /// allocations in a workspace. `read` is called before that ends.
  int32_t run(const std::function<int32_t()> &operation,
              const std::function<void()> &read = nullptr) {
    Allocator recorder;
    Allocator::here() = &recorder;
    NoDevice none;
    {
      const OnDevice scope(none);
      operation();
    }
    numRecorded = recorder.taken();
    std::vector<Planned> planned;
    int64_t end = 0;
    for (const Allocation &allocation : recorder.recorded()) {
      planned.push_back({{Space::Workspace, 0, end}, allocation.bytes});
      end += alignedBytes(allocation.bytes);
    }
    DeviceArray<char> workspace(end);
    rondo_task buffers{};
    buffers.workspace = workspace.get();
    Task task{};
    task.allocations = planned.data();
    task.numAllocations = int32_t(planned.size());
    const Spaces spaces(buffers, {});
    Allocator allocator(task, spaces);
    Allocator::here() = &allocator;
    CudaTarget target(*layer, stream.handle);
    const OnDevice scope(target);
    const int32_t status = operation();
    Allocator::here() = nullptr;
    wait();
    EXPECT_EQ(allocator.taken(), task.numAllocations);
    if (read && status == 0)
      read();
    return status;
  }

  std::unique_ptr<DeviceLayer> layer;
  /// Allocations of the last operation.
  int32_t numRecorded = 0;
};

} // namespace rondo::torch

#endif // RONDO_TEST_UNIT_CUDA_TORCHOPERATIONS_H
