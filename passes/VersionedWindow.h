//===- VersionedWindow.h - What overlapping iterations read -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_VERSIONEDWINDOW_H
#define RONDO_PASSES_VERSIONEDWINDOW_H

#include "dialect/Pipe.h"
#include "schedule/DelayTable.h"

namespace rondo::pipe {

/// A schedule whose iterations overlap, in the window that proves it.
struct VersionedWindow {
  Problem problem;
  Schedule schedule;
  /// The order as the program runs it, with times.
  Schedule order;
  Simulation times;
  VersionAnalysis versions;
  DelayTable delays;
  /// Of that order; nothing where it is more than the iterations that are under
  /// way at once, since a longer window would be needed to prove it.
  std::optional<int64_t> normDelay;
};
/// Fails where the schedule breaks a rule, without saying which.
mlir::FailureOr<VersionedWindow> analyzeWindow(ScheduleOp schedule);

} // namespace rondo::pipe

#endif // RONDO_PASSES_VERSIONEDWINDOW_H
