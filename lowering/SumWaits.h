//===- SumWaits.h - How long steps wait for sums of gradients ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If iterations overlap, stages that share a tied weight wait for each other:
// step t of each needs the sum of iteration t.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LOWERING_SUMWAITS_H
#define RONDO_LOWERING_SUMWAITS_H

#include "lowering/Lowering.h"

#include <optional>
#include <vector>

namespace rondo {

/// Time that a replica's step waits for a sum, in ns, in the settled part of
/// the run.
struct StepWait {
  int32_t replica = 0;
  double meanNs = 0;
  int64_t maxNs = 0;
};

struct SumWait {
  /// Index into PlanFigures::collectives.
  size_t collective = 0;
  /// Iterations by which the sum would be late for the first of these replicas
  /// that steps, if none waited: see lateness().
  std::optional<int64_t> iterations;
  /// Indexed by replica of the sum: waits in the program, with all its other
  /// waits.
  std::vector<StepWait> steps;
};

/// Waits for the sums of a schedule whose iterations overlap, in the window
/// that proves it; without the gradient norm. `simulation` is that of the
/// schedule, complete and with times. O(actions).
Result<std::vector<SumWait>> sumWaits(const PlanFigures &plan,
                                      const Problem &window,
                                      const Schedule &schedule,
                                      const Simulation &simulation);

} // namespace rondo

#endif // RONDO_LOWERING_SUMWAITS_H
