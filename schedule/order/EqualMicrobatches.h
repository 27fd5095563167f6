//===- EqualMicrobatches.h - Ranks that do the same for each ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_ORDER_EQUALMICROBATCHES_H
#define RONDO_SCHEDULE_ORDER_EQUALMICROBATCHES_H

#include "schedule/model/Schedule.h"

namespace rondo {

/// The actions of the first micro-batch of a rank that does the same for all of
/// them, one after the other, without messages: what it does for one needs
/// nothing of another. Empty where the rank is no such. O(actions).
ActionRange firstOfEqualMicrobatches(ActionRange actions, int32_t microbatches);

} // namespace rondo

#endif // RONDO_SCHEDULE_ORDER_EQUALMICROBATCHES_H
