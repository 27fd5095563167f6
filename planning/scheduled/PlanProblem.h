//===- PlanProblem.h - A plan of a chain as a problem -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The problem that evaluator `rondo` times: an iteration of a plan as the core
// simulates it. Device d is rank d. A stage on r devices has r replicas with
// equal shares of the samples, in the order in which the plan lists its
// devices.
//
//   F, I, W    sums over the layers, divided by r, at the speed of the
//              replica's own device; if a backward is not split, I is all of it
//   messages   a replica and each replica of the next stage exchange the
//              samples that both have, over the link of the two devices and the
//              NICs that it crosses
//   steps      of a stage on several devices: its sum of gradients
//              (sumOverReplicasNs), after the last backward of each device. It
//              occupies no link or NIC of other stages' messages
//   memory     a device's memory less its state is for activations; W frees
//              them, or I if the stage has no W
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_SCHEDULED_PLANPROBLEM_H
#define RONDO_PLANNING_SCHEDULED_PLANPROBLEM_H

#include "planning/chain/ChainCosts.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

namespace rondo {

/// The most micro-batches times devices that are simulated.
inline constexpr int64_t maxScheduledTasks = int64_t(1) << 20;

/// The problem of a plan's iteration, which has passed check(). A fault if
/// figures are out of range, or if the groups' sizes have no common multiple up
/// to `maxSamples`, into which a micro-batch could be divided. O(devices^2) at
/// worst.
Result<Problem> planProblem(const ChainProblem &problem, const ChainPlan &plan);

/// An order of tasks with the step of every replica after its last task. Needs
/// a problem of planProblem() and a schedule without steps. O(actions).
Schedule withSteps(const Problem &problem, const Schedule &schedule);

} // namespace rondo

#endif // RONDO_PLANNING_SCHEDULED_PLANPROBLEM_H
