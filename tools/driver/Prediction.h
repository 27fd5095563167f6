//===- Prediction.h - What a measurement is compared with -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_PREDICTION_H
#define RONDO_TOOLS_DRIVER_PREDICTION_H

#include "schedule/timeline/TimeUse.h"
#include "tools/driver/MeasuredFiles.h"
#include "tools/driver/TimelineOutput.h"

#include <optional>

namespace rondo::driver {

/// A schedule that is simulated, or one whose times a trace says: of
/// `rondo show`, or of another run of a program.
class Prediction {
public:
  /// Reads the file that a command names first: a .mlir file, a rondo-problem
  /// or a trace. A failure has been reported; returns the exit code.
  int read(const Arguments &arguments, const std::string &path,
           const MeasuredFiles &measured);

  const timeline::Panel &panel() const {
    return pictured ? pictured->panels.front() : *ofTrace;
  }
  /// Of a trace; else null.
  const MeasuredIteration *iteration() const { return chosen; }
  /// What its times are called.
  const char *word() const { return isOtherRun ? "other run" : "predicted"; }
  std::vector<TimeUse> use() const {
    return chosen ? timeUse(*chosen)
                  : timeUse(panel().problem, panel().timeline);
  }

private:
  int readTrace(const std::string &path, llvm::StringRef text,
                const MeasuredFiles &measured);

  std::optional<TimelineOutput> pictured;
  MeasuredRun run;
  const MeasuredIteration *chosen = nullptr;
  bool isOtherRun = false;
  std::optional<timeline::Panel> ofTrace;
};

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_PREDICTION_H
