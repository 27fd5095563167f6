//===- ReleasedBuffers.h - Buffers that an action releases ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_PROGRAM_RELEASEDBUFFERS_H
#define RONDO_SCHEDULE_PROGRAM_RELEASEDBUFFERS_H

#include "schedule/model/Problem.h"

namespace rondo {

/// Whether the copies of a replica move the checkpoints with which R begins.
/// Otherwise they move what I and W read.
inline bool copiesCheckpoints(const Problem &problem, int32_t replica) {
  return problem.hostMemory.mayCopy(replica) &&
         *problem.hostMemory.loads[replica] == LoadBefore::Recompute;
}

/// Calls `visit` with the kind of each buffer of its stage whose last reader an
/// action may be: by the table of actions, but R is that of checkpoints that
/// leave.
template <typename Visit>
void forEachReleased(const Problem &problem, Action action, Visit visit) {
  const bool areCheckpoints =
      !action.traits().isCopy() &&
      copiesCheckpoints(problem, static_cast<int32_t>(action.subject));
  for (BufferKind kind : action.traits().releases)
    if (!areCheckpoints || (kind != BufferKind::OffloadedForInputGrad &&
                            kind != BufferKind::LoadedForInputGrad))
      visit(kind);
  if (areCheckpoints && action.kind() == ActionKind::Recompute) {
    visit(BufferKind::OffloadedForInputGrad);
    visit(BufferKind::LoadedForInputGrad);
  }
}

} // namespace rondo

#endif // RONDO_SCHEDULE_PROGRAM_RELEASEDBUFFERS_H
