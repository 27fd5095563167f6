//===- Simulate.h - Times the schedules of a file ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_SIMULATE_H
#define RONDO_TOOLS_DRIVER_SIMULATE_H

#include "formats/curves/Curve.h"
#include "schedule/families/Family.h"
#include "tools/driver/Comparison.h"
#include "tools/driver/SearchRun.h"
#include "tools/driver/Shapes.h"
#include "tools/driver/Windows.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::driver {

/// What `rondo simulate` and `rondo compare` ask for.
struct SimulateRequest {
  /// A .mlir or rondo-problem/1 file.
  std::string path;
  /// Empty: the schedules of the file, or every family if it has none.
  std::vector<FamilyChoice> choices;
  Style style = Style::Table;
  /// A rondo-costs/1 file, or empty. Needs a .mlir file.
  std::string costsPath;
  /// Where each plan is written as a rondo-problem/1 line; empty: nowhere.
  std::string problemOutput;
  /// If set: a searched schedule, then the schedules of the file, then
  /// `choices`, all beside the search's bound.
  std::optional<SearchRequest> search;
  /// Needs a rondo-problem file.
  WindowRequest window;
  bool allRanks = false;
  /// Where comparisons add what they have drawn; null: nowhere.
  std::vector<curves::Curve> *curves = nullptr;
};

/// Compares the schedules of each problem of a file, one problem after another;
/// returns the exit code.
int simulateFile(const SimulateRequest &request);

/// Compares the searched schedule and `choices` on plans of other shapes.
int comparePlans(const SimulateRequest &request, const ShapeRequest &shapes);

/// The two kinds of files.
int simulatePlans(const SimulateRequest &request);
int simulateProblems(const SimulateRequest &request);

/// Whether no schedule applies, for other reasons than memory, and no search
/// has looked for another.
inline bool isRefused(const SimulateRequest &request, const Outcome &outcome) {
  return !request.search && !outcome.hasSchedule && !outcome.isOverCap &&
         !outcome.refusals.empty();
}

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_SIMULATE_H
