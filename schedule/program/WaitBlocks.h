//===- WaitBlocks.h - Ranks that can form a wait cycle ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_PROGRAM_WAITBLOCKS_H
#define RONDO_SCHEDULE_PROGRAM_WAITBLOCKS_H

#include "schedule/program/Program.h"

#include <cstdint>
#include <vector>

namespace rondo {

/// Groups of ranks that can form a wait cycle. A rank waits only for ranks that
/// it exchanges messages or shares collectives with. Consider the graph of
/// these pairs: a wait cycle that visits each rank once goes back and forth
/// over one edge, or lies in a biconnected component. Returns the ranks of each
/// biconnected component, including those that are a single edge. In a chain
/// these are pairs of neighbours. O(edges + ranks).
std::vector<std::vector<int32_t>>
waitBlocks(const Problem &problem, const std::vector<Collective> &collectives);

} // namespace rondo

#endif // RONDO_SCHEDULE_PROGRAM_WAITBLOCKS_H
