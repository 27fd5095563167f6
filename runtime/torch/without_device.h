//===- without_device.h - CUDA that does nothing ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of CUDA that compiled graphs for GPUs call, for a program that
// only records what they allocate (probeWithoutDevice() in rondo_torch.h). The
// program's main file includes this, and no other file. Arguments that a
// function does not use are left out, as C allows on x86-64 and AArch64.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TORCH_WITHOUT_DEVICE_H
#define RONDO_RUNTIME_TORCH_WITHOUT_DEVICE_H

#include <cstdlib>
#include <cstring>

extern "C" {

// Graphs find no error.
int cudaGetLastError() { return 0; }
const char *cudaGetErrorString() { return ""; }
int cuGetErrorString(int, const char **text) {
  *text = "";
  return 0;
}
int cuDriverGetVersion(int *version) {
  *version = 0;
  return 0;
}

// GPU 0 is the current one.
int cudaGetDevice(int *device) {
  *device = 0;
  return 0;
}
int cudaSetDevice() { return 0; }

// Handles are null.
int cudaEventCreate(void **event) {
  *event = nullptr;
  return 0;
}
int cudaEventCreateWithFlags(void **event) { return cudaEventCreate(event); }
int cudaEventDestroy() { return 0; }
int cudaEventQuery() { return 0; }
int cudaEventRecord() { return 0; }
int cudaEventSynchronize() { return 0; }
int cudaStreamCreateWithFlags(void **stream) { return cudaEventCreate(stream); }
int cudaStreamSynchronize() { return 0; }
int cuModuleLoad(void **module) { return cudaEventCreate(module); }
int cuModuleLoadData(void **module) { return cudaEventCreate(module); }
int cuModuleUnload() { return 0; }
int cuModuleGetFunction(void **function) { return cudaEventCreate(function); }
int cuFuncSetAttribute() { return 0; }
int cuLaunchKernel() { return 0; }
int cuLaunchKernelEx() { return 0; }
int cuTensorMapEncodeTiled() { return 0; }

// Memory of a GPU is the host's.
int cudaMalloc(void **memory, size_t bytes) {
  *memory = std::malloc(bytes);
  return 0;
}
int cudaFree(void *memory) {
  std::free(memory);
  return 0;
}
int cudaMemcpy(void *to, const void *from, size_t bytes) {
  std::memcpy(to, from, bytes);
  return 0;
}
int cudaMemcpyAsync(void *to, const void *from, size_t bytes) {
  return cudaMemcpy(to, from, bytes);
}
/// No memory is known: an error.
int cudaPointerGetAttributes() { return 1; }

} // extern "C"

#endif // RONDO_RUNTIME_TORCH_WITHOUT_DEVICE_H
