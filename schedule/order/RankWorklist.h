//===- RankWorklist.h - Ranks that a simulation goes on with ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_ORDER_RANKWORKLIST_H
#define RONDO_SCHEDULE_ORDER_RANKWORKLIST_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo {

/// Ranks that can go on. A rank mostly waits for its neighbours, so a few ranks
/// side by side, taken as far as they get without the others, take several
/// steps each while what they read stays in the cache; hundreds of ranks in
/// turn would fetch it again for every step.
class RankWorklist {
public:
  explicit RankWorklist(int32_t numRanks)
      : blocks((numRanks + ranksPerBlock - 1) / ranksPerBlock) {}

  void push(int32_t rank) {
    blocks[rank / ranksPerBlock].push_back(rank);
    ++count;
  }
  bool isEmpty() const { return count == 0; }
  /// Takes a rank out; there must be one.
  int32_t pop() {
    while (blocks[current].empty())
      current = current + 1 == blocks.size() ? 0 : current + 1;
    const int32_t rank = blocks[current].back();
    blocks[current].pop_back();
    --count;
    return rank;
  }

private:
  static constexpr int32_t ranksPerBlock = 16;

  /// Stacks.
  std::vector<std::vector<int32_t>> blocks;
  size_t current = 0, count = 0;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_ORDER_RANKWORKLIST_H
