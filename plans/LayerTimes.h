//===- LayerTimes.h - Measured times of a layer -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANS_LAYERTIMES_H
#define RONDO_PLANS_LAYERTIMES_H

#include "dialect/Pipe.h"
#include "planning/adaptive/CostSource.h"

namespace rondo::pipe {

/// Times of F, I and W, in ns; at most maxLayerNs each.
struct LayerTimes {
  int64_t ns[3] = {0, 0, 0};
};

/// Returns the times of tasks of `samples` by a layer's costs. With costs of
/// one size, which is `usual` if they do not state it, times are proportional
/// to samples. With costs of several sizes, times are interpolated between two
/// sizes, and extrapolated from the nearest two. An extrapolated smaller task
/// takes no more than the smallest and no less than its part of it, a larger
/// one no less than the largest.
LayerTimes timesFor(LayerCostsAttr costs, int64_t samples, int64_t usual);

/// The same of a micro-batch of `samples` that is run in tasks of `share`, of
/// which each takes as long as the others in proportion to its samples.
LayerTimes timesInShares(LayerCostsAttr costs, int64_t samples, int64_t share,
                         int64_t usual);

/// The source of the times that timesFor() returns.
CostSource sourceOf(LayerCostsAttr costs, int64_t samples, int64_t usual);

} // namespace rondo::pipe

#endif // RONDO_PLANS_LAYERTIMES_H
