//===- LayoutSearch.h - The fastest layouts of a model ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_GROUPS_LAYOUTSEARCH_H
#define RONDO_PLANNING_GROUPS_LAYOUTSEARCH_H

#include "planning/groups/GroupCosts.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::groups {

struct LayoutSpace {
  /// Samples of an iteration.
  int64_t globalBatch = 0;
  Execution execution;
  /// Samples of a micro-batch to try; empty: every divisor up to 16.
  std::vector<int64_t> microbatch;
  /// The largest tensor group; it never leaves a domain of links.
  int64_t maxTensor = 8;
  /// Shared state to try. Megatron's optimizer has 0 and 1, FSDP 2 and 3.
  std::vector<int> zero = {0, 1};
  std::vector<Recompute> recompute = {Recompute::None, Recompute::Selective,
                                      Recompute::Layers, Recompute::Full};
  /// The share of a device's memory that a layout may fill: fragments and
  /// buffers of libraries take the rest.
  double memoryShare = 0.92;
};

struct FoundLayout {
  Layout layout;
  IterationTime time;
  DeviceMemory memory;
};

struct FoundLayouts {
  /// At most `rows`, best first. Times closer to the best one than `band` count
  /// as equal: of these, a shorter pipeline is first, then fewer chunks, then
  /// smaller groups.
  std::vector<FoundLayout> best;
  int64_t legal = 0, fit = 0;
  /// If none fits: the legal layout that lacks the least memory.
  std::optional<FoundLayout> nearest;
  /// No layout takes less: all devices at work throughout, on nothing but
  /// products at their share of the peak.
  double leastTime = 0;
};

/// Times that differ by less are equal within the errors of the costs.
inline constexpr double band = 0.05;

/// The part of an iteration besides forward and backward that takes most time,
/// with its share of the time.
struct LargestPart {
  const char *name = "";
  double share = 0;
};
LargestPart largestPart(const IterationTime &time);

/// Tries every layout that uses all devices: all divisors of their number as
/// degrees, and layers cut evenly or, where that is faster, unevenly. The
/// result depends on nothing but the arguments. 64 layouts take some 0.2 ms.
FoundLayouts searchLayouts(const Transformer &model, const Machines &machines,
                           const LayoutSpace &space, const Constants &constants,
                           size_t rows);

} // namespace rondo::groups

#endif // RONDO_PLANNING_GROUPS_LAYOUTSEARCH_H
