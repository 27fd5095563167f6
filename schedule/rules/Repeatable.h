//===- Repeatable.h - Orders of windows that a program repeats --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_RULES_REPEATABLE_H
#define RONDO_SCHEDULE_RULES_REPEATABLE_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <optional>

namespace rondo {

/// The order of a window, if it repeats and drains as runOf() drains it.
/// Otherwise the same order with that drain: stages in rounds end a window in
/// another order, however long it is. Nothing if the order does not repeat, or
/// if the other drain breaks a rule. As findRepetition().
std::optional<Schedule> repeatableOrder(const Problem &window,
                                        Schedule schedule);

} // namespace rondo

#endif // RONDO_SCHEDULE_RULES_REPEATABLE_H
