//===- ReferenceOrders.h - What references and evaluations run --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_REFERENCEORDERS_H
#define RONDO_LOWERING_REFERENCEORDERS_H

#include "schedule/program/Program.h"

namespace rondo {

/// The problem in which one rank runs all replicas; what the sequential
/// reference is lowered for. It has no memory cap.
Problem sequentialProblem(const Problem &problem);

/// Of each replica of a sharded stage: how many micro-batches its gradients are
/// of when each reduction adds them; for the others, nothing.
using Units = std::vector<std::vector<int32_t>>;
Units unitsOf(const Problem &problem, const Schedule &schedule);

/// Micro-batch after micro-batch through all replicas: F in replica order, then
/// B in reverse, R in front of it where the replica recomputes. Weights of
/// sharded stages are gathered for each task; gradients are reduced in the
/// `units` of the schedule that it is the reference of, so that the same sums
/// are added.
Schedule sequentialSchedule(const Problem &problem, const Units &units);

/// Forward only, micro-batch after micro-batch on every rank: so a rank may
/// wait for the receivers of earlier micro-batches without a circle.
Schedule evaluationSchedule(const Problem &problem);

} // namespace rondo

#endif // RONDO_LOWERING_REFERENCEORDERS_H
