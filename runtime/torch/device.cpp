//===- device.cpp - The current GPU and stream of compiled graphs ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of PyTorch's C interface about devices, of graphs for GPUs. A task
// selects its GPU, and a graph has one stream: the guards that it makes change
// nothing.
//
//===----------------------------------------------------------------------===//

#include "runtime/torch/target.h"

#include <new>
#include <string>

namespace rondo::torch {

int32_t runContainer(DeviceTarget &target, const DeviceGraph &graph,
                     void *container, std::vector<Tensor *> &inputs,
                     std::vector<Tensor *> &outputs) {
  const OnDevice scope(target);
  if (graph.run(container, inputs.data(), inputs.size(), outputs.data(),
                outputs.size(), target.stream(), nullptr) == 0)
    return 0;
  // The shim's own reason comes before the graph's, which is the call's text.
  const char *what = nullptr;
  if (lastFault().empty() && graph.lastError(&what) == 0 && what)
    fail(what);
  return 1;
}

DenseCopy::DenseCopy(const Tensor &of) {
  int64_t strides[maxDims], stride = 1;
  for (int32_t d = of.numDims - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= of.sizes[d];
  }
  tensor = allocate(of.dtype, of.numDims, of.sizes, strides);
  if (!tensor)
    throw std::bad_alloc();
  DeviceTarget::here()->copyElements(*tensor, of, of.strides);
}

namespace {

/// All guards of graphs are this object: they have nothing to restore.
char guard;

/// Fails if a graph is for another GPU than the one it runs on.
int32_t makeGuard(int32_t device, void **result) {
  const DeviceTarget *target = DeviceTarget::here();
  if (!target || device != target->device())
    return fail("a graph selects GPU " + std::to_string(device) +
                ", and its task is on another one");
  *result = &guard;
  return 0;
}

} // namespace

extern "C" {

int32_t aoti_torch_create_cuda_guard(int32_t device, void **result) {
  return makeGuard(device, result);
}

int32_t aoti_torch_delete_cuda_guard(void *) { return 0; }

int32_t aoti_torch_cuda_guard_set_index(void *, int32_t device) {
  void *same = nullptr;
  return makeGuard(device, &same);
}

int32_t aoti_torch_create_cuda_stream_guard(void *stream, int32_t device,
                                            void **result) {
  if (const DeviceTarget *target = DeviceTarget::here();
      target && stream != target->stream())
    return fail("a graph uses another stream than its task's");
  return makeGuard(device, result);
}

int32_t aoti_torch_delete_cuda_stream_guard(void *) { return 0; }

int32_t aoti_torch_get_current_cuda_stream(int32_t, void **result) {
  const DeviceTarget *target = DeviceTarget::here();
  if (!target)
    return fail("a graph for GPUs runs outside of a task");
  *result = target->stream();
  return 0;
}

int32_t aoti_torch_get_current_device_index(int32_t *result) {
  const DeviceTarget *target = DeviceTarget::here();
  *result = target ? target->device() : -1;
  return 0;
}

// For copies of constants, of which a graph has none.
int32_t aoti_torch_empty_strided_pinned(int64_t, const int64_t *,
                                        const int64_t *, int32_t, int32_t,
                                        int32_t, Tensor **) {
  return fail("a graph copies a constant");
}

// Called if an input is not aligned to 16 bytes; those of tasks are.
int32_t aoti_torch_clone_preserve_strides(Tensor *, Tensor **) {
  return fail("an input of a graph is not aligned to 16 bytes");
}

void aoti_torch_warn(const char *, const char *, uint32_t, const char *) {}

} // extern "C"

} // namespace rondo::torch
