//===- WaitBlocks.cpp - Ranks that can form a wait cycle ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/program/WaitBlocks.h"

#include <algorithm>
#include <set>

using namespace rondo;

namespace {

/// Biconnected components by depth-first search (Hopcroft and Tarjan 1973),
/// without recursion.
class Blocks {
public:
  explicit Blocks(std::vector<std::set<int32_t>> neighbours)
      : neighbours(std::move(neighbours)) {}

  std::vector<std::vector<int32_t>> run() {
    const auto count = static_cast<int32_t>(neighbours.size());
    depth.assign(count, -1);
    lowest.assign(count, 0);
    for (int32_t rank = 0; rank < count; ++rank)
      if (depth[rank] < 0)
        search(rank);
    return std::move(blocks);
  }

private:
  struct Visit {
    int32_t rank, parent;
    std::set<int32_t>::const_iterator next;
  };

  void enter(int32_t rank, int32_t parent) {
    depth[rank] = lowest[rank] = static_cast<int32_t>(visits.size());
    visits.push_back({rank, parent, neighbours[rank].begin()});
    pending.push_back(rank);
  }

  void search(int32_t root) {
    enter(root, -1);
    while (!visits.empty()) {
      Visit &visit = visits.back();
      if (visit.next == neighbours[visit.rank].end()) {
        leave();
        continue;
      }
      const int32_t other = *visit.next++;
      if (depth[other] < 0)
        enter(other, visit.rank);
      else if (other != visit.parent)
        lowest[visit.rank] = std::min(lowest[visit.rank], depth[other]);
    }
    pending.clear();
  }

  /// Ends the visit of a rank. If its subtree reaches no rank above its parent,
  /// its pending ranks form a block with the parent.
  void leave() {
    const auto [rank, parent, next] = visits.back();
    visits.pop_back();
    if (parent < 0)
      return;
    lowest[parent] = std::min(lowest[parent], lowest[rank]);
    if (lowest[rank] < depth[parent])
      return;
    std::vector<int32_t> block = {parent};
    int32_t member = -1;
    do {
      member = pending.back();
      pending.pop_back();
      block.push_back(member);
    } while (member != rank);
    std::sort(block.begin(), block.end());
    blocks.push_back(std::move(block));
  }

  const std::vector<std::set<int32_t>> neighbours;
  /// [rank]: its depth (-1: not visited), and the least depth that its subtree
  /// reaches.
  std::vector<int32_t> depth, lowest;
  std::vector<Visit> visits;
  /// Visited ranks that are not yet in a block with their parent.
  std::vector<int32_t> pending;
  std::vector<std::vector<int32_t>> blocks;
};

} // namespace

std::vector<std::vector<int32_t>>
rondo::waitBlocks(const Problem &problem,
                  const std::vector<Collective> &collectives) {
  std::vector<std::set<int32_t>> neighbours(problem.numRanks());
  auto join = [&](int32_t one, int32_t other) {
    if (one == other)
      return;
    neighbours[one].insert(other);
    neighbours[other].insert(one);
  };
  for (const Edge &edge : problem.edges)
    join(problem.rankOf(edge.from), problem.rankOf(edge.to));
  for (const Collective &collective : collectives)
    for (int32_t one : collective.replicas)
      for (int32_t other : collective.replicas)
        join(problem.rankOf(one), problem.rankOf(other));
  return Blocks(std::move(neighbours)).run();
}
