//===- sums.cu - Adds the parts of a collective on a GPU ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts are added in order, so that the result does not depend on the number of
// ranks.
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/cuda/sums.h"

namespace rondo::runtime::cuda {

namespace {

/// One thread adds; the others of its warp are idle.
__global__ void addAllKernel(double *sum, const double *values, int64_t count) {
  if (threadIdx.x != 0)
    return;
  double total = *sum;
  for (int64_t i = 0; i < count; ++i)
    total += values[i];
  *sum = total;
}

} // namespace

void addAllTo(const Stream &stream, double *sum, const double *values,
              int64_t count) {
  launch(stream, addAllKernel, dim3(1), dim3(32), 0, sum, values, count);
}

} // namespace rondo::runtime::cuda
