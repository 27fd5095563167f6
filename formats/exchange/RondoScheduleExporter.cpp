//===- RondoScheduleExporter.cpp - Writes rondo-schedule ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/exchange/Exchange.h"
#include "formats/json/ScheduleWriter.h"

using namespace rondo;
using namespace rondo::exchange;

static std::optional<Fault> write(const ExchangedSchedule &schedule,
                                  const ExportOptions &, llvm::raw_ostream &os,
                                  std::vector<std::string> &) {
  // The versions of weights that a window claims need the times of tasks.
  json::writeSchedule(os, schedule.problem, schedule.schedule,
                      simulate(schedule.problem, schedule.schedule,
                               /*keepTimes=*/schedule.problem.iterations > 1),
                      schedule.family, /*search=*/nullptr,
                      /*comparison=*/nullptr, schedule.overlap,
                      schedule.clipsByNorm);
  os << "\n";
  return std::nullopt;
}

Exporter exchange::rondoScheduleExporter() {
  return {"rondo-schedule",
          "json",
          "one line of Rondo's own format, with predicted times and memory",
          {Part::Schedule, Part::Times},
          {},
          write,
          /*hasWindows=*/true,
          /*who=*/nullptr,
          /*hasCopies=*/true,
          UnevenForm::Any};
}
