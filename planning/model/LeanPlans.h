//===- LeanPlans.h - Plans that need little memory --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_LEANPLANS_H
#define RONDO_PLANNING_MODEL_LEANPLANS_H

#include "planning/model/PlanOffers.h"

namespace rondo {

/// If no plan fits: tries the plans that lack least, and those that need the
/// least memory by the rules of chains, with one micro-batch at a time, the
/// order that needs the least memory. What programs of this order lack is
/// exact.
void fitOneByOne(PlanOffers &offers);

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_LEANPLANS_H
