//===- Timeline.h - A schedule in time, as text -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_TIMELINE_H
#define RONDO_TOOLS_DRIVER_TIMELINE_H

#include "schedule/Simulator.h"

#include <string>

namespace rondo::driver {

/// A row for each rank, time to the right, at most `width` columns. A task is
/// its letter and micro-batch, with the stage in front where the rank has
/// several, filled up with '-'; the letter alone where there is no room; '.' is
/// idle time. Of more than 64 ranks the first and last 32 are shown. With
/// `color`, ANSI colours by letter. `simulation` is complete and has times.
std::string renderTimeline(const Problem &problem, const Schedule &schedule,
                           const Simulation &simulation, int width, bool color);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_TIMELINE_H
