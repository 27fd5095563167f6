//===- PlanProblem.h - A plan of a chain as a problem -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What evaluator `rondo` times: an iteration of a plan as the core simulates
// it. Device d is rank d, a stage on r devices has r replicas with an equal
// share of the samples each, in the order in which the plan lists its devices.
//
//   F, I, W    of the layers' sums, divided by r, at the speed of the replica's
//              own device; where a backward is not
//              given in parts, I is all of it
//   messages   a replica and each replica of the next stage that has samples in
//              common with it exchange these, over the link of the two devices
//              and the NICs that it crosses
//   steps      of a stage on several devices: its sum of gradients
//              (sumOverReplicasNs), behind the last backward of each device. It
//              takes no link and no NIC from the messages of other stages
//   memory     what state leaves of a device is for activations; W frees them,
//              or I where the stage has no W
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

/// The problem of a plan's iteration, which has passed check(); a fault where
/// the figures leave its range, or where the groups' sizes have no common
/// multiple up to `maxSamples`, into which a micro-batch could be cut.
/// O(devices^2) at worst.
Result<Problem> planProblem(const ChainProblem &problem, const ChainPlan &plan);

/// An order of tasks with the step of every replica behind its last task. Needs
/// a problem of planProblem() and a schedule without steps. O(actions).
Schedule withSteps(const Problem &problem, const Schedule &schedule);

} // namespace rondo

#endif // RONDO_PLANNING_SCHEDULED_PLANPROBLEM_H
