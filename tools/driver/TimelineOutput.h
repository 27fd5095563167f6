//===- TimelineOutput.h - The schedules that a file and options name ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_TIMELINEOUTPUT_H
#define RONDO_TOOLS_DRIVER_TIMELINEOUTPUT_H

#include "formats/timeline/Pictures.h"
#include "tools/driver/Arguments.h"
#include "tools/driver/Windows.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::driver {

/// Simulated schedules of one problem.
class TimelineOutput {
public:
  /// `asProgram`: see WindowRequest.
  TimelineOutput(const Problem &problem, bool asProgram)
      : problem(problem), asProgram(asProgram) {}

  void add(const std::string &title, const Schedule &schedule,
           const Simulation &simulation);
  /// A schedule must keep the rules; fails with the one that it breaks.
  llvm::Error add(const std::string &title, const Schedule &schedule);
  llvm::Error addFamily(const std::string &text);

  const Problem problem;
  std::vector<timeline::Panel> panels;

private:
  const bool asProgram;
};

/// Reads the schedules that a command asks for, of a .mlir file or a
/// rondo-problem, by its options --schedule, --schedules, --family, --costs,
/// and --name. Without --schedule, `preferred` is the only one of a .mlir file
/// that is taken, if it is there; it may be empty. `window` is how many
/// iterations of a problem to take, if it states that. Every failure has been
/// reported; returns the exit code.
int readPictured(const Arguments &arguments, const std::string &path,
                 const WindowRequest &window, llvm::StringRef preferred,
                 std::optional<TimelineOutput> &pictured);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_TIMELINEOUTPUT_H
