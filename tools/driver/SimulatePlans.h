//===- SimulatePlans.h - Times of what a .mlir file holds -------*- C++ -*-===//

#ifndef RONDO_TOOLS_DRIVER_SIMULATEPLANS_H
#define RONDO_TOOLS_DRIVER_SIMULATEPLANS_H

#include "schedule/Family.h"
#include "tools/driver/Comparison.h"

#include <string>
#include <vector>

namespace rondo::driver {

struct PlanRequest {
  std::string path;
  /// Empty: the schedules of the file, or every family for a plan without one.
  std::vector<FamilyChoice> choices;
  Style style = Style::Table;
  /// rondo-costs/1, empty where there is none.
  std::string costsPath;
  /// Where each plan is written as a rondo-problem/1 line, empty for nowhere.
  std::string problemOutput;
};

/// Simulates the plans of a file one after the other; returns the exit code.
int simulatePlans(const PlanRequest &request);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_SIMULATEPLANS_H
