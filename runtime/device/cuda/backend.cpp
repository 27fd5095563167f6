//===- backend.cpp - Which GPU a rank gets, and how GPUs connect ----------===//
//
// One process runs all ranks: on one GPU, or on as many GPUs as there are
// ranks. Several processes: each has one rank and takes the GPU of its number
// on its machine.
//
//===----------------------------------------------------------------------===//

#include "runtime/backend.h"

#include "runtime/transport/cuda/gpu_transports.h"

#include <cstdlib>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

/// Read by the driver and by NCCL when they start; what the user set holds.
static void setDefaults() {
  // Communication streams must not share a queue of the hardware with each
  // other or with the compute stream: a message that waits would hold back
  // the one that it waits for.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  // Operations of several communicators are launched in the order in which the
  // rank's thread issues them, which is the compiled order.
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
}

static std::unique_ptr<Device> makeDevice(int32_t rank, int32_t ranks,
                                          const World &world) {
  setDefaults();
  const int gpus = countGpus();
  int ordinal = world.localProcess % gpus;
  if (world.isAlone())
    ordinal = ranks <= gpus ? rank : 0;
  std::shared_ptr<Gpu> gpu = Gpu::get(ordinal);
  // The sequential plan runs all stages on the first rank's GPU.
  for (int other = 0;
       rank == 0 && world.isAlone() && ranks <= gpus && other < ranks; ++other)
    if (other != ordinal)
      gpu->reach(other);
  return std::make_unique<CudaDevice>(gpu, rank);
}

static std::unique_ptr<Transport>
makeTransport(const TransportParams &params,
              const std::vector<Device *> &devices,
              const TransportOptions &options, const World &world) {
  if (params.link.latencyNs > 0 || params.link.bytesPerUs > 0)
    throw Error("links between GPUs cannot be slowed down: leave out --link",
                Exit::Usage);
  std::vector<CudaDevice *> gpus;
  bool isOneGpu = world.isAlone();
  for (Device *device : devices) {
    gpus.push_back(static_cast<CudaDevice *>(device));
    if (isOneGpu)
      isOneGpu = &gpus.front()->gpu() == &gpus.back()->gpu();
  }
  if (isOneGpu)
    return makeLoopbackTransport(params, gpus, options);
  return makeNcclTransport(params, gpus, options, world);
}

/// Processes need nothing but a store to come together.
static const ProcessSupport processes = {"NCCL", nullptr, nullptr, nullptr};
const Backend rondo::runtime::cudaBackend = {makeDevice, makeTransport,
                                             &processes};
