//===- CheckedSchedules.h - Schedules that keep the rules -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_CHECKEDSCHEDULES_H
#define RONDO_PASSES_CHECKEDSCHEDULES_H

#include "dialect/Pipe.h"
#include "schedule/model/Schedule.h"
#include "schedule/simulate/Simulator.h"

#include "llvm/ADT/DenseMap.h"

#include <utility>

namespace rondo::pipe {

/// A schedule that keeps all rules, and how it runs: with its times until its
/// messages have been placed.
struct CheckedSchedule {
  Schedule schedule;
  Simulation simulation;

  bool hasTimes() const { return !simulation.endNs.empty(); }
};

/// Those that pipe-verify-scheduled has expanded, as an analysis of the module,
/// so that what follows need neither check nor simulate them again. A pass that
/// changes a schedule or its plan must not preserve it.
class CheckedSchedules {
public:
  explicit CheckedSchedules(mlir::Operation *) {}

  void add(ScheduleOp op, CheckedSchedule schedule) {
    known[op] = std::move(schedule);
  }
  /// Null where nothing is known of it.
  const CheckedSchedule *of(ScheduleOp op) const {
    auto it = known.find(op);
    return it == known.end() ? nullptr : &it->second;
  }
  /// Times are long, and needed no more.
  void forgetTimes(ScheduleOp op) {
    auto it = known.find(op);
    if (it == known.end())
      return;
    Simulation &simulation = it->second.simulation;
    simulation.startNs = std::vector<int64_t>();
    simulation.endNs = std::vector<int64_t>();
  }

private:
  llvm::DenseMap<mlir::Operation *, CheckedSchedule> known;
};

} // namespace rondo::pipe

#endif // RONDO_PASSES_CHECKEDSCHEDULES_H
