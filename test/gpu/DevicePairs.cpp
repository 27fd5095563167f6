//===- DevicePairs.cpp - A CPU, and the GPUs of this machine --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/conformance/Conformance.h"
#include "test/unit/conformance/GpuWork.h"

#include "runtime/transport/cuda/loopback.h"
#include "runtime/transport/cuda/nccl_transport.h"

#include <cstdlib>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;
using namespace rondo::runtime::test;

/// Loops back on the first GPU, even if there are more.
static std::unique_ptr<Device> onFirst(int32_t rank, int32_t, const World &) {
  return std::make_unique<CudaDevice>(Gpu::get(0), rank);
}
static std::vector<CudaDevice *> gpusOf(const std::vector<Device *> &devices) {
  std::vector<CudaDevice *> gpus;
  for (Device *device : devices)
    gpus.push_back(static_cast<CudaDevice *>(device));
  return gpus;
}
static std::unique_ptr<Transport> loopback(const TransportParams &params,
                                           const std::vector<Device *> &devices,
                                           const TransportOptions &options,
                                           const World &) {
  return makeLoopbackTransport(params, gpusOf(devices), options);
}

/// NCCL, with a GPU per rank if there are enough.
static std::unique_ptr<Device> onAny(int32_t rank, int32_t, const World &) {
  return std::make_unique<CudaDevice>(Gpu::get(rank % countGpus()), rank);
}
static std::unique_ptr<Transport> nccl(const TransportParams &params,
                                       const std::vector<Device *> &devices,
                                       const TransportOptions &options,
                                       const World &world) {
  // All in one process, for which NCCL's manual advises against graphs.
  TransportOptions own = options;
  own.useGraph = false;
  return makeNcclTransport(params, gpusOf(devices), own, world);
}

static const Backend loopbackBackend = {onFirst, loopback, nullptr,
                                        rondo::sumsOfGpus};
static const Backend ncclBackend = {onAny, nccl, nullptr, rondo::sumsOfGpus};

const std::vector<Pair> &rondo::runtime::test::allPairs() {
  static const std::vector<Pair> pairs = [] {
    setDefaults(/*mayUseNccl=*/true);
    auto begin = [](int) {};
    auto end = [] {};
    std::vector<Pair> found = {{"cpu_inproc", &cpuBackend, fillCpu, copyCpu,
                                true, false, begin, end, 1}};
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0)
      return found;
    // A device has its own orders: tests with several run twice.
    found.push_back({"cuda_loopback", &loopbackBackend, fillGpu, copyGpu, true,
                     true, begin, end, 2});
    // The suite has up to four ranks. From 2.30 on NCCL shares a GPU among
    // them, if told to. Its communicators take long to make.
    const char *shares = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    if (gpus >= 4 || (shares && std::string(shares) == "1"))
      found.push_back({"cuda_nccl", &ncclBackend, fillGpu, copyGpu, false,
                       false, begin, end, 1});
    return found;
  }();
  return pairs;
}
