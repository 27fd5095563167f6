//===- PricedPaths.h - Prices of a rank's time and memory -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_BOUNDS_PRICEDPATHS_H
#define RONDO_SCHEDULE_BOUNDS_PRICEDPATHS_H

#include "schedule/bounds/RankPath.h"

namespace rondo {

/// A lower bound of the objective of `microbatches` micro-batches, from `known`
/// to `ceiling`. `known` is a bound at which the path has slack. Reduces
/// `effort`, which is in labels. See PricedPaths.cpp.
int64_t pricedPathsBound(const RankPath &path, int64_t microbatches,
                         int64_t known, int64_t ceiling, int64_t &effort);

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_PRICEDPATHS_H
