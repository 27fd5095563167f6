//===- VersionedSums.h - What steps wait for, in words ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_VERSIONEDSUMS_H
#define RONDO_TOOLS_DRIVER_VERSIONEDSUMS_H

#include "dialect/Pipe.h"
#include "lowering/SumWaits.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <vector>

namespace rondo::driver {

/// What the steps of a schedule wait for whose iterations overlap.
struct VersionedSums {
  /// By how many iterations the norm of all gradients is late, if that can be
  /// told.
  std::optional<int64_t> normDelay;
  /// Whether steps clip by it.
  bool clipsByNorm = false;
  /// Of a program's sums of gradients; empty for a problem.
  std::vector<SumWait> waits;
  std::vector<Collective> sums;
};

/// Of a schedule of a file, in the window that proves it. Fails where it breaks
/// a rule.
mlir::FailureOr<VersionedSums> versionedSums(pipe::ScheduleOp schedule);

/// Lines behind the table of versions.
void printSums(llvm::raw_ostream &os, const Problem &problem,
               const VersionedSums &sums);
/// Keys of an open object.
void writeSums(llvm::json::OStream &json, const Problem &problem,
               const VersionedSums &sums);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_VERSIONEDSUMS_H
