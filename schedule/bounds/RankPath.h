//===- RankPath.h - A micro-batch's way through a rank ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_BOUNDS_RANKPATH_H
#define RONDO_SCHEDULE_BOUNDS_RANKPATH_H

#include "schedule/partial/FlatProblem.h"

#include <vector>

namespace rondo {

/// The operations of one micro-batch on one rank of a chain.
struct RankPath {
  /// What operations of all micro-batches share: the rank's compute time and
  /// memory, its lanes for copies (one if it copies one way at a time), and the
  /// memory of its host.
  enum Resource : uint8_t { Compute, Memory, CopyOut, CopyIn, HostMemory };

  struct Operation {
    int64_t ns = 0;
    /// The earliest start, and the least time from its end to the objective.
    int64_t head = 0, tail = 0;
    /// Bytes: taken at its start and freed at its end.
    int64_t takes = 0, frees = 0;
    /// Compute or a lane, and the bytes of the host taken and freed.
    Resource lane = Compute;
    int64_t hostTakes = 0, hostFrees = 0;
  };
  /// A micro-batch may be copied to the host: SAVE after F of the stage with
  /// this place among the rank's stages, LOAD before its I or (`isLate`) W.
  struct Copy {
    int32_t stage = 0;
    bool isLate = false;
    Operation save, load;
  };
  /// F by ascending, then I by descending stages.
  std::vector<Operation> operations;
  /// W, in the order of I.
  std::vector<Operation> leaves;
  std::vector<Copy> copies;
  /// [resource]: 1 for compute and lanes, the usable cap for memory. Without
  /// copies, only Compute and Memory; HostMemory only if the host has a cap.
  std::vector<int64_t> capacities;
  /// The least time from the end of the rank to the objective.
  int64_t endOffset = 0;

  int64_t cap() const { return capacities[Memory]; }
  /// When its first operation can start.
  int64_t begin() const { return operations.front().head; }
  int64_t work() const;
  /// Bytes times ns that a micro-batch holds if each operation starts as soon
  /// as the one before it allows.
  double area() const;
  /// The longest time by which the last operation can be delayed in an
  /// objective, and so each one; negative if the objective is too short.
  int64_t slack(int64_t objective) const;
};

/// One path for each rank that has stages and frees all bytes; caps are the
/// usable ones (HeldBytes.h). The problem must be a chain. `copying`: the
/// problem whose copies count, or null. O(stages).
std::vector<RankPath> rankPathsOf(const FlatProblem &flat,
                                  const Problem *copying = nullptr);

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_RANKPATH_H
