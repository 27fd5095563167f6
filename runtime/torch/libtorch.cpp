//===- libtorch.cpp - Operations of PyTorch's own library -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/torch/libtorch.h"

#include "runtime/torch/tensor.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <string>

namespace rondo::torch {

namespace {

/// PyTorch's functions for tensors. Rondo has some of the same names, so these
/// are found by their addresses.
struct Library {
  void *handle = nullptr;
  std::string fault = "the program did not open libtorch";

  int32_t (*create)(void *, int64_t, const int64_t *, const int64_t *, int64_t,
                    int32_t, int32_t, int32_t, LibtorchTensor **, int32_t,
                    const uint8_t *, int64_t) = nullptr;
  int32_t (*destroy)(LibtorchTensor *) = nullptr;
  int32_t (*dataOf)(LibtorchTensor *, void **) = nullptr;
  int32_t (*dimsOf)(LibtorchTensor *, int64_t *) = nullptr;
  int32_t (*sizesOf)(LibtorchTensor *, int64_t **) = nullptr;
  int32_t (*stridesOf)(LibtorchTensor *, int64_t **) = nullptr;
  int32_t (*dtypeOf)(LibtorchTensor *, int32_t *) = nullptr;
  const char *(*lastError)() = nullptr;
  void (*setThreads)(int) = nullptr;

  bool open(const std::string &folder, uint64_t version);

private:
  template <typename Function> bool find(Function &function, const char *name) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    if (!function)
      fault = std::string("libtorch has no ") + name;
    return function;
  }
};

bool Library::open(const std::string &folder, uint64_t version) {
  const std::string path = folder + "/libtorch_cpu.so";
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *why = dlerror();
    fault = "its graphs call libtorch, which cannot be opened: " +
            std::string(why ? why : path.c_str()) +
            ": set RONDO_LIBTORCH to the folder torch/lib of PyTorch";
    return false;
  }
  uint64_t (*versionOf)() = nullptr;
  if (!find(create, "aoti_torch_create_tensor_from_blob_v2") ||
      !find(destroy, "aoti_torch_delete_tensor_object") ||
      !find(dataOf, "aoti_torch_get_data_ptr") ||
      !find(dimsOf, "aoti_torch_get_dim") ||
      !find(sizesOf, "aoti_torch_get_sizes") ||
      !find(stridesOf, "aoti_torch_get_strides") ||
      !find(dtypeOf, "aoti_torch_get_dtype") ||
      !find(lastError, "torch_exception_get_what_without_backtrace") ||
      // at::set_num_threads(int), which has no name in C.
      !find(setThreads, "_ZN2at15set_num_threadsEi") ||
      !find(versionOf, "aoti_torch_abi_version"))
    return false;
  // The first two bytes are the version without its patch and what follows.
  constexpr int patchBits = 48;
  if (versionOf() >> patchBits != version >> patchBits) {
    auto words = [](uint64_t number) {
      return std::to_string(number >> 56) + "." +
             std::to_string(number >> patchBits & 255);
    };
    fault = "its graphs call libtorch " + words(version) + ", and '" + path +
            "' is " + words(versionOf()) +
            ": set RONDO_LIBTORCH to the folder "
            "torch/lib of that version, or export the model again";
    return false;
  }
  fault.clear();
  return true;
}

Library &library() {
  static Library library;
  return library;
}

constexpr int32_t deviceCpu = 0, deviceIndex = -1, layoutStrided = 0;

} // namespace

const char *openLibtorch(const char *folder, uint64_t version) {
  static std::once_flag once;
  std::call_once(once, [&] {
    const char *stated = std::getenv("RONDO_LIBTORCH");
    library().open(stated && *stated ? stated : folder, version);
  });
  return library().fault.empty() ? nullptr : library().fault.c_str();
}

LibtorchCall::LibtorchCall(const char *name) : name(name) {
  Library &torch = library();
  if (!torch.fault.empty()) {
    fail(torch.fault);
    return;
  }
  // Ranks are the parallelism, and bits may not depend on a number of threads.
  static thread_local bool isSet = false;
  if (!isSet)
    torch.setThreads(1);
  isSet = true;
  function = dlsym(torch.handle, name);
  if (!function)
    fail(std::string("libtorch has no ") + name);
}

LibtorchCall::~LibtorchCall() {
  for (const std::vector<LibtorchTensor *> &group : handles)
    for (LibtorchTensor *tensor : group)
      if (tensor)
        library().destroy(tensor);
}

LibtorchTensor **LibtorchCall::take(int64_t count) {
  return handles.emplace_back(count, nullptr).data();
}

LibtorchTensor *LibtorchCall::make(const Tensor *tensor) {
  LibtorchTensor *made = nullptr;
  if (tensor && function &&
      library().create(tensor->data(), tensor->numDims, tensor->sizes,
                       tensor->strides, 0, tensor->dtype, deviceCpu,
                       deviceIndex, &made, layoutStrided, nullptr, 0) != 0)
    isValid = false;
  return made;
}

LibtorchTensor *LibtorchCall::tensor(Tensor *tensor) {
  return *take(1) = make(tensor);
}

LibtorchTensor **LibtorchCall::optional(Tensor **tensor) {
  if (!tensor || !*tensor)
    return nullptr;
  LibtorchTensor **place = take(1);
  *place = make(*tensor);
  return place;
}

LibtorchTensor **LibtorchCall::list(Tensor *const *tensors, int64_t count) {
  LibtorchTensor **first = take(count);
  for (int64_t t = 0; t < count; ++t)
    first[t] = make(tensors[t]);
  return first;
}

LibtorchTensor **LibtorchCall::result(Tensor **handle) {
  // A result that is not wanted has no place.
  if (!handle)
    return nullptr;
  results.push_back({take(1), handle});
  return results.back().from;
}

/// A copy of one of PyTorch's tensors in a planned allocation; null if there is
/// none.
static Tensor *copyOf(const Library &torch, LibtorchTensor *tensor) {
  void *data = nullptr;
  int64_t numDims = 0, *sizes = nullptr, *strides = nullptr;
  int32_t dtype = 0;
  if (torch.dataOf(tensor, &data) != 0 || torch.dimsOf(tensor, &numDims) != 0 ||
      torch.sizesOf(tensor, &sizes) != 0 ||
      torch.stridesOf(tensor, &strides) != 0 ||
      torch.dtypeOf(tensor, &dtype) != 0 || numDims > maxDims)
    return nullptr;
  Tensor *copy = allocate(dtype, int32_t(numDims), sizes, strides);
  if (copy)
    std::memcpy(copy->data(), data, copy->extent());
  return copy;
}

int32_t LibtorchCall::finish(int32_t status) {
  const Library &torch = library();
  if (!function)
    return 1;
  if (status != 0 || !isValid) {
    const char *why = torch.lastError();
    return fail(std::string(name) +
                " of libtorch: " + (why && *why ? why : "it failed"));
  }
  for (const Result &result : results) {
    *result.to = *result.from ? copyOf(torch, *result.from) : nullptr;
    if (*result.from && !*result.to)
      return failMemory(name);
  }
  return 0;
}

} // namespace rondo::torch
