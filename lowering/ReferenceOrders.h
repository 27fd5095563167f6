//===- ReferenceOrders.h - Orders of reference and evaluation ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_REFERENCEORDERS_H
#define RONDO_LOWERING_REFERENCEORDERS_H

#include "schedule/program/Program.h"

namespace rondo {

/// The problem in which one rank runs all replicas, for which the sequential
/// reference is lowered. It has no memory cap.
Problem sequentialProblem(const Problem &problem);

/// [replica]: for a sharded stage, the number of micro-batches whose gradients
/// exist when each of its reductions runs; for other stages, empty.
using Units = std::vector<std::vector<int32_t>>;
Units unitsOf(const Problem &problem, const Schedule &schedule);

/// All replicas, one micro-batch after another: F in replica order, then B in
/// reverse order, with R before B if the replica recomputes. Weights of sharded
/// stages are gathered for each task. Gradients are reduced in the `units` of
/// the schedule that it is the reference of, so that the same sums are added.
/// `order` lists the micro-batches (Schedule::accumulation); empty: by index.
Schedule sequentialSchedule(const Problem &problem, const Units &units,
                            const std::vector<int32_t> &order = {});

/// Forward only, one micro-batch after another on every rank, so waiting for
/// the receivers of earlier micro-batches cannot deadlock.
Schedule evaluationSchedule(const Problem &problem);

} // namespace rondo

#endif // RONDO_LOWERING_REFERENCEORDERS_H
