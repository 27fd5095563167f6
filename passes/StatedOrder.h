//===- StatedOrder.h - Orders that gather by themselves ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_STATEDORDER_H
#define RONDO_PASSES_STATEDORDER_H

#include "dialect/Bridge.h"
#include "schedule/gathers/PlaceGathers.h"

namespace rondo::pipe {

/// One of the numbers of `gathers`, as stated.
struct Stated {
  llvm::StringRef what;
  llvm::ArrayRef<int64_t> counts;
  int32_t Residency::*field;

  int32_t of(size_t rank) const {
    return static_cast<int32_t>(counts[counts.size() == 1 ? 0 : rank]);
  }
};

/// An order that moves state by itself must hold no more than `gathers` says.
/// O(actions * replicas).
mlir::LogicalResult checkStatedOrder(ScheduleOp schedule,
                                     const Problem &problem,
                                     const ExpandedSchedule &expanded,
                                     const Stated &weights,
                                     const Stated &gradients);

} // namespace rondo::pipe

#endif // RONDO_PASSES_STATEDORDER_H
