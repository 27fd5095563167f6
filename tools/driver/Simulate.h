//===- Simulate.h - Times the schedules of a file ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_SIMULATE_H
#define RONDO_TOOLS_DRIVER_SIMULATE_H

#include "formats/curves/Curve.h"
#include "reports/Comparison.h"
#include "schedule/families/Family.h"
#include "tools/driver/Searching.h"
#include "tools/driver/Windows.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::driver {

using Style = Comparison::Style;

/// The options of `rondo simulate` and `rondo compare`.
struct SimulateRequest {
  /// A .mlir or rondo-problem/1 file.
  std::string path;
  /// Empty: the schedules of the file, or every family if it has none.
  std::vector<FamilyChoice> choices;
  /// A rondo-schedule file with orders for each problem, or empty. Not for a
  /// .mlir file.
  std::string schedulesPath;
  Style style = Style::Table;
  /// A rondo-costs/1 file, or empty. Needs a .mlir file.
  std::string costsPath;
  /// Path of a file with a rondo-problem line for each plan; empty: not
  /// written.
  std::string problemOutput;
  /// If set: a searched schedule, then the schedules of the file, then
  /// `choices`, all compared with the bound of the search.
  std::optional<SearchRequest> search;
  /// Needs a rondo-problem file.
  WindowRequest window;
  bool allRanks = false;
  /// Also prints when each schedule ends, by the queues of messages.
  bool queues = false;
  /// Comparisons append their curves to this list; null: no curves are kept.
  std::vector<curves::Curve> *curves = nullptr;
};

/// Compares the schedules of each problem of a file, one problem after another;
/// returns the exit code.
int simulateFile(const SimulateRequest &request);

/// The streams of comparisons: standard output, with notes on standard error.
ComparisonOutput comparisonOutput();
/// Adds the schedule that a search of the problem has found; `plan` is its plan
/// or null.
void addSearched(Comparison &comparison, const SimulateRequest &request,
                 const Problem &problem, const PlanFigures *plan);

/// Success if the only problem has a schedule; a batch succeeds even if some of
/// its problems have none.
int exitCodeOf(const std::vector<ComparisonOutcome> &outcomes);

/// Whether no schedule applies, for other reasons than memory, and no search
/// has looked for another.
inline bool isRefused(const SimulateRequest &request,
                      const ComparisonOutcome &outcome) {
  return !request.search && !outcome.hasSchedule && !outcome.isOverCap &&
         !outcome.refusals.empty();
}

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_SIMULATE_H
