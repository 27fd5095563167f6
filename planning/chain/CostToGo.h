//===- CostToGo.h - Lower bounds for the layers after a stage ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_COSTTOGO_H
#define RONDO_PLANNING_CHAIN_COSTTOGO_H

#include "planning/chain/BestLinks.h"
#include "planning/chain/ChainCosts.h"
#include "planning/chain/GroupSizes.h"

namespace rondo {

/// The least path latency of a micro-batch, there and back, by
/// [layer * sizes.count() + range]: through the layers from `layer` on, with
/// the messages to and from the stage before them, whose number of devices is
/// in `range`. 0 after the last layer, infinite if no plan continues. `work`:
/// time of a stage of layers [first, end) in a range; `message`: time of a
/// message at a layer between two ranges, infinite if no plan has both.
/// O(layers^2 * ranges + layers * ranges^2).
template <typename Work, typename Message>
std::vector<int64_t> leastPaths(int32_t layers, const GroupSizes &sizes,
                                const Work &work, const Message &message) {
  const int32_t K = sizes.count();
  std::vector<int64_t> paths(static_cast<size_t>(layers + 1) * K, infinite);
  // As `paths`, but without the messages to and from the stage before; a stage
  // begins at the layer.
  std::vector<int64_t> from(paths.size(), infinite);
  std::fill(paths.begin() + static_cast<std::ptrdiff_t>(layers) * K,
            paths.end(), 0);
  for (int32_t first = layers - 1; first > 0; --first) {
    const size_t row = static_cast<size_t>(first) * K;
    for (int32_t k = 0; k < K; ++k)
      for (int32_t end = first + 1; end <= layers; ++end)
        if (const int64_t on = paths[static_cast<size_t>(end) * K + k];
            on < infinite)
          from[row + k] = std::min(from[row + k], work(first, end, k) + on);
    for (int32_t k = 0; k < K; ++k)
      for (int32_t other = 0; other < K; ++other)
        if (const int64_t ns = message(first, k, other);
            ns < infinite && from[row + other] < infinite)
          paths[row + k] = std::min(paths[row + k], 2 * ns + from[row + other]);
  }
  return paths;
}

/// Lower bounds for the layers from a given one on, for all plans. Assumes for
/// every group of devices the best links and devices of any group of its size
/// (BestLinks).
class CostToGo {
public:
  /// O(layers * devices * ranges * log(layers) + layers^2 * ranges +
  /// layers * ranges^2).
  CostToGo(const ChainProblem &problem, const ChainCosts &costs);

  /// Time of a message at the boundary before a layer, between groups of two
  /// ranges of sizes; `infinite` if there are too few devices for both.
  int64_t messageNs(int32_t layer, int32_t from, int32_t to) const {
    return messages[(static_cast<size_t>(layer) * K + from) * K + to];
  }
  /// Path latency of a micro-batch, there and back, through the layers from
  /// `layer` on, with the messages to and from the stage before them, whose
  /// number of devices is in `range`. 0 after the last layer; `infinite` if no
  /// device is left for them.
  int64_t wayNs(int32_t layer, int32_t range) const {
    return ways[static_cast<size_t>(layer) * K + range];
  }
  /// Time of F and B of the slowest stage of the layers from `layer` on, on at
  /// most `devices` devices.
  int64_t longestNs(int32_t layer, int32_t devices) const {
    return longest[static_cast<size_t>(layer) * (G + 1) + devices];
  }
  const BestLinks &links() const { return best; }
  const GroupSizes &sizes() const { return groups; }

private:
  /// Time of F and B of a stage on a group whose size is in a range.
  int64_t workNs(const ChainCosts &costs, int32_t first, int32_t end,
                 int32_t range) const;
  void findLongest(const ChainCosts &costs);

  const int32_t L, G;
  const GroupSizes groups;
  /// Number of ranges.
  const int32_t K;
  const BestLinks best;
  std::vector<int64_t> messages, ways, longest;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_COSTTOGO_H
