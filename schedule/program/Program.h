//===- Program.h - A schedule with messages and memory ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The value that lowering works on: every rank's tasks, sends, receives,
// collectives and optimizer steps in order, and a compile-time slot for every
// buffer.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PROGRAM_PROGRAM_H
#define RONDO_SCHEDULE_PROGRAM_PROGRAM_H

#include "kinds/Collectives.h"
#include "schedule/model/BufferNumbers.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// Alignment of every slot in bytes; equals the runtime's bufferAlignment.
inline constexpr int64_t bufferAlignment = 64;

/// Maximum number of slots of a pool: tables of emitted programs have 16-bit
/// entries.
inline constexpr int32_t maxSlots = 65536;

/// Equal slots in one rank's arena, on its device or on its host.
struct Pool {
  int32_t rank = 0;
  int64_t offset = 0;
  int64_t slotBytes = 0;
  int32_t slots = 0;
  bool isOnHost = false;
};

/// The slots of a buffer of a replica. Instance i of the buffer (a micro-batch,
/// version or unit, depending on the kind) is in slot slotOf[i % slotOf.size()]
/// of the pool, so that a repeating sequence of slots is stored once. pool < 0:
/// the replica has no such buffer. A consumer on the same rank as its producer
/// shares the producer's pool and slots: Input with Output, OutputGrad with
/// InputGrad.
struct Place {
  int32_t pool = -1;
  std::vector<int32_t> slotOf;
  /// If instances differ in size: the number of consecutive slots that each
  /// takes, like slotOf. Empty: one each.
  std::vector<int32_t> spans = {};

  int32_t slot(int64_t number) const {
    const auto period = static_cast<int64_t>(slotOf.size());
    return slotOf[number < period ? number : number % period];
  }
};

/// A joint operation of several ranks, once per step or, if it moves sharded
/// state, once per unit.
struct Collective {
  CollectiveKind kind = CollectiveKind::GradientNorm;
  /// Global name of the shared tensor; empty if the kind names none.
  std::string tensor;
  /// In pipeline order.
  std::vector<int32_t> replicas;
  /// Time from when all its ranks have reached it to its end.
  int64_t ns = 0;
  /// For a shared tensor of sharded stages: the range of elements that it adds,
  /// which are those in the shards of its replicas. numElements == 0: all
  /// elements.
  int64_t firstElement = 0, numElements = 0;
  /// For a norm with overlapping iterations: the step that awaits it is `delay`
  /// iterations later. If positive, a rank issues the norm after its steps,
  /// which compute the rank's summand.
  int64_t delay = 0;

  /// The iteration whose collective is awaited by a step of iteration t.
  /// Negative: none, at the beginning of a run.
  int64_t awaitedBy(int64_t t) const { return t - delay; }
};

struct Program {
  /// Actions of each rank. The `subject` of Send and Recv is an edge, that of
  /// AllReduce and Await a collective.
  Schedule order;
  std::vector<Collective> collectives;
  std::vector<Pool> pools;
  /// Indexed by buffer number (BufferNumbers.h): first replica * numBufferKinds
  /// + kind, then the extra buffers of replicas that have several stage edges
  /// of one kind.
  std::vector<Place> places;
  /// [rank]: a pool of one slot where the rank's collectives, one after
  /// another, receive operands; -1: none. Empty: no rank has one.
  std::vector<int32_t> staging;
  /// [rank]: bytes of the arena, which contains all its pools on the device.
  std::vector<int64_t> arenaBytes;
  /// [rank]: the same on the host; empty: no rank has any.
  std::vector<int64_t> hostArenaBytes;
  /// Maximum number of sends, receives and collectives of a rank in flight, by
  /// its target (kinds/Residency.h); 0: unlimited.
  int32_t resident = 0;

  const Place &place(int32_t replica, BufferKind kind) const {
    return places[replica * numBufferKinds + static_cast<int>(kind)];
  }
  Place &place(int32_t replica, BufferKind kind) {
    return places[replica * numBufferKinds + static_cast<int>(kind)];
  }
};

} // namespace rondo

#endif // RONDO_SCHEDULE_PROGRAM_PROGRAM_H
