//===- row_numbers.h - Numbers of the rows of a batch -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replicas in round_robin take the micro-batches in turn. So the numbers of the
// rows of a batch decide which replica takes which row, and the order in which
// gradients are added.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_SEARCH_ROW_NUMBERS_H
#define RONDO_RUNTIME_SEARCH_ROW_NUMBERS_H

#include "schedule/model/Problem.h"

#include <vector>

namespace rondo::runtime {

/// [number]: the micro-batch of `problem` that gets it. Up to `maxOrders` of
/// these, first the ones with the shortest constructed schedule that a local
/// search has found, each with another time of it. `effort`: in units of
/// 1,000 tasks; the result depends on no clock. Precondition: micro-batches
/// differ, and some stage is in round_robin.
std::vector<std::vector<int32_t>> numberRows(const Problem &problem,
                                             int64_t effort);
inline constexpr size_t maxOrders = 4;

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_SEARCH_ROW_NUMBERS_H
