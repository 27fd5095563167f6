//===- Offload.h - Copies for the order of a family -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds SAVE and LOAD to an order without copies, by its simulated times. The
// tasks keep their order.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_TRANSFORMS_OFFLOAD_H
#define RONDO_SCHEDULE_TRANSFORMS_OFFLOAD_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <cstdint>

namespace rondo {

struct OffloadOptions {
  /// Which micro-batches are copied. All: every one for which its lanes have
  /// time. Fit: the fewest bytes with which the caps hold.
  enum class Pairs : uint8_t { All, Fit } pairs = Pairs::All;
  /// Only stages that are among the first `chunks` of their rank: in an
  /// interleaved order, the ones that hold activations the longest. 0: all.
  int32_t chunks = 0;
};

/// The order with copies. A micro-batch of a stage is a candidate if the time
/// from the end of its F to the start of the task that needs it is at least
/// that of SAVE and LOAD. SAVEs run in the order of the ends of F, each as
/// early as its lane allows; LOADs from the last one backwards, each as late as
/// its task allows. Where lanes do not keep up, the candidates with the least
/// time away per copy are left out. Each copy is listed where its bytes are
/// needed.
///
/// The result keeps rules S3, S10 and S11, and S5 if the caps allow it. Ties of
/// shared host links are not resolved: a copy may take longer than planned.
/// Preconditions: the schedule has no copies and runs to its end.
/// O(pairs^2 + actions * log(actions)).
Schedule withCopies(const Problem &problem, const Schedule &schedule,
                    const OffloadOptions &options);

} // namespace rondo

#endif // RONDO_SCHEDULE_TRANSFORMS_OFFLOAD_H
