//===- CopySlots.h - Slots of what copies read and write --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Used only by the memory planner.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LOWERING_COPYSLOTS_H
#define RONDO_LOWERING_COPYSLOTS_H

#include "lowering/SlotAssignment.h"
#include "schedule/program/ProgramLaneWaits.h"
#include "schedule/program/ProgramSimulator.h"

#include <functional>

namespace rondo {

/// Assigns slots to the lives of one rank's buffers that copies read or write:
/// those of PoolUse::Copied and PoolUse::OnHost. A life ends with the action
/// that releases the buffer, which may be on another lane than the action that
/// takes its slot next.
///
/// Lives are taken in the order of the list. A slot is free for an action whose
/// lane has run or awaited the action that released it; and for one that starts
/// after the simulated end of that action, since it loses no time if it awaits
/// it. If no slot is free, the pool gets one more: so the slots of a rank with
/// a cap never exceed the count of CopyWaits.h. `waits` are the waits of the
/// program without places. Without a complete simulation, times do not count.
/// O(lives * slots).
///
/// If micro-batches differ, `bytesOf` is the size of a life's buffer, and
/// assignRagged() places them: two buffers may overlap if one of them is free,
/// as above, for the action that takes the other.
Result<std::vector<NeededPool>>
assignCopySlots(const std::vector<Life> &lives,
                const std::vector<SlotSize> &sizes, const Problem &problem,
                const LaneWaits &waits, const ProgramSimulation &simulation,
                int32_t rank, Program &program,
                const std::function<int64_t(const Life &)> &bytesOf = nullptr);

} // namespace rondo

#endif // RONDO_LOWERING_COPYSLOTS_H
