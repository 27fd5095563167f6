//===- EmulatedPairs.cpp - A CPU, and GPUs in emulation -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Conformance.h"
#include "EmulatedBackend.h"
#include "GpuWork.h"
#include "ProcessPair.h"

#include "test/cuda_emulation/emulation.h"

#include "runtime/transport/cuda/loopback.h"
#include "runtime/transport/cuda/nccl_transport.h"

#include <optional>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

static std::unique_ptr<Transport> makeNccl(const TransportParams &params,
                                           const std::vector<Device *> &devices,
                                           const TransportOptions &options,
                                           const World &world) {
  std::vector<cuda::CudaDevice *> gpus;
  for (Device *device : devices)
    gpus.push_back(static_cast<cuda::CudaDevice *>(device));
  return cuda::makeNcclTransport(params, gpus, options, world);
}
const Backend rondo::runtime::test::emulatedNccl = {
    cudaBackend.makeDevice, makeNccl, nullptr, rondo::sumsOfGpus};

/// The host must not touch memory of a GPU.
static std::optional<emulation::GuardedMemory> guard;

template <int gpus> static void beginEmulated(int round) {
  emulation::setDevices(gpus);
  emulation::seed(static_cast<uint64_t>(round));
  if (!guard)
    guard.emplace();
}
static void endEmulated() {
  guard.reset();
  emulation::setDevices(1);
}

const std::vector<Pair> &rondo::runtime::test::allPairs() {
  static const std::vector<Pair> pairs = {
      {"cpu_inproc", &cpuBackend, fillCpu, copyCpu, true, false, [](int) {},
       [] {}, 1},
      {"cpu_processes", &processBackend, fillCpu, copyCpu, true, false,
       [](int) {}, [] {}, 1},
      {"cpu_tcp", &tcpBackend, fillCpu, copyCpu, true, false, [](int) {}, [] {},
       1},
      {"cuda_loopback", &cudaBackend, fillGpu, copyGpu, true, true,
       beginEmulated<1>, endEmulated, 4},
      {"cuda_nccl", &emulatedNccl, fillGpu, copyGpu, false, true,
       beginEmulated<4>, endEmulated, 4},
  };
  return pairs;
}
