//===- UnevenOrder.h - Families if micro-batches differ ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_FAMILIES_UNEVENORDER_H
#define RONDO_SCHEDULE_FAMILIES_UNEVENORDER_H

#include "schedule/families/Family.h"

namespace rondo {

/// generate() of a problem whose micro-batches differ. A family orders places,
/// by typical costs; the k-th place gets the k-th micro-batch of
/// FamilyChoice::order. Where a rank then exceeds its cap, F waits until it
/// fits.
FamilyResult generateUneven(const FamilyChoice &choice, const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_UNEVENORDER_H
