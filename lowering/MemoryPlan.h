//===- MemoryPlan.h - A compile-time slot for every buffer ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_MEMORYPLAN_H
#define RONDO_LOWERING_MEMORYPLAN_H

#include "lowering/ForEach.h"
#include "schedule/program/ProgramSimulator.h"

#include <optional>

namespace rondo {

/// Memory of a program in addition to its own buffers.
struct KeptBytes {
  /// [replica]: bytes reserved for its data: the most that any program over the
  /// same arenas needs, so that state has the same place in all. Empty: this
  /// program's own need.
  std::vector<int64_t> data;
  /// [rank]: bytes of staging, in which collectives receive the parts that they
  /// add; empty: none.
  std::vector<int64_t> staging;
  /// [replica]: slots of its weights; empty: one each.
  std::vector<int32_t> weightSlots;
};

/// Input of planMemory(): the buffers to place, and the ranks they are on. The
/// references must outlive the call.
struct MemoryRequest {
  /// The problem whose ranks run the program.
  const Problem &executing;
  /// The rank, of `numRanks`, that holds the state of each stage. For the
  /// sequential reference these are not the executing ranks.
  const Replicas &replicas;
  int32_t numRanks;
  /// [replica].
  const std::vector<ReplicaBuffers> &buffers;
  KeptBytes kept = {};
  /// [micro-batch][replica], if micro-batches differ; null or empty: all have
  /// `buffers`.
  const std::vector<std::vector<ReplicaBuffers>> *byMicrobatch = nullptr;
  /// [rank]: the memory that its arena should fit, or noMemoryCap; null: there
  /// is no limit.
  const std::vector<int64_t> *devices = nullptr;
};

/// Simulates a program without places, with any number of launches in flight.
/// Not complete if the program sends and copies nothing: planMemory() then
/// needs no times. The program must keep rule L1.
ProgramSimulation simulateWithoutPlaces(const Problem &executing,
                                        const Program &program);

/// Gives every buffer of the program a slot, and computes the size of each
/// rank's arena.
///
/// State (weights, gradients, moments, control, data) comes first in the arena
/// of the rank that holds the stage, at the same place in every program of one
/// plan. Staging comes next, then workspace, then pools of equal slots: one
/// pool for each size on a rank, shared by all stages and kinds of buffers of
/// that size. A pool has as many slots as are in use at once. Slots are
/// assigned in the order of the rank's actions, and a buffer prefers slots that
/// it has had before.
///
/// If micro-batches differ in their buffers, a rank has one pool for these,
/// whose slots are small: a buffer takes as many as it needs
/// (RaggedPlacement.h). Their data keep equal slots.
///
/// The buffer of a send is free for actions that start after the simulated end
/// of the send; the runtime waits there if the real send has not ended. In a
/// program without backwards the buffer is free at the latest when its replica
/// makes the output after the next, so that fast ranks do not run ahead of slow
/// ones.
///
/// Buffers that copies read or write have their own pools (CopySlots.h), and
/// slots on the host their own arena. In the program, an action that
/// takes such a slot waits for the end of the action on another lane that has
/// released it (ProgramLaneWaits.h).
///
/// The caps of ranks do not count messages. If an arena of a program with
/// copies exceeds `devices`, it is planned again with lower caps, so that loads
/// wait for more releases: it may exceed them all the same.
///
/// The program must keep rule L1. Returns a fault if a buffer or an arena is
/// too large, or if a pool needs more than `maxSlots` slots. `withoutPlaces` is
/// the result of simulateWithoutPlaces(), or receives it if it is not complete.
std::optional<Fault> planMemory(const MemoryRequest &request, Program &program,
                                const ForEach &forEach = inTurn,
                                ProgramSimulation *withoutPlaces = nullptr);

} // namespace rondo

#endif // RONDO_LOWERING_MEMORYPLAN_H
