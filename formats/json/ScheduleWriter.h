//===- ScheduleWriter.h - Schedule to rondo-schedule/1 ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_SCHEDULEWRITER_H
#define RONDO_FORMATS_JSON_SCHEDULEWRITER_H

#include "schedule/Simulator.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace rondo::json {

/// What a search says about a schedule that it found.
struct SearchRecord {
  int64_t lowerBoundNs = 0;
  /// The bound's name, such as `L5`.
  llvm::StringRef bound;
  bool provenOptimal = false;
  uint64_t seed = 0;
  int64_t effort = 0;
  double seconds = 0;
  /// `time`, `optimal`, `exhausted` or `interrupted`.
  llvm::StringRef stopped;
  /// `mean` or `p95` where a robust schedule was asked for, with the samples
  /// and the figure; the figure is left out where time did not allow sampling
  /// it.
  llvm::StringRef robust;
  int64_t samples = 0, jitterPercent = 0;
  std::optional<int64_t> robustNs;
};

/// What a comparison says about a schedule beyond its figures.
struct ComparisonRecord {
  int64_t lowerBoundNs = 0;
  llvm::StringRef bound;
  /// By how much the iteration is longer than with free communication, with a
  /// queue for each pair of ranks and with one queue a rank; left out where not
  /// known.
  std::optional<int64_t> exposedNs, exposedInOneQueueNs;
};

/// Writes a schedule of tasks with its figures on one line, without a line end,
/// action by action. `simulation` is complete. `family` is how the schedule was
/// made, such as `kfkb:k=2`; left out where empty. `search` and `comparison`
/// are left out where there was none; the search's bound goes first.
void writeSchedule(llvm::raw_ostream &os, const Problem &problem,
                   const Schedule &schedule, const Simulation &simulation,
                   llvm::StringRef family, const SearchRecord *search = nullptr,
                   const ComparisonRecord *comparison = nullptr);

/// Writes that a problem has no schedule, and why.
void writeInfeasible(llvm::raw_ostream &os, const Problem &problem,
                     llvm::StringRef why);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_SCHEDULEWRITER_H
