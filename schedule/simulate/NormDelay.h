//===- NormDelay.h - How late the norm of all gradients is ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where iterations overlap, stages step at different times. A step can clip by
// the norm of all gradients only if it takes that of an earlier iteration,
// whose gradients all stages have. How much earlier follows from the order and
// its simulated times, never from the clock of a run.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SIMULATE_NORMDELAY_H
#define RONDO_SCHEDULE_SIMULATE_NORMDELAY_H

#include "schedule/model/Problem.h"
#include "schedule/simulate/Simulator.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace rondo {

/// What the parts of something that stages add up to are made by.
enum class MadeBy : uint8_t { Gradients, Steps };

/// The least d such that step t + d of none of these replicas waits for what
/// their gradients, or steps, of iteration t add up to, which takes `ns`. The
/// end of the window, where the pipeline drains, does not count. Nothing where
/// the window is too short to tell. The window has all steps; `simulation` is
/// the schedule's, complete and with times. O(actions + iterations * d).
std::optional<int64_t> lateness(const Problem &problem,
                                const Schedule &schedule,
                                const Simulation &simulation,
                                const std::vector<int32_t> &replicas,
                                int64_t ns, MadeBy madeBy);

/// How long the norm takes once all stages have their part, in ns: to the rank
/// of the first stage and back, over the slowest links.
int64_t normNs(const Problem &problem);

/// The lateness of the norm of all gradients. With 0, all gradients are there
/// before any stage steps; from 1 on, a stage's part is made by its step.
std::optional<int64_t> normDelay(const Problem &problem,
                                 const Schedule &schedule,
                                 const Simulation &simulation);

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_NORMDELAY_H
