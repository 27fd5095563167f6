//===- tensor.h - Tensors of compiled graphs --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors that compiled graphs handle, and the allocations that they make.
// A graph runs on one thread, so what belongs to the graph under way is found
// by thread.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TORCH_TENSOR_H
#define RONDO_RUNTIME_TORCH_TENSOR_H

#include "runtime/torch/rondo_torch.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rondo::torch {

/// PyTorch's numbers of the types that a graph may use.
enum class ScalarType : int32_t {
  UInt8 = 0,
  Int8 = 1,
  Int16 = 2,
  Int32 = 3,
  Int64 = 4,
  Float32 = 6,
  Float64 = 7,
  Bool = 11,
  BFloat16 = 15,
};

/// 0: not a type that a graph may use.
int64_t bytesOf(int32_t dtype);

/// A tensor is an address, sizes and strides. Its memory belongs to the task.
struct Tensor {
  char *storage;
  /// From the storage, in elements.
  int64_t offset;
  int32_t dtype;
  int32_t numDims;
  int64_t sizes[maxDims];
  int64_t strides[maxDims];
  /// The allocation that it lies in; -1: memory of the caller.
  int32_t allocation;

  bool is(ScalarType type) const { return dtype == int32_t(type); }
  char *data() const { return storage + offset * bytesOf(dtype); }
  float *floats() const { return reinterpret_cast<float *>(data()); }
  int64_t count() const;
  /// Bytes from the first element to the end of the last.
  int64_t extent() const;
};

/// An allocation of a recorded run. Times count allocations and releases.
struct Allocation {
  int64_t bytes;
  int64_t begin;
  /// -1: it was never released.
  int64_t end;
  /// Tensors that lie in it.
  int32_t users;
  std::unique_ptr<char[]> memory;
};

/// Values that a task reads in addition to its buffers, in memory of its
/// target.
struct Extras {
  const void *lossScale;
  const void *randomKey;
  const void *constants;
};

/// Addresses of the spaces of a task.
class Spaces {
public:
  /// On the host, with extras of its own.
  Spaces(const rondo_layer &layer, const rondo_task &buffers,
         const unsigned char *constants);
  Spaces(const rondo_task &buffers, const Extras &extras)
      : buffers(&buffers), extras(extras) {}
  Spaces(const Spaces &) = delete;

  char *at(const Place &place) const;
  /// Whether the task takes values for the place; others are dropped.
  bool takes(const Place &place) const {
    return place.space != Space::RunningWeights || buffers->running_weights;
  }

private:
  const rondo_task *buffers;
  Extras extras;
  float lossScale = 0;
  uint64_t randomKey = 0;
};

/// The allocations of a run: recorded, or at places known before.
class Allocator {
public:
  /// Records; memory is the allocator's own.
  Allocator() = default;
  /// Allocation k is where `task` says.
  Allocator(const Task &task, const Spaces &spaces)
      : task(&task), spaces(&spaces) {}

  /// The allocator of the calling thread's graph.
  static Allocator *&here();

  bool isRecording() const { return !task; }
  /// Null: this allocation was not planned, or with another size.
  char *take(int64_t bytes);
  void use(int32_t allocation);
  void release(int32_t allocation);
  int32_t taken() const { return numTaken; }
  const std::vector<Allocation> &recorded() const { return allocations; }

private:
  const Task *task = nullptr;
  const Spaces *spaces = nullptr;
  int32_t numTaken = 0;
  int64_t time = 0;
  std::vector<Allocation> allocations;
};

/// A header from the thread's pool, filled with zeros.
Tensor *newTensor();
/// A tensor in memory of the caller.
Tensor *tensorAt(const Value &value, char *address);
/// A tensor in an allocation of its own; null if there is none.
Tensor *allocate(int32_t dtype, int32_t numDims, const int64_t *sizes,
                 const int64_t *strides);
void deleteTensor(Tensor *tensor);

/// Whether elements lie side by side, those of the last dimension first.
bool isContiguous(const Tensor &tensor);

/// Why the thread's last failed operation or task failed.
std::string &lastFault();
/// Sets lastFault(); returns 1, the status of a failed operation.
int32_t fail(const std::string &what);
/// Fails because an operation allocates what was not recorded at the export.
int32_t failMemory(const std::string &operation);

/// Memory of an operation, which is released at the end of a scope.
class Scratch {
public:
  /// Throws std::bad_alloc if there are more allocations than planned.
  explicit Scratch(int64_t elements);
  ~Scratch();
  Scratch(const Scratch &) = delete;
  float *floats() const { return tensor->floats(); }

private:
  Tensor *tensor;
};

} // namespace rondo::torch

#endif // RONDO_RUNTIME_TORCH_TENSOR_H
