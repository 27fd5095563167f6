//===- SteadyOrder.h - Orders that repeat each period -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If stages are placed irregularly, no family applies, and micro-batches that
// wait for each other at every stage hold memory for twice the path of one.
// Orders by timetables (Timetable.h) leave out these waits. A random search
// varies how the timetables are made.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_MODEL_STEADYORDER_H
#define RONDO_PLANNING_MODEL_STEADYORDER_H

#include "schedule/search/Search.h"

namespace rondo {

/// The time of an iteration by the best of a few such orders of a chain with
/// one replica a stage, with a loss if it exceeds caps; infinity if there is
/// none.
double steadyEstimateNs(const Problem &problem, const SearchOptions &options);

/// Searches an order of such a chain, like search(), but only among orders that
/// repeat each period. O(tasks) for each order that it times.
SearchResult searchSteady(const Problem &problem, const SearchOptions &options);

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_STEADYORDER_H
