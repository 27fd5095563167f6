//===- MemoryLimit.h - Which groups and sizes Ada-Grouper keeps -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wang et al., "Ada-Grouper", arXiv 2303.01675; the rule is a reconstruction,
// as the paper's code has no tuner. With a given k, larger micro-batches are
// taken to be better, so of all points (k, b) that fit only those on the limit
// of memory are of use.
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

/// Of points that fit: for each k the one with the largest micro-batches,
/// unless another has both a larger or equal k and larger or equal
/// micro-batches. One with k = 1 is always there, if any fits. In ascending
/// order of k. O(n^2).
std::vector<GroupPoint> onMemoryLimit(const std::vector<GroupPoint> &fitting);

} // namespace rondo

#endif // RONDO_PLANNING_ADAPTIVE_MEMORYLIMIT_H
