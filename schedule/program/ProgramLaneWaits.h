//===- ProgramLaneWaits.h - Waits between the lanes of programs -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_PROGRAM_PROGRAMLANEWAITS_H
#define RONDO_SCHEDULE_PROGRAM_PROGRAMLANEWAITS_H

#include "schedule/program/Program.h"
#include "schedule/simulate/CopyLanes.h"

namespace rondo {

/// The waits of a program whose stages copy, which follow from its order and
/// its places alone: those of its tasks and copies
/// (schedule/order/CopyWaits.h), and, of an action that takes a slot, for the
/// action on another lane that has released it last. Slots of buffers that
/// copies read or write have no other buffers. Each lane awaits an action once.
/// Empty if the program has no copies. Preconditions: rules L1 and S10.
/// O(actions).
LaneWaits laneWaitsOf(const Problem &problem, const Program &program);

} // namespace rondo

#endif // RONDO_SCHEDULE_PROGRAM_PROGRAMLANEWAITS_H
