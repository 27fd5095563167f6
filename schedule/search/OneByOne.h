//===- OneByOne.h - The order that needs the least memory -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_ONEBYONE_H
#define RONDO_SCHEDULE_SEARCH_ONEBYONE_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

namespace rondo {

/// Whether B of a stage takes less time than its I and W.
bool hasCheaperBackward(const Problem &problem, int32_t stage);
/// Whether that holds for any stage.
bool hasCheaperBackward(const Problem &problem);

/// Every rank ends a micro-batch before it starts the next, which needs the
/// least memory of all orders; findShortfall() relies on it. Uses B where that
/// is cheaper. O(tasks).
Schedule oneByOne(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_ONEBYONE_H
