//===- Versioned.h - The weights that tasks read, in words ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_REPORTS_VERSIONED_H
#define RONDO_REPORTS_VERSIONED_H

#include "lowering/SumWaits.h"
#include "schedule/simulate/VersionAnalysis.h"

#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// The sums for which steps wait in a schedule whose iterations overlap.
struct VersionedSums {
  /// Number of iterations by which the norm of all gradients is late; nothing
  /// if it is unknown.
  std::optional<int64_t> normDelay;
  /// Whether steps clip by it.
  bool clipsByNorm = false;
  /// Waits for a program's sums of gradients; empty for a problem.
  std::vector<SumWait> waits;
  std::vector<Collective> sums;
};

/// A schedule that keeps the rules, and what its tasks read.
struct Versioned {
  std::string name;
  /// With the policies that it has been judged by.
  Problem problem;
  Schedule schedule;
  Simulation simulation;
  VersionAnalysis versions;
  VersionedSums sums;
};

/// A table of the replicas, and with `withTasks` the version that every task
/// reads.
void writeText(llvm::raw_ostream &os, const Versioned &of, bool withTasks);
/// One JSON object.
void writeJson(llvm::raw_ostream &os, const Versioned &of);

} // namespace rondo

#endif // RONDO_REPORTS_VERSIONED_H
