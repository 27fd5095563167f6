//===- CheckedSchedule.h - A schedule's order, checked ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANS_CHECKEDSCHEDULE_H
#define RONDO_PLANS_CHECKEDSCHEDULE_H

#include "dialect/Bridge.h"
#include "schedule/simulate/Simulator.h"

#include "mlir/Pass/AnalysisManager.h"

#include <optional>

namespace rondo::pipe {

/// The analysis of a pipe.schedule: its order as a value, the first of the
/// rules S1 to S12 that it breaks, and how it runs. Verifying, lowering and
/// predicting share one expansion and one simulation. A pass that changes the
/// schedule, its plan, its model or its cluster must not preserve it.
class CheckedSchedule {
public:
  /// Emits an error if the op has no order.
  CheckedSchedule(mlir::Operation *op, mlir::AnalysisManager &analyses);

  /// Whether the op has an order; if not, the members below are empty.
  bool isReadable() const { return readable; }
  /// The problem in which the schedule is judged.
  const Problem &problem() const { return judged; }
  const Schedule &order() const { return schedule; }
  /// The rule that the order breaks, if any; simulation() is then unknown.
  const std::optional<Fault> &fault() const { return broken; }
  /// With times.
  const Simulation &simulation() const { return times; }
  /// Reports fault() at the ops that break the rule.
  mlir::InFlightDiagnostic emitFault() const;

private:
  std::optional<Fault> findFault(mlir::AnalysisManager &analyses);

  ScheduleOp op;
  bool readable = false;
  Problem judged;
  Schedule schedule;
  Simulation times;
  std::optional<Fault> broken;
};

} // namespace rondo::pipe

#endif // RONDO_PLANS_CHECKEDSCHEDULE_H
