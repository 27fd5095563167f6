//===- PlanSearch.h - Searches among plans and reports ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_PLANSEARCH_H
#define RONDO_TOOLS_DRIVER_PLANSEARCH_H

#include "tools/driver/SearchRun.h"
#include "tools/driver/Shapes.h"

#include <string>

namespace rondo::driver {

struct PlanSearchRequest {
  /// A .mlir file with one plan.
  std::string path;
  ShapeRequest shapes;
  SearchRequest search;
  /// A .mlir file gets the module of the chosen plan, any other its
  /// rondo-schedule line; `-` is standard output.
  std::string output;
  /// Where the chosen problem is written; empty: nowhere.
  std::string problemOutput;
};

/// Makes a plan of each requested shape, searches the promising ones in turn
/// and writes the best. Returns the exit code.
int searchPlans(const PlanSearchRequest &request);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_PLANSEARCH_H
