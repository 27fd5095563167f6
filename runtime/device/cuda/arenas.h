//===- arenas.h - Memory of a rank on a GPU, and on its host ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_CUDA_ARENAS_H
#define RONDO_RUNTIME_DEVICE_CUDA_ARENAS_H

#include "runtime/device/cuda/gpu.h"
#include "runtime/device/device.h"

#include <memory>

namespace rondo::runtime::cuda {

/// Device::makeArena() of a rank on `gpu`.
std::unique_ptr<Arena> makeArena(const std::shared_ptr<Gpu> &gpu,
                                 int64_t bytes);
/// Device::makeHostArena() of a rank on `gpu`: one allocation of pinned memory,
/// on the NUMA node next to the GPU if the system says which one that is.
std::unique_ptr<Arena> makeHostArena(const std::shared_ptr<Gpu> &gpu,
                                     int32_t rank, int64_t bytes);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_DEVICE_CUDA_ARENAS_H
