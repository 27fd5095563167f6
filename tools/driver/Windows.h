//===- Windows.h - Problems over several iterations -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_WINDOWS_H
#define RONDO_TOOLS_DRIVER_WINDOWS_H

#include "dialect/Pipe.h"
#include "schedule/model/Problem.h"
#include "tools/driver/Arguments.h"
#include "tools/driver/Session.h"

#include <string>
#include <vector>

namespace rondo::driver {

/// The options --iterations, --policy and --accounting.
struct WindowRequest {
  /// 0: as the problem has it.
  int64_t iterations = 0;
  /// A name of namedPolicies; empty: as the problem has it.
  std::string policy;
  /// Times in slots.
  bool inSlots = false;

  /// One iteration is meant; no others are reported.
  bool isSingle = false;
  /// As a program runs it: a backward of several micro-batches as one of each.
  bool asProgram = false;

  bool isEmpty() const { return iterations == 0 && policy.empty() && !inSlots; }
};

WindowRequest windowRequest(const Arguments &arguments);

/// Changes the problems as asked. Reports a fault of the first that cannot be;
/// returns the exit code.
int applyWindow(const WindowRequest &request, Session &session);

/// A note for each of the schedules whose iterations overlap, where only one is
/// looked at.
void noteOverlaps(llvm::ArrayRef<pipe::ScheduleOp> schedules,
                  const std::vector<Problem> &problems);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_WINDOWS_H
