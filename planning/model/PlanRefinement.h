//===- PlanRefinement.h - Chunks, copies and less recomputation -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_PLANREFINEMENT_H
#define RONDO_PLANNING_MODEL_PLANREFINEMENT_H

#include "planning/model/PlanOffers.h"

#include <functional>
#include <vector>

namespace rondo {

/// Plans stages for micro-batches of `samples` with these layers kept, until a
/// part of the time has passed, and offers the result.
using Repropose = std::function<void(int64_t samples, const KeptLayers &layers,
                                     double until)>;

/// Offers the best plans in chunks, with copies, and with less recomputation.
/// Ends once `until`, a part of the time, has passed.
void refinePlans(PlanOffers &offers, double until, const Repropose &repropose);

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_PLANREFINEMENT_H
