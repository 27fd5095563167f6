//===- Versions.h - Which weights a task reads ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Versions are not part of an action: they follow from the order. A stage's
// weights have version 0 when the window begins, and each of its optimizer
// steps makes the next one. The weights of a version are in slot slotOf[version
// % period] of their place.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_VERSIONS_H
#define RONDO_SCHEDULE_VERSIONS_H

#include "schedule/Problem.h"
#include "schedule/Schedule.h"

#include <vector>

namespace rondo {

/// By position in the order's array: the version that a task reads, the one
/// that a step writes, -1 for all others. Every stage of the order must be one
/// of the problem. O(actions).
std::vector<int32_t> weightVersions(const Problem &problem,
                                    const Schedule &order);

} // namespace rondo

#endif // RONDO_SCHEDULE_VERSIONS_H
