//===- ScheduleFiles.h - Schedules of a file for one problem ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_SCHEDULEFILES_H
#define RONDO_TOOLS_DRIVER_SCHEDULEFILES_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <string>
#include <vector>

namespace rondo::driver {

struct FileSchedule {
  /// Its family, or `schedule 0` by its place among those of the problem.
  std::string name;
  /// `file: line 3: `, for messages.
  std::string where;
  Schedule schedule;
  /// Steps clip by the norm of all gradients.
  bool clipsByNorm = false;
};

/// The schedules of a rondo-schedule file that name the problem; whether they
/// keep the rules is not asked. Having none is an error. Every failure has been
/// reported; returns the exit code.
int readSchedulesFor(const Problem &problem, const std::string &path,
                     std::vector<FileSchedule> &schedules);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_SCHEDULEFILES_H
