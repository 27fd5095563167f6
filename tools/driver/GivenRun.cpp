//===- GivenRun.cpp - rondo plan groups RUN -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/RunLog.h"
#include "reports/Figures.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/PlanGroups.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace llvm;

namespace rondo::driver {

namespace {

/// Changes of a run that are shown.
constexpr size_t numChanges = 3;

/// Writes what the run's stack reaches on its devices.
int calibrate(const GroupsRequest &request, const groups::Run &run,
              double time) {
  if (request.output.empty())
    return reportUsage("--calibrate needs --output FILE, for the rates");
  const std::unique_ptr<MemoryBuffer> buffer = readOrReport(request.calibrate);
  if (!buffer)
    return Failure;
  const Result<formats::RunLog> log = formats::readRunLog(buffer->getBuffer());
  if (!log)
    return reportError(request.calibrate + ": " + describe(log.fault()));
  const bool isFsdp = run.execution.stack == groups::Stack::Fsdp;
  if ((log->tokensPerSecond > 0) != isFsdp)
    return reportError(request.calibrate + " is a log of " +
                       (isFsdp ? "Megatron-LM, but the run is of torchtitan"
                               : "torchtitan, but the run is not"));
  const double tokens =
      double(run.model.sequence) * double(run.layout.globalBatch);
  json::Rates rates;
  rates.device = request.on.device;
  rates.stack = run.execution.stack;
  rates.precision = run.execution.precision;
  rates.measuredNs = std::llround(
      log->iterationNs > 0
          ? log->iterationNs
          : tokens * 1e9 /
                (log->tokensPerSecond * double(run.layout.devices())));
  rates.predictedNs = std::llround(time * 1e9);
  if (rates.scale() < 0.05 || rates.scale() > 20)
    return reportError(
        request.calibrate + " has iterations of " + formatNs(rates.measuredNs) +
        ", but the run is predicted "
        "to take " +
        formatNs(rates.predictedNs) + ": it is a log of another run");
  rates.origin = request.calibrate;
  rates.iterations = log->iterations;
  outs() << "measured: " << formatNs(rates.measuredNs) << ", the median of "
         << countOf(rates.iterations, "iteration")
         << "; predicted: " << formatNs(rates.predictedNs)
         << ", so times are multiplied by " << formatv("{0:f3}", rates.scale())
         << "\n";
  if (int code = writeOrReport(request.output, [&](raw_ostream &os) {
        json::writeRates(rates, os);
      }))
    return code;
  reportWritten(request.output, "rondo-rates");
  return Success;
}

/// The fastest layout of a run's model on its devices, with its stack.
std::optional<groups::FoundLayout> bestLayout(GroupsRequest &request,
                                              const groups::Run &run) {
  groups::LayoutSpace &space = request.space;
  space.globalBatch = run.layout.globalBatch;
  space.zero = run.execution.stack == groups::Stack::Fsdp
                   ? std::vector<int>{2, 3}
                   : std::vector<int>{0, 1};
  const groups::FoundLayouts found =
      groups::searchLayouts(run.model, request.on.machines, space,
                            request.constants, /*rows=*/SIZE_MAX);
  const std::vector<groups::FoundLayout> runs =
      runnable(request, found.best, SIZE_MAX);
  if (runs.empty())
    return std::nullopt;
  return *llvm::min_element(
      runs, [](const groups::FoundLayout &a, const groups::FoundLayout &b) {
        return a.time.total < b.time.total;
      });
}

} // namespace

int planGivenRun(const Arguments &arguments, GroupsRequest &request) {
  for (const char *option :
       {"samples", "sequence", "device", "precision", "stack", "recompute",
        "overlap", "microbatch-samples"})
    if (arguments.has(option))
      return reportUsage(Twine("--") + option + " is for a new plan; " +
                         request.model + " states its own");
  const std::unique_ptr<MemoryBuffer> buffer = readOrReport(request.model);
  if (!buffer)
    return Failure;
  Result<json::PlannedRun> planned = json::readLayout(buffer->getBuffer());
  if (formats::fileKindOf(buffer->getBuffer()) ==
      formats::FileKind::ModelConfig)
    return reportUsage(request.model +
                       " is a model: give a cluster (.mlir) as well, and "
                       "--samples N");
  if (!planned)
    return reportUnread(request.model, buffer->getBuffer(),
                        {formats::FileKind::Layout}, describe(planned.fault()));
  const groups::Run &run = planned->run;
  request.name = run.name;
  request.transformer = run.model;
  request.on = planned->on;
  request.space.execution = run.execution;
  if (int code = readRates(arguments, request))
    return code;
  const groups::GroupCosts costs(run.model, request.on.machines, run.layout,
                                 run.execution, request.constants,
                                 run.stageLayers);
  groups::FoundLayout given = {run.layout, costs.iterationTime(),
                               costs.memory()};
  given.layout.isBalanced |= !run.stageLayers.empty();
  if (!request.calibrate.empty() && request.rates)
    return reportUsage("--calibrate compares with times without --rates");
  if (!request.calibrate.empty())
    return calibrate(request, run, given.time.total);
  printHeader(request, run.layout.globalBatch);
  printLayouts(outs(), request.context(), given);
  if (given.memory.total() > request.room())
    reportNote("the run needs " + formatBytes(int64_t(given.memory.total())) +
               ", more than the " + formatBytes(int64_t(request.room())) +
               " that a device has for it");
  const std::vector<groups::Change> changes = groups::bestChanges(
      run, request.on.machines, request.constants, request.room(), numChanges);
  if (changes.empty())
    outs() << "no change of one decision that fits is faster\n";
  else
    printChanges(outs(), request.context(), given.time.total, changes);
  groups::Change best = {"", run, given.time, given.memory};
  if (!changes.empty())
    best = changes.front();
  if (const std::optional<groups::FoundLayout> found = bestLayout(request, run);
      found && (found->time.total < best.time.total ||
                best.memory.total() > request.room())) {
    outs() << "the best layout:\n";
    printLayouts(outs(), request.context(), *found);
    best = {"", runOf(request, found->layout), found->time, found->memory};
  }
  printFooter(request);
  // A run that exists is written even if the estimate is above the memory.
  if (request.keepsLayout)
    return writePlanned(request, run, given.time.total, given.memory.total());
  if (!request.output.empty() && best.memory.total() > request.room()) {
    reportError("no layout fits; nothing was written");
    return Infeasible;
  }
  return writePlanned(request, best.run, best.time.total, best.memory.total());
}

} // namespace rondo::driver
