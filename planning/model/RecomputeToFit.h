//===- RecomputeToFit.h - Recompute what memory asks for --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_RECOMPUTETOFIT_H
#define RONDO_PLANNING_MODEL_RECOMPUTETOFIT_H

#include "planning/model/ModelPlans.h"
#include "planning/model/PlanTrial.h"

#include <optional>
#include <vector>

namespace rondo {

/// The chain of a model for one size of micro-batches, without recomputation
/// and with all that is worthwhile (ModelSpace::mayRecompute).
struct RecomputeCosts {
  ChainProblem kept, recomputed;
};

/// A plan with more layers recomputed, for one whose schedules do not fit. Of
/// these, follows the one that is still fastest with them. In each group that
/// lacks memory, recomputes layers until their activations, of as many
/// micro-batches as the schedule has in flight there, are as large as what is
/// lacking: first the layers that the model runs first, since these hold theirs
/// longest. A plan that recomputes may need more memory elsewhere, so it may
/// have misfits too. Nothing if recomputation cannot help, or if no plan would
/// take less than `ceilingNs`. O(layers * misfits).
std::optional<ModelPlan> recomputeMore(const ModelPlan &plan,
                                       const std::vector<Misfit> &misfits,
                                       const RecomputeCosts &costs,
                                       int64_t ceilingNs);

/// The same groups in chunks (inChunks()), with the first layers recomputed and
/// the others kept: of a few numbers of them, the one that leaves the busiest
/// rank the least work. A layer holds its activations as long as a micro-batch
/// takes through all later layers and back, `slack` times. Nothing if nothing
/// fits.
std::optional<ModelPlan> inChunksThatFit(const ModelPlan &groups,
                                         const RecomputeCosts &costs,
                                         ChunkPlacing placing, double slack);

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_RECOMPUTETOFIT_H
