//===- ScheduleWriter.h - Schedule to rondo-schedule/1 ----------*- C++ -*-===//

#ifndef RONDO_CODEGEN_JSON_SCHEDULEWRITER_H
#define RONDO_CODEGEN_JSON_SCHEDULEWRITER_H

#include "schedule/Simulator.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

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
};

/// Writes a schedule of tasks with its figures on one line, without a line end,
/// action by action. `simulation` is complete. `family` is how the schedule was
/// made, such as `kfkb:k=2`; left out where empty. `search` is left out where
/// there was none.
void writeSchedule(llvm::raw_ostream &os, const Problem &problem,
                   const Schedule &schedule, const Simulation &simulation,
                   llvm::StringRef family,
                   const SearchRecord *search = nullptr);

/// Writes that a problem has no schedule, and why.
void writeInfeasible(llvm::raw_ostream &os, const Problem &problem,
                     llvm::StringRef why);

} // namespace rondo::json

#endif // RONDO_CODEGEN_JSON_SCHEDULEWRITER_H
