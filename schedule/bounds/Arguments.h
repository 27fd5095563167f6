//===- Arguments.h - The arguments of this folder ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_BOUNDS_ARGUMENTS_H
#define RONDO_SCHEDULE_BOUNDS_ARGUMENTS_H

#include "schedule/bounds/Bounds.h"
#include "schedule/partial/FlatProblem.h"

namespace rondo {

BoundArgument rankWork();
BoundArgument criticalPath();
BoundArgument jacksonBound();
BoundArgument memoryPrecedence();
BoundArgument oneRank();
BoundArgument timeWindows();
BoundArgument pricedPaths();
BoundArgument exhaustedOrders();

/// For stages that may copy to their hosts.
BoundArgument copiedBytes();

// G1, G3 and G2, for sharded stages.
BoundArgument gathersOfOneRank();
BoundArgument pathOfGathers();
BoundArgument workAfterGathers();

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_ARGUMENTS_H
