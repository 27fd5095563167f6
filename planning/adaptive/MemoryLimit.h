//===- MemoryLimit.h - Groups that Ada-Grouper keeps ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wang et al., "Ada-Grouper", arXiv 2303.01675; the rule is a reconstruction,
// as the paper's code has no tuner. The paper assumes that larger micro-batches
// are better for a given k. So of all points (k, b) that fit, only those on the
// memory limit are useful.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_ADAPTIVE_MEMORYLIMIT_H
#define RONDO_PLANNING_ADAPTIVE_MEMORYLIMIT_H

#include <cstdint>
#include <vector>

namespace rondo {

/// kfkb with groups of `k` micro-batches of `samples` samples.
struct GroupPoint {
  int64_t k = 1;
  int64_t samples = 1;
};

/// Keeps, of points that fit, the one with the largest micro-batches for each
/// k, unless another has both a larger k and larger or equal micro-batches.
/// Always keeps one with k = 1, if any fits. In ascending order of k. O(n^2).
std::vector<GroupPoint> onMemoryLimit(const std::vector<GroupPoint> &fitting);

} // namespace rondo

#endif // RONDO_PLANNING_ADAPTIVE_MEMORYLIMIT_H
