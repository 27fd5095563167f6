//===- Measured.h - Measured iterations as timelines ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_TIMELINE_MEASURED_H
#define RONDO_FORMATS_TIMELINE_MEASURED_H

#include "formats/timeline/Pictures.h"
#include "schedule/timeline/Measured.h"

namespace rondo::timeline {

/// Lays an iteration out like the schedule that it ran: its tasks, in the order
/// that was measured, its messages, and what tasks waited for. Where the
/// schedule fuses a backward, a measured I and W of it become a B. Fails where
/// the iteration is not of this schedule, with what differs.
Result<Timeline> layOutMeasured(const Panel &predicted,
                                const MeasuredIteration &iteration);

/// An iteration as the prediction of others of the same schedule: its tasks and
/// their times, in a problem that has nothing but ranks, stages and their
/// replicas. Fails where a stage or replica is missing, or on two ranks.
Result<Panel> panelOf(std::string title, std::string problem, int32_t numStages,
                      const MeasuredIteration &iteration);

/// The iteration of this number, or with 0 that of median duration among those
/// of the schedule; `schedule` may be empty. Null if there is none.
const MeasuredIteration *chooseIteration(const MeasuredRun &run,
                                         llvm::StringRef schedule,
                                         int64_t number);

} // namespace rondo::timeline

#endif // RONDO_FORMATS_TIMELINE_MEASURED_H
