//===- gpu_transports.h - Transports between GPUs ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRANSPORT_CUDA_GPU_TRANSPORTS_H
#define RONDO_RUNTIME_TRANSPORT_CUDA_GPU_TRANSPORTS_H

#include "runtime/device/cuda/device.h"
#include "runtime/launch/world.h"
#include "runtime/transport/transport.h"

namespace rondo::runtime::cuda {

/// Ranks are threads of this process and share one GPU. A message is a copy on
/// the GPU.
std::unique_ptr<Transport>
makeLoopbackTransport(const TransportParams &params,
                      const std::vector<CudaDevice *> &devices,
                      const TransportOptions &options);

/// Every rank has its own GPU, in this process or another; devices of other
/// processes are null. Throws Error if the ranks do not connect within the time
/// limit.
std::unique_ptr<Transport>
makeNcclTransport(const TransportParams &params,
                  const std::vector<CudaDevice *> &devices,
                  const TransportOptions &options, const World &world);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_TRANSPORT_CUDA_GPU_TRANSPORTS_H
