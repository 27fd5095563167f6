//===- driver.cpp - The driver's functions that graphs call ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled graphs call the driver, libcuda.so, which programs do not link:
// without a driver they start and say what is missing. These functions find the
// driver's own when they are first called. Nothing outside of the program sees
// them.
//
//===----------------------------------------------------------------------===//

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

namespace {

/// CUDA_ERROR_NOT_FOUND.
constexpr int notFound = 500;
/// The interface that graphs are compiled with, of CUDA 12.
constexpr unsigned version = 12000;

/// The driver's function; null: it has none.
template <typename Function> Function *find(const char *name) {
  void *found = nullptr;
  cudaDriverEntryPointQueryResult result;
  if (cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault,
                                       &result) != cudaSuccess ||
      result != cudaDriverEntryPointSuccess)
    return nullptr;
  return reinterpret_cast<Function *>(found);
}

} // namespace

// Handles and addresses are 8 bytes, and enumerations 4.
#define RONDO_DRIVER(name, parameters, arguments)                              \
  __attribute__((visibility("hidden"))) int name parameters {                  \
    static auto *const function = find<int parameters>(#name);                 \
    return function ? function arguments : notFound;                           \
  }

extern "C" {

RONDO_DRIVER(cuModuleLoad, (void **module, const char *path), (module, path))
RONDO_DRIVER(cuModuleLoadData, (void **module, const void *image),
             (module, image))
RONDO_DRIVER(cuModuleUnload, (void *module), (module))
RONDO_DRIVER(cuModuleGetFunction,
             (void **function_, void *module, const char *name_),
             (function_, module, name_))
RONDO_DRIVER(cuFuncSetAttribute, (void *function_, int attribute, int value),
             (function_, attribute, value))
RONDO_DRIVER(cuLaunchKernel,
             (void *function_, unsigned gridX, unsigned gridY, unsigned gridZ,
              unsigned blockX, unsigned blockY, unsigned blockZ,
              unsigned sharedBytes, void *stream, void **parameters_,
              void **extra),
             (function_, gridX, gridY, gridZ, blockX, blockY, blockZ,
              sharedBytes, stream, parameters_, extra))
RONDO_DRIVER(cuLaunchKernelEx,
             (const void *config, void *function_, void **parameters_,
              void **extra),
             (config, function_, parameters_, extra))
RONDO_DRIVER(cuDriverGetVersion, (int *found), (found))
RONDO_DRIVER(cuTensorMapEncodeTiled,
             (void *map, int type, uint32_t rank, void *address,
              const uint64_t *sizes, const uint64_t *strides,
              const uint32_t *box, const uint32_t *elementStrides,
              int interleave, int swizzle, int promotion, int fill),
             (map, type, rank, address, sizes, strides, box, elementStrides,
              interleave, swizzle, promotion, fill))

__attribute__((visibility("hidden"))) int cuGetErrorString(int error,
                                                           const char **text) {
  static auto *const function =
      find<int(int, const char **)>("cuGetErrorString");
  if (function)
    return function(error, text);
  *text = "the driver's library lacks a function";
  return 0;
}

} // extern "C"
