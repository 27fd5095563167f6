//===- NormDelay.h - Delay of the norm of all gradients ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With overlapping iterations, stages step at different times. A step can then
// clip only by the gradient norm of an earlier iteration, whose gradients are
// complete on all stages. The delay follows from the order and its simulated
// times, never from measured times.
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

/// Whether gradients or steps compute the summands of a sum over stages.
enum class MadeBy : uint8_t { Gradients, Steps };

/// The smallest delay d such that, for all t, no step t + d of these replicas
/// has to wait for the sum over their gradients, or steps, of iteration t. The
/// sum takes `ns` after the last of them. The end of the window, where the
/// pipeline drains, is ignored. None if the window is too short. The window
/// must have all steps; `simulation` is the schedule's, complete and with
/// times. O(actions + iterations * d).
std::optional<int64_t> lateness(const Problem &problem,
                                const Schedule &schedule,
                                const Simulation &simulation,
                                const std::vector<int32_t> &replicas,
                                int64_t ns, MadeBy madeBy);

/// Time in ns to compute the norm once all stages have their summand: latency
/// to the rank of the first stage and back, over the slowest links.
int64_t normNs(const Problem &problem);

/// The delay of the norm of all gradients, see lateness(). 0: all gradients are
/// complete before any stage steps. From 1 on, the step of a stage computes its
/// summand.
std::optional<int64_t> normDelay(const Problem &problem,
                                 const Schedule &schedule,
                                 const Simulation &simulation);

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_NORMDELAY_H
