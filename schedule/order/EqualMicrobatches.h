//===- EqualMicrobatches.h - Ranks with equal micro-batches -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_ORDER_EQUALMICROBATCHES_H
#define RONDO_SCHEDULE_ORDER_EQUALMICROBATCHES_H

#include "schedule/model/Schedule.h"

namespace rondo {

/// The actions of the first micro-batch of a rank that runs the same tasks for
/// every micro-batch, one micro-batch after another and without messages. Then
/// no micro-batch depends on another. Empty if the rank's order differs from
/// this. O(actions).
ActionRange firstOfEqualMicrobatches(ActionRange actions, int32_t microbatches);

} // namespace rondo

#endif // RONDO_SCHEDULE_ORDER_EQUALMICROBATCHES_H
