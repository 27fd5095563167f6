//===- LayerTimes.h - Measured times of a layer -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_LAYERTIMES_H
#define RONDO_PASSES_LAYERTIMES_H

#include "dialect/Pipe.h"
#include "planning/adaptive/CostSource.h"

namespace rondo::pipe {

/// Of F, I and W, in ns; at most maxLayerNs each.
struct LayerTimes {
  int64_t ns[3] = {0, 0, 0};
};

/// What a layer's costs say of tasks of `samples`. Costs of one size are in
/// proportion to samples; if they do not state it, it is `usual`. Of several
/// sizes, those between
/// two have times between theirs; smaller and larger ones are on the line
/// through the nearest two, but a smaller task takes no more than the smallest
/// and no less than its part of it, and a larger one no less than the largest.
LayerTimes timesFor(LayerCostsAttr costs, int64_t samples, int64_t usual);

/// The same of a micro-batch of `samples` that is run in tasks of `share`, of
/// which each takes as long as the others in proportion to its samples.
LayerTimes timesInShares(LayerCostsAttr costs, int64_t samples, int64_t share,
                         int64_t usual);

/// What these times rest on.
CostSource sourceOf(LayerCostsAttr costs, int64_t samples, int64_t usual);

} // namespace rondo::pipe

#endif // RONDO_PASSES_LAYERTIMES_H
