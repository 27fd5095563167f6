//===- MeasuredFiles.h - Traces beside a plan -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_MEASUREDFILES_H
#define RONDO_TOOLS_DRIVER_MEASUREDFILES_H

#include "formats/timeline/Pictures.h"
#include "schedule/timeline/Measured.h"

#include <string>
#include <vector>

namespace rondo::driver {

/// As many traces as a command takes at most.
inline constexpr size_t maxTraces = 4096;

/// What traces say of a program's iterations. Every failure of these functions
/// has been reported; they return the exit code.
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
  /// Lays out iteration `number`, with 0 that of median time, beside what was
  /// predicted of it. `schedule` as for timeline::chooseIteration().
  int layOut(const timeline::Panel &predicted, llvm::StringRef schedule,
             int64_t number, const MeasuredIteration *&iteration,
             timeline::Panel &panel) const;
};

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_MEASUREDFILES_H
