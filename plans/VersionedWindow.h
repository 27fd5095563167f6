//===- VersionedWindow.h - Versions in overlapping iterations ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANS_VERSIONEDWINDOW_H
#define RONDO_PLANS_VERSIONEDWINDOW_H

#include "dialect/Pipe.h"
#include "schedule/simulate/DelayTable.h"

namespace rondo::pipe {

/// A schedule whose iterations overlap, in the window that proves it.
struct VersionedWindow {
  Problem problem;
  Schedule schedule;
  /// Iterations that are under way at once.
  int64_t underWay = 1;
  // From timeOrder().
  /// The order as the program runs it, with times.
  Schedule order;
  Simulation times;
  VersionAnalysis versions;
  DelayTable delays;
  /// Delay of the norm in that order; nothing if it exceeds the iterations that
  /// are under way at once, since only a longer window would prove it.
  std::optional<int64_t> normDelay;
};
/// Fails where the schedule breaks a rule other than S5, without saying which.
/// Calls timeOrder() if the schedule clips by the norm of all gradients.
mlir::FailureOr<VersionedWindow> analyzeWindow(ScheduleOp schedule);
void timeOrder(VersionedWindow &window);

} // namespace rondo::pipe

#endif // RONDO_PLANS_VERSIONEDWINDOW_H
