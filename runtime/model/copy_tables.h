//===- copy_tables.h - Copies of activations to the host --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_MODEL_COPY_TABLES_H
#define RONDO_RUNTIME_MODEL_COPY_TABLES_H

#include "kinds/Actions.h"

#include <cstddef>
#include <cstdint>

namespace rondo::runtime {

/// A copy of activations to the host (SAVE) or back (LOAD).
struct CopyDesc {
  ActionKind kind;
  int32_t replica, microbatch;
  /// Its place among the copies of an iteration over the host link that its
  /// rank shares, in its direction (laneOfShared()); -1: the schedule states
  /// none.
  int32_t turn = -1;
};

/// A task or copy that begins after the end of an action on another lane of its
/// rank.
struct LaneWaitDesc {
  ActionKind kind;
  int32_t replica, microbatch;
  ActionKind awaitedKind;
  int32_t awaitedReplica, awaitedMicrobatch;
};

/// The copies of one rank. The two directions are lanes of their own, each of
/// which runs its copies in the order of the list; with `isHalf` all copies are
/// on one lane.
struct RankCopiesDesc {
  int32_t numCopies;
  const CopyDesc *copies;
  int32_t numWaits;
  const LaneWaitDesc *waits;
  bool isHalf;
};

/// A rank's link to its host, as the plan assumed it. bytesPerUs == 0: a copy
/// takes only the latency.
struct HostLinkDesc {
  int64_t latencyNs, bytesPerUs;
  /// The number of the link that it shares with other ranks, which carries one
  /// copy in each direction, or in all if `isSharedHalf`; -1: none.
  int32_t shared;
  bool isSharedHalf;

  /// The number of the lane of the shared link that carries a copy.
  size_t laneOfShared(ActionKind kind) const {
    return 2 * static_cast<size_t>(shared) +
           (kind == ActionKind::Load && !isSharedHalf);
  }
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_MODEL_COPY_TABLES_H
