//===- Windows.cpp - Problems over several iterations ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Windows.h"

#include "schedule/transforms/Iterations.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Plans.h"
#include "tools/driver/Report.h"

namespace rondo::driver {

WindowRequest windowRequest(const Arguments &arguments) {
  return {arguments.number("iterations", 0), arguments.text("policy"),
          arguments.text("accounting") == "slots"};
}

int applyWindow(const WindowRequest &request, ModuleFile &file,
                std::vector<Problem> &problems) {
  for (Problem &problem : problems) {
    if (request.iterations > 0) {
      Result<Problem> window = overIterations(problem, request.iterations);
      if (!window)
        return reportErrorOf(problem, file, describe(window.fault(), problem));
      problem = *std::move(window);
    }
    for (const NamedPolicy &named : namedPolicies)
      if (request.policy == named.name)
        problem.versions.assign(problem.numStages(), named.policy);
    if (request.inSlots)
      problem = inSlots(problem);
  }
  return Success;
}

void noteOverlaps(llvm::ArrayRef<pipe::ScheduleOp> schedules,
                  const std::vector<Problem> &problems) {
  if (problems.empty() || problems.front().iterations > 1)
    return;
  for (pipe::ScheduleOp schedule : schedules)
    if (schedule.overlaps())
      reportNote("iterations of @" + schedule.getSymName() +
                 " overlap; this looks at one alone, and --iterations N at N "
                 "of them");
}

std::string microbatchesText(const Problem &problem) {
  const std::string each = countOf(problem.microbatchesEach(), "micro-batch");
  return problem.iterations == 1
             ? each
             : countOf(problem.iterations, "iteration") + " of " + each;
}

} // namespace rondo::driver
