//===- ScheduleWriter.h - Schedule to rondo-schedule/1 ----------*- C++ -*-===//

#ifndef RONDO_CODEGEN_JSON_SCHEDULEWRITER_H
#define RONDO_CODEGEN_JSON_SCHEDULEWRITER_H

#include "schedule/Simulator.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace rondo::json {

/// Writes a schedule of tasks with its figures on one line, without a line end,
/// action by action. `simulation` is complete. `family` is how the schedule was
/// made, such as `kfkb:k=2`; left out where empty.
void writeSchedule(llvm::raw_ostream &os, const Problem &problem,
                   const Schedule &schedule, const Simulation &simulation,
                   llvm::StringRef family);

/// Writes that a problem has no schedule, and why.
void writeInfeasible(llvm::raw_ostream &os, const Problem &problem,
                     llvm::StringRef why);

} // namespace rondo::json

#endif // RONDO_CODEGEN_JSON_SCHEDULEWRITER_H
