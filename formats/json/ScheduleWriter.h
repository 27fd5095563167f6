//===- ScheduleWriter.h - Schedule to rondo-schedule ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_SCHEDULEWRITER_H
#define RONDO_FORMATS_JSON_SCHEDULEWRITER_H

#include "schedule/simulate/Simulator.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace rondo::json {

/// The result of a search of a window, for a long run of its schedule.
struct IterationRecord {
  /// `iterations` iterations add `ns` to a settled run, exactly or on average.
  int64_t ns = 0, iterations = 1;
  bool isExact = false;
  /// The bound of one iteration, and whether it is reached.
  int64_t lowerBoundNs = 0;
  bool isOptimal = false;
  /// The name of the policy; empty: what the problem states.
  llvm::StringRef policy;
  /// [rank]: activations and versions of the weights.
  llvm::ArrayRef<int64_t> heldBytes;
};

/// A point of the curve of `rondo search --pareto`: a bound for schedules
/// within a cap, which the schedule keeps.
struct CapRecord {
  int64_t capBytes = 0, lowerBoundNs = 0;
  llvm::StringRef bound;
  bool provenOptimal = false;
};

/// The result of the search that found a schedule.
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
  /// `mean` or `p95` if a robust schedule was asked for, with the number of
  /// samples and the figure; the figure is left out if there was no time to
  /// sample it.
  llvm::StringRef robust;
  int64_t samples = 0, jitterPercent = 0;
  std::optional<int64_t> robustNs;
  std::optional<IterationRecord> iteration;
  std::optional<CapRecord> cap;
};

/// The result of a comparison, in addition to the schedule's figures.
struct ComparisonRecord {
  int64_t lowerBoundNs = 0;
  llvm::StringRef bound;
  /// The time that the iteration takes longer than with free communication,
  /// with a queue per pair of ranks and with one queue per rank; left out if
  /// unknown.
  std::optional<int64_t> exposedNs, exposedInOneQueueNs;
};

/// Writes a schedule with its figures on one line, without a newline, action by
/// action; in version 2 if it has steps. `simulation` must be complete.
/// `family` says how the schedule was made, such as `kfkb:k=2`; left out if
/// empty. `search` and `comparison` are left out if null; the search's bound
/// takes precedence. `overlap` has pairs of tasks that follow each other.
/// `clipsByNorm`: steps of iterations that overlap clip by the norm of all
/// gradients.
void writeSchedule(llvm::raw_ostream &os, const Problem &problem,
                   const Schedule &schedule, const Simulation &simulation,
                   llvm::StringRef family, const SearchRecord *search = nullptr,
                   const ComparisonRecord *comparison = nullptr,
                   llvm::ArrayRef<std::pair<Action, Action>> overlap = {},
                   bool clipsByNorm = false);

/// Writes that a problem has no schedule, and why.
void writeInfeasible(llvm::raw_ostream &os, const Problem &problem,
                     llvm::StringRef why);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_SCHEDULEWRITER_H
