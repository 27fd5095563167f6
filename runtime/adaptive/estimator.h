//===- estimator.h - How long each schedule would take now ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_ADAPTIVE_ESTIMATOR_H
#define RONDO_RUNTIME_ADAPTIVE_ESTIMATOR_H

#include "runtime/adaptive/link_estimate.h"
#include "runtime/adaptive/program_values.h"

#include <vector>

namespace rondo::runtime {

/// What the last iterations of a program have shown.
struct Measurements {
  /// Its micro-batches; programs with the same have the same costs.
  int32_t microbatches = 0, samples = 0;
  /// [home * numCostColumns + costColumn(kind)], the median in ns; 0: not
  /// measured.
  std::vector<int64_t> workNs;
  /// Of links that have carried messages.
  std::vector<LinkEstimate> links;
};

/// Times schedules by the core's simulator, with costs and links as last
/// measured. Costs of a size of micro-batches that has not run yet are the
/// predicted ones in proportion to what another size has shown. What has never
/// been measured is as predicted.
class Estimator {
public:
  /// O(actions of the programs).
  Estimator(const Executable &executable,
            const std::vector<const ProgramDesc *> &programs);

  /// Figures that are not positive, or beyond 2^40 ns, count as not measured.
  void take(const Measurements &measured);
  /// Of one iteration, by program; -1 where the simulator finds no end.
  /// O(actions of the programs).
  std::vector<int64_t> estimate() const;

private:
  struct Candidate {
    const ProgramDesc *desc;
    ProgramValues values;
    /// Whether costs of its micro-batches' size have been measured.
    bool isMeasured = false;
  };

  std::vector<Candidate> candidates;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ADAPTIVE_ESTIMATOR_H
