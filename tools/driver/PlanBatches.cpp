//===- PlanBatches.cpp - rondo plan --layers ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/BatchReader.h"
#include "formats/json/ProblemReader.h"
#include "formats/json/ProblemWriter.h"
#include "formats/json/ScheduleWriter.h"
#include "planning/batches/BatchPlans.h"
#include "reports/Figures.h"
#include "reports/SearchFigures.h"
#include "reports/Table.h"
#include "tools/driver/Files.h"
#include "tools/driver/PlanModel.h"
#include "tools/driver/Report.h"
#include "tools/driver/Terminal.h"

using namespace llvm;

namespace rondo::driver {

/// `3,2,4`: layers of each stage.
static std::string cutText(const BatchPlan &plan) {
  std::string text;
  for (size_t stage = 0; stage + 1 < plan.begins.size(); ++stage)
    text += (stage > 0 ? "," : "") +
            std::to_string(plan.begins[stage + 1] - plan.begins[stage]);
  return text;
}

static void printPlans(const BatchPlans &found, int64_t rows) {
  Table table;
  table.add({"layers", "mean", "worst", "of batch", "fullest rank"});
  for (const BatchPlan &plan : found.plans) {
    if (rows-- == 0)
      break;
    if (plan.meanNs == infinite) {
      const BatchOrder &last = plan.batches.back();
      table.add({cutText(plan),
                 "batch " + std::to_string(plan.batches.size() - 1) +
                     " does not fit: " +
                     (last.found.fault ? describeBriefly(*last.found.fault)
                                       : std::string("no order found"))});
      continue;
    }
    int64_t peak = 0;
    for (const BatchOrder &batch : plan.batches)
      for (int64_t bytes : batch.found.simulation.peakBytes)
        peak = std::max(peak, bytes);
    table.add({cutText(plan), formatNs(plan.meanNs), formatNs(plan.worstNs),
               std::to_string(plan.worst), formatBytes(peak)});
  }
  table.print(outs());
}

/// Writes a line for each batch of a plan.
template <typename Write>
static int writeEach(const BatchPlan &plan, const std::string &path,
                     Write write) {
  if (path.empty())
    return Success;
  return writeOrReport(path, [&](raw_ostream &os) {
    for (const BatchOrder &batch : plan.batches) {
      write(os, batch);
      os << "\n";
    }
  });
}

int planBatches(const Arguments &arguments) {
  const std::string layers = arguments.text("layers"),
                    batches = arguments.text("batches"),
                    schedules = arguments.text("schedules"),
                    scheduleProblems = arguments.text("schedule-problems");
  if (!arguments.file().empty())
    return reportUsage("--layers has the layers and ranks; leave out " +
                       Twine(arguments.file()));
  for (const char *option :
       {"samples", "target", "dtype", "microbatch-samples", "recompute",
        "chunks", "cut", "weights", "layout", "costs", "problems", "evaluator",
        "output", "baselines", "threads"})
    if (arguments.has(option))
      return reportUsage(Twine("--") + option + " is not for --layers");
  if (layers.empty() || batches.empty())
    return reportUsage("--layers and --batches need each other");
  if (int code = checkOutputs(inputFiles(arguments, {"layers", "batches"}),
                              {{"--schedules", schedules},
                               {"--schedule-problems", scheduleProblems}}))
    return code;
  const std::unique_ptr<MemoryBuffer> layersText = readOrReport(layers);
  const std::unique_ptr<MemoryBuffer> batchesText =
      layersText ? readOrReport(batches) : nullptr;
  if (!batchesText)
    return Failure;
  if (Result<json::ProblemFile> read =
          json::readProblems("layers.json", layersText->getBuffer());
      !read)
    return reportUnread(layers, layersText->getBuffer(),
                        {formats::FileKind::Problem}, describe(read.fault()));
  if (!json::statesSizes(layersText->getBuffer()))
    return reportError(layers +
                       ": the layers have no `sizes`, so their costs do not "
                       "depend on a batch; `rondo import costs` fits costs to "
                       "measurements at several lengths");
  Result<std::vector<Problem>> problems =
      json::readBatches(layersText->getBuffer(), batchesText->getBuffer());
  if (!problems)
    return reportFault(batches, describe(problems.fault()));
  SearchOptions options;
  options.seed = arguments.number("seed", 0);
  options.effort = arguments.number("effort", 0);
  options.interrupt = Interrupt::flag();
  if (arguments.has("time-limit-ms"))
    return reportUsage("--layers takes --effort, so that the plan repeats");
  Result<BatchPlans> found = planOverBatches(*problems, options);
  if (!found)
    return reportError(layers + ": " + describe(found.fault()));
  const BatchPlan &best = found->plans.front();
  outs() << countOf(int64_t(problems->size()), "batch") << ", "
         << countOf((*problems)[0].numStages(), "layer") << " on "
         << countOf((*problems)[0].numRanks(), "rank") << "\n";
  printPlans(*found, arguments.number("rows", 8));
  if (Interrupt::happened())
    return Interrupted;
  if (best.meanNs == infinite) {
    reportError(layers + ": no cut that was tried fits all batches; "
                         "lower the largest micro-batch, or give the ranks "
                         "more memory");
    return Infeasible;
  }
  outs() << "best: " << cutText(best) << " layers, mean "
         << formatNs(best.meanNs) << "; no cut has a mean below "
         << formatNs(found->boundNs) << " ("
         << gapText(found->boundNs == best.meanNs, best.meanNs, found->boundNs)
         << ")\n";
  if (int code = writeEach(
          best, schedules, [](raw_ostream &os, const BatchOrder &batch) {
            json::writeSchedule(os, batch.problem, *batch.found.schedule,
                                batch.found.simulation, batch.found.origin);
          }))
    return code;
  return writeEach(best, scheduleProblems,
                   [](raw_ostream &os, const BatchOrder &batch) {
                     json::writeProblem(os, batch.problem);
                   });
}

} // namespace rondo::driver
