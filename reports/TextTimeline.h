//===- TextTimeline.h - A schedule over time, as text -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_REPORTS_TEXTTIMELINE_H
#define RONDO_REPORTS_TEXTTIMELINE_H

#include "schedule/timeline/Timeline.h"

#include <string>

namespace rondo {

/// A row per rank, time to the right, at most `width` columns. A task is its
/// letter and micro-batch, with the stage first if the rank has several, padded
/// with '-'; just the letter if there is no room; '.' is idle time. With more
/// than 64 ranks, the first and last 32 are shown. `color` uses ANSI colours by
/// letter.
std::string renderTimeline(const Problem &problem, const Timeline &timeline,
                           int width, bool color);

} // namespace rondo

#endif // RONDO_REPORTS_TEXTTIMELINE_H
