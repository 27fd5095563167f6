//===- gemm_timing.h - Which algorithm is the fastest -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_CUDA_GEMM_TIMING_H
#define RONDO_RUNTIME_BODIES_CUDA_GEMM_TIMING_H

#include "runtime/bodies/cuda/gemm.h"

#include <functional>
#include <optional>
#include <vector>

namespace rondo::runtime::cuda {

/// Enqueues a product with algorithm number `candidate`. False: the library
/// refuses to.
using RunCandidate =
    std::function<bool(size_t candidate, const Stream &stream,
                       const Product &product, const GemmWorkspace &workspace)>;

/// The times of a product with `count` algorithms, us, each the median of a few
/// repeats that take turns. Reads the product's operands and writes to memory
/// of its own alone, in a stream of its own that waits for nobody, so operands
/// may be in use, or not yet computed. Waits for the whole GPU once, to free
/// that memory. Infinite for an algorithm that is refused. None if there is no
/// memory for that. Throws Error if a call fails.
std::optional<std::vector<double>> timeCandidates(const Product &product,
                                                  int64_t workspaceBytes,
                                                  size_t count,
                                                  const RunCandidate &run);

/// The fastest, if it takes less than 98 % of the first one's time; otherwise
/// the first: noise must not choose.
size_t fastestOf(const std::vector<double> &us);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_GEMM_TIMING_H
