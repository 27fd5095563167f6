//===- CostToGo.h - What the layers behind a stage cost at least ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_COSTTOGO_H
#define RONDO_PLANNING_CHAIN_COSTTOGO_H

#include "planning/chain/BestLinks.h"
#include "planning/chain/ChainCosts.h"
#include "planning/chain/GroupSizes.h"

namespace rondo {

/// Lower bounds for the layers from one on, whatever the plan: every group of
/// devices is taken to have the best links and devices of a group of its size
/// (BestLinks).
class CostToGo {
public:
  static constexpr int64_t never = std::numeric_limits<int64_t>::max();

  /// O(layers * devices * ranges * log(layers) + layers^2 * ranges +
  /// layers * ranges^2).
  CostToGo(const ChainProblem &problem, const ChainCosts &costs);

  /// A message at the boundary in front of a layer, between groups of two
  /// ranges of sizes; `never` if there are too few devices for both.
  int64_t messageNs(int32_t layer, int32_t from, int32_t to) const {
    return messages[(static_cast<size_t>(layer) * K + from) * K + to];
  }
  /// A micro-batch's way, there and back, through the layers from `layer` on,
  /// and the messages to and from the stage in front of them, whose size is in
  /// a range. 0 behind the last layer; `never` if no device is left for them.
  int64_t wayNs(int32_t layer, int32_t range) const {
    return ways[static_cast<size_t>(layer) * K + range];
  }
  /// F and B of the longest stage of these layers on at most `devices` devices.
  int64_t longestNs(int32_t layer, int32_t devices) const {
    return longest[static_cast<size_t>(layer) * (G + 1) + devices];
  }
  const BestLinks &links() const { return best; }
  const GroupSizes &sizes() const { return groups; }

private:
  /// F and B of a stage on a group whose size is in a range.
  int64_t workNs(const ChainCosts &costs, int32_t first, int32_t end,
                 int32_t range) const;
  void findWays(const ChainCosts &costs);
  void findLongest(const ChainCosts &costs);

  const int32_t L, G;
  const GroupSizes groups;
  /// Ranges of sizes.
  const int32_t K;
  const BestLinks best;
  std::vector<int64_t> messages, ways, longest;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_COSTTOGO_H
