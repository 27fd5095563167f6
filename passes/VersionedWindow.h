//===- VersionedWindow.h - What overlapping iterations read -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_VERSIONEDWINDOW_H
#define RONDO_PASSES_VERSIONEDWINDOW_H

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
  /// Of that order; nothing where it is more than the iterations that are under
  /// way at once, since a longer window would be needed to prove it.
  std::optional<int64_t> normDelay;
};
/// Fails where the schedule breaks a rule other than S5, without saying which.
/// Calls timeOrder() if the schedule clips by the norm of all gradients.
mlir::FailureOr<VersionedWindow> analyzeWindow(ScheduleOp schedule);
void timeOrder(VersionedWindow &window);

} // namespace rondo::pipe

#endif // RONDO_PASSES_VERSIONEDWINDOW_H
