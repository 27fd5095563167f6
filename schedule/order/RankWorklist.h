//===- RankWorklist.h - Runnable ranks of a simulation ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_ORDER_RANKWORKLIST_H
#define RONDO_SCHEDULE_ORDER_RANKWORKLIST_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo {

/// Runnable ranks of a simulation, popped by blocks of `ranksPerBlock` adjacent
/// ranks. A rank mostly waits for its neighbours, so the ranks of a block can
/// take several steps each while their data stay in the cache. Cycling through
/// hundreds of ranks would reload the data at every step.
class RankWorklist {
public:
  explicit RankWorklist(int32_t numRanks)
      : blocks((numRanks + ranksPerBlock - 1) / ranksPerBlock) {}

  void push(int32_t rank) {
    blocks[rank / ranksPerBlock].push_back(rank);
    ++count;
  }
  bool isEmpty() const { return count == 0; }
  /// Removes and returns a rank. Precondition: the list is not empty.
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

  /// [block]: a stack of ranks.
  std::vector<std::vector<int32_t>> blocks;
  size_t current = 0, count = 0;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_ORDER_RANKWORKLIST_H
