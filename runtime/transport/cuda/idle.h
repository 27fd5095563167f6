//===- idle.h - Waiting for a stream ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRANSPORT_CUDA_IDLE_H
#define RONDO_RUNTIME_TRANSPORT_CUDA_IDLE_H

#include "runtime/base/cuda/stream.h"

#include <chrono>
#include <thread>

namespace rondo::runtime::cuda {

/// How long a thread sleeps between two looks at a GPU: short compared with an
/// iteration, and long enough to leave the core free.
constexpr std::chrono::microseconds lookInterval{20};

/// Returns once the stream has done all its work. Calls `look` at each look; it
/// may throw.
template <typename Look> void awaitIdle(cudaStream_t stream, Look look) {
  for (;;) {
    cudaError_t state = cudaStreamQuery(stream);
    if (state == cudaSuccess)
      return;
    if (state != cudaErrorNotReady)
      check(state, "the iteration", __FILE__, __LINE__);
    look();
    std::this_thread::sleep_for(lookInterval);
  }
}

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_TRANSPORT_CUDA_IDLE_H
