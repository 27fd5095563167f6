//===- CheckedSchedules.h - Schedules that keep the rules -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_CHECKEDSCHEDULES_H
#define RONDO_PASSES_CHECKEDSCHEDULES_H

#include "dialect/Pipe.h"
#include "schedule/Schedule.h"

#include "llvm/ADT/DenseMap.h"

#include <utility>

namespace rondo::pipe {

/// The orders that pipe-verify-scheduled has expanded and found to keep all
/// rules, as an analysis of the module, so that what follows need not check
/// them again. A pass that changes a schedule or its plan must not preserve it.
class CheckedSchedules {
public:
  explicit CheckedSchedules(mlir::Operation *) {}

  void add(ScheduleOp op, Schedule schedule) {
    known[op] = std::move(schedule);
  }
  /// Null where nothing is known of it.
  const Schedule *of(ScheduleOp op) const {
    auto it = known.find(op);
    return it == known.end() ? nullptr : &it->second;
  }

private:
  llvm::DenseMap<mlir::Operation *, Schedule> known;
};

} // namespace rondo::pipe

#endif // RONDO_PASSES_CHECKEDSCHEDULES_H
