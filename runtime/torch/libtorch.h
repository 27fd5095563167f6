//===- libtorch.h - Operations of PyTorch's own library ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model that is exported with libtorch runs the operations that Rondo's
// library does not have in PyTorch's, libtorch_cpu.so, which is opened when the
// program starts. Their inputs are used where they are, and results are copied
// to their planned places: only what is inside an operation is allocated by
// PyTorch.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TORCH_LIBTORCH_H
#define RONDO_RUNTIME_TORCH_LIBTORCH_H

#include <cstdint>
#include <deque>
#include <vector>

namespace rondo::torch {

struct Tensor;
/// PyTorch's AtenTensorOpaque.
struct LibtorchTensor;

/// Opens libtorch_cpu.so in `folder`, or in that of RONDO_LIBTORCH, once.
/// Returns null; or why it cannot be used, such as another version.
const char *openLibtorch(const char *folder, uint64_t version);

/// One call of one of its functions, on tensors of the calling thread's graph.
class LibtorchCall {
public:
  explicit LibtorchCall(const char *name);
  ~LibtorchCall();
  LibtorchCall(const LibtorchCall &) = delete;

  /// The function as one of this type; null: there is none.
  template <typename Function> Function as() const {
    return reinterpret_cast<Function>(function);
  }
  /// PyTorch's tensor in the memory of one; null for none.
  LibtorchTensor *tensor(Tensor *tensor);
  /// The same for one that may be missing, at the address of its handle.
  LibtorchTensor **optional(Tensor **tensor);
  LibtorchTensor **list(Tensor *const *tensors, int64_t count);
  /// The place of the handle of the next result.
  LibtorchTensor **result(Tensor **handle);
  /// Copies the results. Returns 0; or 1, with lastFault().
  int32_t finish(int32_t status);

private:
  /// Handles of PyTorch's tensors that stay where they are.
  LibtorchTensor **take(int64_t count);
  LibtorchTensor *make(const Tensor *tensor);

  const char *name;
  void *function = nullptr;
  std::deque<std::vector<LibtorchTensor *>> handles;
  struct Result {
    LibtorchTensor **from;
    Tensor **to;
  };
  std::vector<Result> results;
  bool isValid = true;
};

} // namespace rondo::torch

#endif // RONDO_RUNTIME_TORCH_LIBTORCH_H
