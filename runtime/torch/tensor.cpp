//===- tensor.cpp - Tensors of compiled graphs ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of PyTorch's C interface (torch/csrc/inductor/aoti_torch/c/shim.h)
// that is about tensors. Compiled graphs call it; a function returns 0, or 1 if
// it fails.
//
//===----------------------------------------------------------------------===//

#include "runtime/torch/target.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

namespace rondo::torch {

int64_t bytesOf(int32_t dtype) {
  switch (static_cast<ScalarType>(dtype)) {
  case ScalarType::UInt8:
  case ScalarType::Int8:
  case ScalarType::Bool:
    return 1;
  case ScalarType::Int16:
  case ScalarType::BFloat16:
    return 2;
  case ScalarType::Int32:
  case ScalarType::Float32:
    return 4;
  case ScalarType::Int64:
  case ScalarType::Float64:
    return 8;
  }
  return 0;
}

int64_t Tensor::count() const {
  int64_t result = 1;
  for (int32_t d = 0; d < numDims; ++d)
    result *= sizes[d];
  return result;
}

Tensor *tensorAt(const Value &value, char *address) {
  Tensor *tensor = newTensor();
  tensor->storage = address;
  tensor->dtype = value.dtype;
  tensor->numDims = value.numDims;
  std::copy_n(value.sizes, value.numDims, tensor->sizes);
  std::copy_n(value.strides, value.numDims, tensor->strides);
  tensor->allocation = -1;
  return tensor;
}

bool isContiguous(const Tensor &tensor) {
  int64_t stride = 1;
  for (int32_t d = tensor.numDims - 1; d >= 0; --d) {
    if (tensor.sizes[d] != 1 && tensor.strides[d] != stride)
      return false;
    stride *= tensor.sizes[d];
  }
  return true;
}

std::string &lastFault() {
  static thread_local std::string fault;
  return fault;
}

int32_t fail(const std::string &what) {
  lastFault() = what;
  return 1;
}

int32_t failMemory(const std::string &operation) {
  return fail(operation +
              " needs memory that was not recorded when it was exported");
}

/// Elements from the first to the end of the last.
static int64_t extentOf(int32_t numDims, const int64_t *sizes,
                        const int64_t *strides) {
  int64_t result = 1;
  for (int32_t d = 0; d < numDims; ++d) {
    if (sizes[d] == 0)
      return 0;
    result += (sizes[d] - 1) * strides[d];
  }
  return result;
}

int64_t Tensor::extent() const {
  return extentOf(numDims, sizes, strides) * bytesOf(dtype);
}

DeviceTarget *&DeviceTarget::here() {
  static thread_local DeviceTarget *target = nullptr;
  return target;
}

Allocator *&Allocator::here() {
  static thread_local Allocator *allocator = nullptr;
  return allocator;
}

char *Allocator::take(int64_t bytes) {
  if (task) {
    if (numTaken == task->numAllocations ||
        task->allocations[numTaken].bytes != bytes)
      return nullptr;
    return spaces->at(task->allocations[numTaken++].place);
  }
  // Aligned as a task's buffers are.
  constexpr int64_t alignment = 64;
  Allocation next{bytes, time++, -1, 0,
                  std::make_unique<char[]>(bytes + alignment)};
  const auto address = reinterpret_cast<uintptr_t>(next.memory.get());
  char *result =
      next.memory.get() + (alignment - address % alignment) % alignment;
  allocations.push_back(std::move(next));
  ++numTaken;
  return result;
}

void Allocator::use(int32_t allocation) {
  if (isRecording() && allocation >= 0)
    ++allocations[allocation].users;
}

void Allocator::release(int32_t allocation) {
  if (isRecording() && allocation >= 0 && --allocations[allocation].users == 0)
    allocations[allocation].end = time++;
}

static std::vector<Tensor *> &pool() {
  struct Pool {
    std::vector<Tensor *> free;
    ~Pool() {
      for (Tensor *tensor : free)
        delete tensor;
    }
  };
  static thread_local Pool pool;
  return pool.free;
}

Tensor *newTensor() {
  std::vector<Tensor *> &free = pool();
  if (free.empty())
    return new Tensor{};
  Tensor *tensor = free.back();
  free.pop_back();
  *tensor = {};
  return tensor;
}

void deleteTensor(Tensor *tensor) {
  if (Allocator *allocator = Allocator::here())
    allocator->release(tensor->allocation);
  pool().push_back(tensor);
}

Tensor *allocate(int32_t dtype, int32_t numDims, const int64_t *sizes,
                 const int64_t *strides) {
  Allocator *allocator = Allocator::here();
  if (!allocator || bytesOf(dtype) == 0 || numDims > maxDims)
    return nullptr;
  char *memory =
      allocator->take(extentOf(numDims, sizes, strides) * bytesOf(dtype));
  if (!memory)
    return nullptr;
  Tensor *tensor = newTensor();
  tensor->storage = memory;
  tensor->dtype = dtype;
  tensor->numDims = numDims;
  std::copy_n(sizes, numDims, tensor->sizes);
  std::copy_n(strides, numDims, tensor->strides);
  tensor->allocation = allocator->taken() - 1;
  allocator->use(tensor->allocation);
  return tensor;
}

Scratch::Scratch(int64_t elements) {
  const int64_t stride = 1;
  tensor = allocate(int32_t(ScalarType::Float32), 1, &elements, &stride);
  if (!tensor)
    throw std::bad_alloc();
}

Scratch::~Scratch() { deleteTensor(tensor); }

namespace {

constexpr int32_t deviceTypeCpu = 0, deviceTypeCuda = 1;

/// The type of the device that the calling thread's graph runs on.
int32_t deviceTypeHere() {
  return DeviceTarget::here() ? deviceTypeCuda : deviceTypeCpu;
}

/// Another tensor in the same memory.
Tensor *sameMemory(const Tensor &tensor) {
  Tensor *result = newTensor();
  *result = tensor;
  if (Allocator *allocator = Allocator::here())
    allocator->use(result->allocation);
  return result;
}

} // namespace

extern "C" {

int32_t aoti_torch_device_type_cpu() { return deviceTypeCpu; }
int32_t aoti_torch_device_type_cuda() { return deviceTypeCuda; }
int32_t aoti_torch_dtype_uint8() { return int32_t(ScalarType::UInt8); }
int32_t aoti_torch_dtype_int8() { return int32_t(ScalarType::Int8); }
int32_t aoti_torch_dtype_int16() { return int32_t(ScalarType::Int16); }
int32_t aoti_torch_dtype_int32() { return int32_t(ScalarType::Int32); }
int32_t aoti_torch_dtype_int64() { return int32_t(ScalarType::Int64); }
int32_t aoti_torch_dtype_float32() { return int32_t(ScalarType::Float32); }
int32_t aoti_torch_dtype_float64() { return int32_t(ScalarType::Float64); }
int32_t aoti_torch_dtype_bfloat16() { return int32_t(ScalarType::BFloat16); }
int32_t aoti_torch_dtype_bool() { return int32_t(ScalarType::Bool); }
size_t aoti_torch_dtype_element_size(int32_t dtype) { return bytesOf(dtype); }
int32_t aoti_torch_layout_strided() { return 0; }

// Graphs have no gradients of their own.
bool aoti_torch_grad_mode_is_enabled() { return false; }
void aoti_torch_grad_mode_set_enabled(bool) {}

int32_t aoti_torch_empty_strided(int64_t numDims, const int64_t *sizes,
                                 const int64_t *strides, int32_t dtype,
                                 int32_t deviceType, int32_t, Tensor **result) {
  if (bytesOf(dtype) == 0 || numDims > maxDims)
    return fail("a graph allocates a tensor of a type or a number of "
                "dimensions that Rondo does not know");
  if (deviceType != deviceTypeHere())
    return fail("a graph allocates a tensor on another device than its own");
  *result = allocate(dtype, int32_t(numDims), sizes, strides);
  if (!*result)
    return fail(
        "a graph allocates other tensors than were recorded when it was "
        "exported");
  return 0;
}

int32_t aoti_torch_delete_tensor_object(Tensor *tensor) {
  deleteTensor(tensor);
  return 0;
}

int32_t aoti_torch_new_tensor_handle(Tensor *tensor, Tensor **result) {
  *result = sameMemory(*tensor);
  return 0;
}

int32_t aoti_torch_create_tensor_from_blob(void *data, int64_t numDims,
                                           const int64_t *sizes,
                                           const int64_t *strides,
                                           int64_t offset, int32_t dtype,
                                           int32_t, int32_t, Tensor **result) {
  if (bytesOf(dtype) == 0 || numDims > maxDims)
    return fail("a graph has a constant of a type or a number of dimensions "
                "that Rondo does not know");
  Tensor *tensor = newTensor();
  tensor->storage = static_cast<char *>(data);
  tensor->offset = offset;
  tensor->dtype = dtype;
  tensor->numDims = int32_t(numDims);
  std::copy_n(sizes, numDims, tensor->sizes);
  std::copy_n(strides, numDims, tensor->strides);
  tensor->allocation = -1;
  *result = tensor;
  return 0;
}

int32_t aoti_torch_create_tensor_from_blob_v2(
    void *data, int64_t numDims, const int64_t *sizes, const int64_t *strides,
    int64_t offset, int32_t dtype, int32_t deviceType, int32_t device,
    Tensor **result, int32_t, const uint8_t *, int64_t) {
  return aoti_torch_create_tensor_from_blob(
      data, numDims, sizes, strides, offset, dtype, deviceType, device, result);
}

// The offset counts from the storage, not from the tensor.
int32_t aoti_torch__reinterpret_tensor(Tensor *tensor, int64_t numDims,
                                       const int64_t *sizes,
                                       const int64_t *strides, int64_t offset,
                                       Tensor **result) {
  if (numDims > maxDims)
    return fail("a graph has a tensor of more than 8 dimensions");
  Tensor *view = sameMemory(*tensor);
  view->offset = offset;
  view->numDims = int32_t(numDims);
  std::copy_n(sizes, numDims, view->sizes);
  std::copy_n(strides, numDims, view->strides);
  *result = view;
  return 0;
}

int32_t aoti_torch_as_strided(Tensor *tensor, const int64_t *sizes,
                              const int64_t *strides, Tensor **result) {
  Tensor *view = sameMemory(*tensor);
  std::copy_n(sizes, view->numDims, view->sizes);
  std::copy_n(strides, view->numDims, view->strides);
  *result = view;
  return 0;
}

int32_t aoti_torch_get_data_ptr(Tensor *tensor, void **result) {
  *result = tensor->data();
  return 0;
}

int32_t aoti_torch_get_storage_size(Tensor *tensor, int64_t *result) {
  *result = tensor->offset * bytesOf(tensor->dtype) + tensor->extent();
  return 0;
}

int32_t aoti_torch_get_storage_offset(Tensor *tensor, int64_t *result) {
  *result = tensor->offset;
  return 0;
}

int32_t aoti_torch_get_dim(Tensor *tensor, int64_t *result) {
  *result = tensor->numDims;
  return 0;
}

int32_t aoti_torch_get_numel(Tensor *tensor, int64_t *result) {
  *result = tensor->count();
  return 0;
}

int32_t aoti_torch_get_sizes(Tensor *tensor, int64_t **result) {
  *result = tensor->sizes;
  return 0;
}

int32_t aoti_torch_get_strides(Tensor *tensor, int64_t **result) {
  *result = tensor->strides;
  return 0;
}

int32_t aoti_torch_get_size(Tensor *tensor, int64_t d, int64_t *result) {
  *result = tensor->sizes[d];
  return 0;
}

int32_t aoti_torch_get_stride(Tensor *tensor, int64_t d, int64_t *result) {
  *result = tensor->strides[d];
  return 0;
}

int32_t aoti_torch_get_dtype(Tensor *tensor, int32_t *result) {
  *result = tensor->dtype;
  return 0;
}

int32_t aoti_torch_get_device_type(Tensor *, int32_t *result) {
  *result = deviceTypeHere();
  return 0;
}

int32_t aoti_torch_get_device_index(Tensor *, int32_t *result) {
  const DeviceTarget *target = DeviceTarget::here();
  *result = target ? target->device() : -1;
  return 0;
}

int32_t aoti_torch_is_defined(Tensor *tensor, bool *result) {
  *result = tensor != nullptr;
  return 0;
}

// A kernel's check of its data, such as of indices. Generated code catches what
// it throws, and returns 1.
void aoti_torch_check(bool holds, const char *, const char *, uint32_t,
                      const char *message) {
  if (holds)
    return;
  fail(message);
  throw std::runtime_error(message);
}

// Used for constants alone, which rondo.torch makes inputs.
int32_t aoti_torch_clone(Tensor *, Tensor **) {
  return fail("a graph copies a constant");
}

} // extern "C"

} // namespace rondo::torch
