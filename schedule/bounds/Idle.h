//===- Idle.h - How long a rank must wait at both ends ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before a time t a rank can only run tasks that were released by then, and
// only as many F as the cap and the bytes freed by then allow to start. The
// rest of the time to t is idle. The same holds at the end: an activation whose
// I or W is still to run was held under the cap, or its F is still to run. If
// the rank copies to its host, bytes also return by SAVE, and an activation may
// still have to be loaded: as many as its lanes have time for (CopySupply).
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_IDLE_H
#define RONDO_SCHEDULE_BOUNDS_IDLE_H

#include "schedule/bounds/CopyAreas.h"

#include <vector>

namespace rondo {

enum class Side : uint8_t { Begin, End };

/// In the period from one side to some time, at most `work` runs and the rank
/// is idle for at least `idle`. At the end, time counts back from the
/// objective.
struct IdlePoint {
  int64_t work, idle;
};

/// Points with ascending `work` and strictly ascending `idle`; the first has no
/// work. The propagation must have estimated the empty state. Ignores times
/// after `latest`. `copies`: of SAVEs at the begin, of LOADs at the end. O(n
/// log n) of the rank's tasks.
std::vector<IdlePoint> idleOf(const FlatProblem &flat,
                              const Propagation &propagation, int32_t rank,
                              Side side, int64_t latest = never,
                              const CopySupply &copies = {});

/// The largest idle time of a period in which less than `work` runs. It is lost
/// at this side if `work` is still to run.
int64_t idleBeside(const std::vector<IdlePoint> &points, int64_t work);

/// Lower bound of the objective, for `microbatches` micro-batches: a rank's
/// work plus the idle time at both sides. The flat problem may have fewer: its
/// heads are those of the first ones, its tails those of the last ones.
/// `copying`: the problem whose copies count, or null.
int64_t idleBound(const FlatProblem &flat, const Propagation &propagation,
                  int64_t microbatches, const Problem *copying = nullptr);

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_IDLE_H
