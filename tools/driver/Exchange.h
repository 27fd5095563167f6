//===- Exchange.h - Schedules of files of other formats -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_EXCHANGE_H
#define RONDO_TOOLS_DRIVER_EXCHANGE_H

#include "formats/exchange/Exchange.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"

namespace rondo::driver {

// Every failure has been printed. Functions that return an exit code return
// Success where they did their work.

/// The row of a table of formats that `kind` names.
template <typename Format>
const Format *findFormat(llvm::ArrayRef<Format> formats, llvm::StringRef kind) {
  for (const Format &format : formats)
    if (kind == format.name)
      return &format;
  return nullptr;
}

/// Reports options that are given, are of some formats, and not of this one.
template <typename Format>
int checkFormatOptions(const Arguments &arguments,
                       llvm::ArrayRef<Format> formats, const Format &format) {
  for (const Format &other : formats)
    for (llvm::StringRef option : other.options)
      if (arguments.has(option) &&
          llvm::none_of(format.options,
                        [&](llvm::StringRef each) { return each == option; }))
        return reportUsage("--" + option + " is not for " + format.name);
  return Success;
}

/// Reads --torch.
int readTorchVersion(const Arguments &arguments,
                     const exchange::TorchVersion *&version);

/// The problem of a file that `name` names, or the only one where it is empty.
int readProblem(const std::string &path, const std::string &name,
                Problem &problem);

/// One schedule of a rondo-schedule file: that of `line`, or the only one where
/// it is 0. `problemPath` may be empty.
int readScheduleFile(const std::string &path, int64_t line,
                     const std::string &problemPath,
                     exchange::ExchangedSchedule &schedule);

/// A file of plans, and what a command takes of it.
struct PlanSource {
  Session session;
  /// The schedules that --schedule names.
  llvm::SmallVector<pipe::ScheduleOp, 0> chosen;
  /// Null if the input is no such file, or only its layers are read.
  pipe::ScheduleOp schedule;
  /// Null if the input is no such file.
  pipe::PlanOp plan;

  /// `name` lists schedules; all if it is empty.
  int read(const std::string &path, const std::string &name,
           const std::string &costsPath);
  /// The problem of `plan`.
  const Problem &problem();
  /// Reports a failure of an exporter at the stage that it concerns, else at
  /// the schedule or the plan, else of the file `path`.
  int reportError(const std::string &path, const Fault &fault);
};

/// One schedule of a .mlir file: that of `name`, or the only one where it is
/// empty. Generates and searches it if it has no body yet. If its iterations
/// overlap, which is an error unless `takesWindows`, the problem is the window
/// in which its order is proved.
int readScheduleOfModule(const std::string &path, const std::string &name,
                         const std::string &costsPath, bool takesWindows,
                         PlanSource &source,
                         exchange::ExchangedSchedule &schedule);

/// The layers of the stages of a plan in a .mlir file: the plan of schedule
/// `name`, or the only one where it is empty. The schedule stays empty.
int readLayersOfModule(const std::string &path, const std::string &name,
                       const std::string &costsPath, PlanSource &source,
                       exchange::ExchangedSchedule &schedule);

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

#endif // RONDO_TOOLS_DRIVER_EXCHANGE_H
