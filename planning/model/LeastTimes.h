//===- LeastTimes.h - The least times of a layer ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_LEASTTIMES_H
#define RONDO_PLANNING_MODEL_LEASTTIMES_H

namespace rondo {

/// Lower bounds of the times of a layer, in ns, on the slowest device, whatever
/// part of the samples of a micro-batch a task takes: in proportion to them.
struct LeastTimes {
  double forwardNs = 0, inputGradNs = 0, weightGradNs = 0;

  double workNs() const { return forwardNs + inputGradNs + weightGradNs; }
};

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_LEASTTIMES_H
