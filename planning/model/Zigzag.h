//===- Zigzag.h - Plans whose groups have unequal layers --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If memory is scarce, the busiest groups determine how much is recomputed. If
// 30 groups share 76 blocks, 16 of them have three and 14 have two. A chunked
// plan recomputes the same chunks on all groups. A zigzag recomputes more on
// the groups with fewer blocks:
//
//   layers    first to last
//   others    r--r--r--r
//   full                r--r--r
//   full                       k--k--k--k--k--k
//   last                                       k--k--head
//
// The kept layers (k) are the last ones of the model, which hold their
// activations for the shortest time. Their passes alternate in direction, so
// that all full groups hold similar bytes.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_MODEL_ZIGZAG_H
#define RONDO_PLANNING_MODEL_ZIGZAG_H

#include "planning/model/RecomputeToFit.h"

namespace rondo {

/// Zigzags on the groups of `groups`, which must be disjoint and of equal size,
/// the least work on the busiest group first. Each layer that may be recomputed
/// is a stage of its own, so the groups differ in their numbers of stages. None
/// if the layers that may be recomputed are not consecutive and equal, if
/// devices differ, if activations do not fit by an estimate, or if the busiest
/// group alone takes `ceilingNs`.
std::vector<ModelPlan> zigzags(const ModelPlan &groups,
                               const RecomputeCosts &costs, int64_t ceilingNs);

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_ZIGZAG_H
