//===- Measured.h - Traces, and what they are compared with ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_MEASURED_H
#define RONDO_TOOLS_DRIVER_MEASURED_H

#include "formats/timeline/Pictures.h"
#include "schedule/timeline/Measured.h"
#include "schedule/timeline/TimeUse.h"
#include "tools/driver/TimelineOutput.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::driver {

/// Maximum number of traces of a command.
inline constexpr size_t maxTraces = 4096;

/// Measured iterations of a program, from traces. Every failure of these
/// functions has been reported; they return the exit code.
struct MeasuredFiles {
  /// As it is named in messages.
  std::string name;
  MeasuredRun run;

  /// Reads the trace of a program, or traces of PyTorch's profiler by rank.
  int read(llvm::ArrayRef<std::string> paths);
  /// The only schedule that it names; else empty.
  std::string schedule() const;
  /// Whether an iteration names the schedule.
  bool has(llvm::StringRef schedule) const;
  /// Lays out iteration `number` (0: that of median time) next to its
  /// prediction. `schedule` as for timeline::chooseIteration().
  int layOut(const timeline::Panel &predicted, llvm::StringRef schedule,
             int64_t number, const MeasuredIteration *&iteration,
             timeline::Panel &panel) const;
};

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
  /// The iteration of a trace; null if there is no trace.
  const MeasuredIteration *iteration() const { return chosen; }
  /// Name of its times in texts.
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

#endif // RONDO_TOOLS_DRIVER_MEASURED_H
