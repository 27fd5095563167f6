//===- MemoryPlan.h - A compile-time slot for every buffer ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_MEMORYPLAN_H
#define RONDO_LOWERING_MEMORYPLAN_H

#include "lowering/ForEach.h"
#include "schedule/program/Program.h"

#include <optional>

namespace rondo {

/// What a program keeps beside its own buffers.
struct KeptBytes {
  /// By replica, for its data, where programs of other micro-batches need more
  /// than this one, so that state lies at one place; or empty.
  std::vector<int64_t> data;
  /// By rank, for what its collectives receive and add; or empty.
  std::vector<int64_t> staging;
  /// By replica: slots of its weights; empty: one each.
  std::vector<int32_t> weightSlots;
};

/// How a program that has no places runs, with any number of launches in
/// flight. Not complete where it sends nothing: then planMemory() needs no
/// times. The program must keep rule L1.
ProgramSimulation simulateWithoutPlaces(const Problem &executing,
                                        const Program &program);

/// Gives every buffer of the program a slot, and each rank's arena its size.
///
/// State (weights, gradients, moments, control, data) comes first in the arena
/// of the rank that holds the stage, at the same place in every program of one
/// plan, then staging, then workspace. Behind it lie pools of equal slots, one
/// pool for each size on a rank, shared by all stages and kinds of buffers of
/// that size. A pool has as many slots as are held at once, given in the order
/// of the rank's actions, and a buffer keeps to those that it has had.
///
/// A buffer that is being sent is free again for actions that start after the
/// simulated send's end; the runtime waits there if the real one has not ended.
/// In a program without backwards that is at the latest when its replica makes
/// the output after the next, so that fast ranks do not run ahead of slow ones.
///
/// `executing` is the problem whose ranks run the program; `replicas` say which
/// of the `numRanks` ranks hold the stages' state, other than the executing
/// ones for the sequential reference. The program must keep rule L1. Returns
/// what is wrong, if anything: a size that is absurd, or more slots than a
/// table names. `withoutPlaces` is simulateWithoutPlaces(), or receives it if
/// it is not complete.
std::optional<Fault> planMemory(const Problem &executing,
                                const Replicas &replicas, int32_t numRanks,
                                const std::vector<ReplicaBuffers> &buffers,
                                Program &program, const KeptBytes &kept = {},
                                const ForEach &forEach = inTurn,
                                ProgramSimulation *withoutPlaces = nullptr);

} // namespace rondo

#endif // RONDO_LOWERING_MEMORYPLAN_H
