//===- LeastRest.h - What the layers behind a stage cost at least -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_LEASTREST_H
#define RONDO_PLANNING_CHAIN_LEASTREST_H

#include "planning/chain/BestLinks.h"
#include "planning/chain/ChainCosts.h"

namespace rondo {

/// Lower bounds for the layers from one on, whatever the plan: every group of
/// devices is taken to have the best links of a group of its size (BestLinks).
class LeastRest {
public:
  static constexpr int64_t never = std::numeric_limits<int64_t>::max();

  /// O(layers^2 * devices^2).
  LeastRest(const ChainProblem &problem, const ChainCosts &costs);

  /// A message at the boundary in front of a layer.
  int64_t messageNs(int32_t layer, int32_t from, int32_t to) const {
    return messages[(static_cast<size_t>(layer) * (G + 1) + from) * (G + 1) +
                    to];
  }
  /// A micro-batch's way, there and back, through the layers from `layer` on,
  /// and the messages to and from the stage on `devices` in front of them. 0
  /// behind the last layer; `never` if no device is left for them.
  int64_t wayNs(int32_t layer, int32_t devices) const {
    return ways[static_cast<size_t>(layer) * (G + 1) + devices];
  }
  /// F and B of the longest stage of these layers on at most `devices` devices.
  int64_t longestNs(int32_t layer, int32_t devices) const {
    return longest[static_cast<size_t>(layer) * (G + 1) + devices];
  }
  const BestLinks &links() const { return best; }

private:
  void findWays(const ChainCosts &costs);
  void findLongest(const ChainCosts &costs);

  const int32_t L, G;
  const BestLinks best;
  std::vector<int64_t> messages, ways, longest;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_LEASTREST_H
