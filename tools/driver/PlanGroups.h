//===- PlanGroups.h - Plans of groups of devices ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that return an exit code have printed the error.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_DRIVER_PLANGROUPS_H
#define RONDO_TOOLS_DRIVER_PLANGROUPS_H

#include "formats/json/LayoutText.h"
#include "formats/json/RatesText.h"
#include "planning/groups/LayoutSearch.h"
#include "reports/LayoutTable.h"
#include "tools/driver/Arguments.h"

namespace rondo::driver {

struct GroupsRequest {
  std::string model, cluster, output, calibrate;
  int64_t rows = 0;
  /// --output has the layout of the given run, not the best one.
  bool keepsLayout = false;
  groups::LayoutSpace space;
  groups::Transformer transformer;
  std::string name;
  json::NamedMachines on;
  groups::Constants constants;
  /// The rates of a measured run, of which the constants have the scale.
  std::optional<json::Rates> rates;

  LayoutContext context() const { return {transformer, on.machines}; }
  double room() const {
    return space.memoryShare * double(on.machines.device.memoryBytes);
  }
};

/// Takes what the measured run of --rates says, if it is of this stack and
/// these devices.
int readRates(const Arguments &arguments, GroupsRequest &request);

void printHeader(const GroupsRequest &request, int64_t samples);
void printFooter(const GroupsRequest &request);

/// The run of a layout that was found.
groups::Run runOf(const GroupsRequest &request, const groups::Layout &layout);

/// Why the tool does not run a layout; empty if it does.
std::string toolFault(const GroupsRequest &request,
                      const groups::Layout &layout);
/// The first layouts that the tool runs, at most `rows`.
std::vector<groups::FoundLayout>
runnable(const GroupsRequest &request,
         llvm::ArrayRef<groups::FoundLayout> found, size_t rows);

/// Writes the run, with its time in seconds and its bytes, to --output, if
/// there is one.
int writePlanned(const GroupsRequest &request, const groups::Run &run,
                 double time, double bytes);

/// `rondo plan groups RUN`: says what a given run costs and what would be
/// faster, or writes what its stack reaches.
int planGivenRun(const Arguments &arguments, GroupsRequest &request);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_PLANGROUPS_H
