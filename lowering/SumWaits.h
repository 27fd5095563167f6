//===- SumWaits.h - How long steps wait for sums of gradients ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where iterations overlap, a weight that several stages have makes them wait
// for each other: step t of each needs the sum of iteration t.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LOWERING_SUMWAITS_H
#define RONDO_LOWERING_SUMWAITS_H

#include "lowering/Lowering.h"

#include <optional>
#include <vector>

namespace rondo {

/// How long the step of a replica waits for a sum, once the run has settled.
struct StepWait {
  int32_t replica = 0;
  double meanNs = 0;
  int64_t maxNs = 0;
};

struct SumWait {
  /// Index into PlanFigures::collectives.
  size_t collective = 0;
  /// By how many iterations the sum would be late for the first of these
  /// replicas to step, if none waited: see lateness().
  std::optional<int64_t> iterations;
  /// By replica of the sum, in the program, with all that it waits for.
  std::vector<StepWait> steps;
};

/// For the sums of a schedule whose iterations overlap, in the window that
/// proves it; the norm is not one. `simulation` is the schedule's, complete and
/// with times. O(actions).
Result<std::vector<SumWait>> sumWaits(const PlanFigures &plan,
                                      const Problem &window,
                                      const Schedule &schedule,
                                      const Simulation &simulation);

} // namespace rondo

#endif // RONDO_LOWERING_SUMWAITS_H
