//===- UnevenBounds.h - Bounds if micro-batches differ ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of bounds/ count equal micro-batches. These are their forms for
// micro-batches that differ; each is called by the argument of its name and
// proves 0 if it does not apply. They hold for all orders of micro-batches.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_UNEVENBOUNDS_H
#define RONDO_SCHEDULE_BOUNDS_UNEVENBOUNDS_H

#include "schedule/model/Problem.h"

namespace rondo {

/// LB1: the least head of a rank's tasks, its work, and the least tail.
int64_t unevenRankWork(const Problem &problem);
/// LB2: the longest path of any micro-batch.
int64_t unevenCriticalPath(const Problem &problem);
/// LB3: Jackson's preemptive schedule of the tasks of a rank or the messages of
/// a link, each with its own head, time and tail.
int64_t unevenJackson(const Problem &problem);
/// LB4: each micro-batch holds its bytes from F to W, which takes at least its
/// path to the last stage and back. All of that fits under the cap for as long
/// as the rank works. C1 with `copying`, the problem whose copies count: less
/// what copies can save (CopyAreas.h).
int64_t unevenMemory(const Problem &problem, const Problem *copying = nullptr);

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_UNEVENBOUNDS_H
