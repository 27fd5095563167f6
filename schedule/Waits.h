//===- Waits.h - Who waits for what -----------------------------*- C++ -*-===//
//
// Shared by the two simulators and the rules.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_WAITS_H
#define RONDO_SCHEDULE_WAITS_H

#include "schedule/Schedule.h"

namespace rondo {

/// What has been done of a stage's micro-batch, as bits.
enum Done : uint8_t { ForwardDone = 1, InputGradDone = 2 };

/// What the producer of an edge does: F, else I or B.
constexpr uint8_t doneBit(ActionKind producer) {
  return producer == ActionKind::Forward ? ForwardDone : InputGradDone;
}

/// Where `action` stands in an order, or the B that holds it where `action` is
/// an I; -1 where neither does. O(order).
int64_t findTask(ActionRange order, Action action);

/// `action`, or the B that findTask() finds for it.
Action asListed(ActionRange order, Action action);

/// The circle that a walk from `start` along `next` ends in; the whole walk
/// where it ends at a rank whose next is below 0, without that rank.
std::vector<int32_t> walkToCircle(const std::vector<int32_t> &next,
                                  int32_t start);

} // namespace rondo

#endif // RONDO_SCHEDULE_WAITS_H
