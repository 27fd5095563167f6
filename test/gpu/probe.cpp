//===- probe.cpp - Says which GPUs are here -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints `COUNT ARCHITECTURES` such as `1 90`; if there are no GPUs, prints why
// and exits with 77.
//
//===----------------------------------------------------------------------===//

#include <cuda_runtime_api.h>

#include <cstdio>
#include <set>

int main() {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    std::printf("%s\n", error == cudaSuccess ? "no CUDA-capable device is here"
                                             : cudaGetErrorString(error));
    return 77;
  }
  std::set<int> architectures;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, i) == cudaSuccess)
      architectures.insert(10 * properties.major + properties.minor);
  }
  std::printf("%d ", count);
  for (int architecture : architectures)
    std::printf("%s%d", architecture == *architectures.begin() ? "" : ";",
                architecture);
  std::printf("\n");
}
