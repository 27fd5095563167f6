//===- cuda.h - Gradient norm and optimizers on a GPU -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything is enqueued, and reads what changes between iterations from the
// control header, so that it can be recorded. How sums are split depends only
// on sizes, and parts are added in order: the bits are always the same.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_OPTIMIZER_CUDA_H
#define RONDO_RUNTIME_OPTIMIZER_CUDA_H

#include "runtime/base/cuda/stream.h"
#include "runtime/optimizer/control.h"
#include "runtime/optimizer/rule.h"

#include <cstdint>
#include <cuda_bf16.h>
#include <vector>

namespace rondo::runtime::cuda {

/// copy[i] = tensor[i] += copy[i].
void addCopies(const Stream &stream, float *tensor, float *copy, int64_t count);

struct SquaredTensor {
  const float *values;
  int64_t count;
  double *sum;
};
/// Bytes of scratch that sumSquares() needs.
inline constexpr int64_t sumSquaresScratchBytes = 32 * 256 * 8;
/// For each tensor, *sum = the sum of squares in fp64.
void sumSquares(const Stream &stream, const std::vector<SquaredTensor> &tensors,
                void *scratch);

/// Writes norm, finite flag and clip factor, like Device::finishNorm(). `sum`
/// may be in a header.
void finishNorm(const Stream &stream, const double *sum, double maxNorm,
                const std::vector<ControlHeader *> &headers);

/// Writes clip factors, like Device::clipBy(). `sum` is in no header.
void clipBy(const Stream &stream, const double *sum, double maxNorm,
            const std::vector<ControlHeader *> &headers);

struct OptimizedTensor {
  float *weights;
  const float *gradients;
  float *moment1, *moment2;
  /// Receives the new weights in bf16; null if there is no such copy.
  __nv_bfloat16 *copy;
  int64_t count;
  bool decay;
  /// As in UpdatedTensor.
  float *changes = nullptr;
  float changeDecay = 0;
};
/// One step on each tensor, with the header's factors. If its finite flag is 0,
/// the weights have not changed, and only the mean of changes shrinks.
void adamw(const Stream &stream, const AdamWConfig &config,
           const ControlHeader *header,
           const std::vector<OptimizedTensor> &tensors);
/// The same, without second moments.
void sgd(const Stream &stream, const SgdConfig &config,
         const ControlHeader *header,
         const std::vector<OptimizedTensor> &tensors);

/// The mean of changes after a step from `before` to `after`; as in rule.h.
void keepChange(const Stream &stream, int64_t count, float decay,
                const float *before, const float *after, float *changes);

/// moved[i] = weights[i] - steps * changes[i].
void moveBack(const Stream &stream, int64_t count, float steps,
              const float *weights, const float *changes, float *moved);

/// copy[i] = weights[i].
void toBf16(const Stream &stream, const float *weights, __nv_bfloat16 *copy,
            int64_t count);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_OPTIMIZER_CUDA_H
