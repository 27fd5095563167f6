//===- PlanSearch.h - Searches among plans, for people ----------*- C++ -*-===//
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
  /// A .mlir file takes the module of the chosen plan, anything else its
  /// rondo-schedule/1 line; `-` is standard output.
  std::string output;
  /// Where the chosen problem is written; empty: beside the output where that
  /// is a file of schedules, else nowhere.
  std::string problemOutput;
};

/// Makes a plan of each shape that is asked for, searches the promising ones in
/// turn and writes the best. Returns the exit code.
int searchPlans(const PlanSearchRequest &request);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_PLANSEARCH_H
