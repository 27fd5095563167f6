//===- host_arena.h - Pinned memory for copies to the host ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_CUDA_HOST_ARENA_H
#define RONDO_RUNTIME_DEVICE_CUDA_HOST_ARENA_H

#include "runtime/device/cuda/gpu.h"
#include "runtime/device/device.h"

#include <memory>

namespace rondo::runtime::cuda {

/// Device::makeHostArena() of a rank on `gpu`: one allocation of pinned memory,
/// on the NUMA node next to the GPU if the system says which one that is.
std::unique_ptr<Arena> makeHostArena(const std::shared_ptr<Gpu> &gpu,
                                     int32_t rank, int64_t bytes);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_DEVICE_CUDA_HOST_ARENA_H
