//===- PlanGroups.cpp - rondo plan groups ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/PlanGroups.h"

#include "formats/json/ModelConfig.h"
#include "reports/Figures.h"
#include "schedule/model/Problem.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/RunFiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

#define OPTIONS "tools/driver/PlanGroups.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

constexpr int64_t defaultRows = 8;

/// Reads `request`, or reports; returns the exit code, like all below.
int readChoices(const Arguments &arguments, GroupsRequest &request) {
  request.rows = arguments.number("rows", defaultRows);
  request.output = arguments.text("output");
  request.calibrate = arguments.text("calibrate");
  request.keepsLayout = arguments.text("layout") == "own";
  if (arguments.has("layout") &&
      (request.output.empty() || !request.calibrate.empty()))
    return reportUsage("--layout chooses the layout that --output writes: give "
                       "--output FILE, without --calibrate");
  groups::LayoutSpace &space = request.space;
  space.globalBatch = arguments.number("samples", 0);
  if (space.globalBatch > maxSamples)
    return reportUsage("--samples is " + Twine(space.globalBatch) +
                       "; the most is " + Twine(maxSamples));
  if (request.output == "-")
    return reportUsage("the report goes to standard output: give --output a "
                       "file");
  const bool isFsdp = arguments.text("stack") == "torchtitan";
  space.execution.stack =
      isFsdp ? groups::Stack::Fsdp : groups::Stack::MegatronCore;
  if (isFsdp) {
    space.zero = {2, 3};
    // torchtitan sums gradients in fp32.
    space.execution.gradientBytes = 4;
  }
  space.execution.precision =
      StringSwitch<groups::Precision>(arguments.text("precision"))
          .Case("fp8", groups::Precision::Fp8)
          .Case("mxfp8", groups::Precision::MxFp8)
          .Case("nvfp4", groups::Precision::NvFp4)
          .Default(groups::Precision::Bf16);
  const std::string overlap = arguments.text("overlap");
  SmallVector<StringRef> words;
  StringRef(overlap).split(words, ',', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    if (word != "tensor" && word != "experts")
      return reportUsage("--overlap is '" + overlap +
                         "'; it takes tensor, experts or both");
    (word == "tensor" ? space.execution.overlapsTensor
                      : space.execution.overlapsExperts) = true;
  }
  const std::string recompute = arguments.text("recompute", "auto");
  if (recompute == "none")
    space.recompute = {groups::Recompute::None};
  else if (recompute == "full")
    space.recompute = {groups::Recompute::Full};
  const std::string sizes = arguments.text("microbatch-samples");
  SmallVector<StringRef> parts;
  StringRef(sizes).split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    int64_t size = 0;
    if (part.getAsInteger(10, size) || size < 1)
      return reportUsage("--microbatch-samples is '" + sizes +
                         "'; it must be whole numbers of 1 or more, separated "
                         "by commas");
    space.microbatch.push_back(size);
  }
  return Success;
}

int readModel(const Arguments &arguments, GroupsRequest &request) {
  const std::unique_ptr<MemoryBuffer> buffer = readOrReport(request.model);
  if (!buffer)
    return Failure;
  Result<json::ModelConfig> config = json::readModelConfig(
      buffer->getBuffer(), arguments.number("sequence", 0));
  if (!config)
    return reportUnread(
        request.model, buffer->getBuffer(),
        {formats::FileKind::ModelConfig, formats::FileKind::Layout},
        describe(config.fault()));
  for (const std::string &warning : config->warnings)
    reportNote(request.model + ": " + warning);
  request.transformer = json::transformerOf(*config);
  request.name = config->type;
  return Success;
}

/// Devices have units for the operands.
int checkPrecision(const GroupsRequest &request) {
  const groups::Generation generation = request.on.machines.device.generation;
  groups::Generation first = groups::Generation::Ampere;
  const char *name = "";
  switch (request.space.execution.precision) {
  case groups::Precision::Bf16:
  case groups::Precision::Fp16:
    break;
  case groups::Precision::Fp8:
  case groups::Precision::Fp8Blocks:
    first = groups::Generation::Hopper;
    name = "fp8";
    break;
  case groups::Precision::MxFp8:
    first = groups::Generation::Blackwell;
    name = "mxfp8";
    break;
  case groups::Precision::NvFp4:
    first = groups::Generation::Blackwell;
    name = "nvfp4";
    break;
  }
  if (generation >= first)
    return Success;
  return reportUsage("--precision is " + Twine(name) + ", for which " +
                     request.on.device + " has no units");
}

/// Why no layout fits, and which is nearest to it.
int reportNone(const GroupsRequest &request,
               const groups::FoundLayouts &found) {
  if (!found.nearest)
    return reportError(
        "no layout follows the rules of the stack: the samples of an iteration "
        "must divide by replicas, heads by tensor groups, layers by stages");
  const groups::FoundLayout &nearest = *found.nearest;
  reportError("no layout fits; nearest is " + nearest.layout.text() +
              ", which needs " + formatBytes(int64_t(nearest.memory.total())) +
              " of the " + formatBytes(int64_t(request.room())) +
              " that a device has for it");
  return Infeasible;
}

/// Prints the next layout with another pipeline or other groups, and how much
/// more or less time than the best one it takes.
void printRunnerUp(ArrayRef<groups::FoundLayout> best) {
  const groups::FoundLayout &first = best.front();
  auto isOther = [&](const groups::FoundLayout &one) {
    return one.layout.text() != first.layout.text();
  };
  const auto *next = find_if(best, isOther);
  if (next == best.end())
    return;
  const double more = next->time.total / first.time.total - 1;
  outs() << "next: " << next->layout.text() << ", "
         << formatv("{0:f1} % {1}", std::abs(more) * 100,
                    more < 0 ? "less time" : "more time")
         << "\n";
}

int planNew(const Arguments &arguments, GroupsRequest &request) {
  if (request.space.globalBatch == 0)
    return reportUsage("plan groups needs --samples N, those of an iteration");
  if (arguments.has("layout"))
    return reportUsage("--layout is for a run that you have: a rondo-layout in "
                       "place of CONFIG and CLUSTER");
  if (!request.calibrate.empty())
    return reportUsage("--calibrate needs the run that wrote the log: a "
                       "rondo-layout in place of CONFIG and CLUSTER");
  if (int code = readModel(arguments, request))
    return code;
  if (int code =
          readMachines(request.cluster, arguments.text("device"), request.on))
    return code;
  if (int code = checkPrecision(request))
    return code;
  if (int code = readRates(arguments, request))
    return code;
  const groups::Machines &machines = request.on.machines;
  const groups::FoundLayouts found =
      groups::searchLayouts(request.transformer, machines, request.space,
                            request.constants, SIZE_MAX);
  if (found.best.empty())
    return reportNone(request, found);
  const std::vector<groups::FoundLayout> rows =
      runnable(request, found.best,
               static_cast<size_t>(std::max<int64_t>(request.rows, 32)));
  if (rows.empty())
    return reportError(
        "the tool runs none of the " + countOf(found.fit, "layout") +
        " that fit: " + toolFault(request, found.best.front().layout));
  printHeader(request, request.space.globalBatch);
  const ArrayRef<groups::FoundLayout> best = rows;
  printLayouts(outs(), request.context(), best.take_front(request.rows));
  const groups::FoundLayout &first = best.front();
  double least = first.time.total;
  for (const groups::FoundLayout &one : best)
    least = std::min(least, one.time.total);
  outs() << "best: " << formatNs(int64_t(first.time.total * 1e9))
         << "; no layout takes less than "
         << formatNs(int64_t(found.leastTime * request.constants.scale * 1e9))
         << ", with all devices at products throughout; "
         << countOf(found.fit, "layout") << " of " << found.legal << " fit\n"
         << "within 5 % of " << formatNs(int64_t(least * 1e9))
         << " layouts count as equal: the shortest pipeline is first, then the "
            "fewest chunks, then the smallest groups\n";
  printRunnerUp(best);
  printFooter(request);
  return writePlanned(request, runOf(request, first.layout), first.time.total,
                      first.memory.total());
}

int run(const Arguments &arguments) {
  GroupsRequest request;
  if (int code = readChoices(arguments, request))
    return code;
  const std::vector<std::string> files = arguments.files();
  if (files.empty())
    return reportUsage("plan groups needs a model (config.json) and a cluster "
                       "(.mlir), or a rondo-layout");
  request.model = files.front();
  if (int code = checkOutputs(inputFiles(arguments, {"rates", "calibrate"}),
                              {{"--output", request.output}}))
    return code;
  if (files.size() == 1)
    return planGivenRun(arguments, request);
  request.cluster = files.back();
  return planNew(arguments, request);
}

} // namespace

const Command &planGroupsCommand() {
  static const Command command{
      85,
      "plan groups",
      "choose tensor, context, expert and pipeline groups of a model's devices",
      optionTable(),
      {"CONFIG CLUSTER --samples N [-o FILE] [OPTIONS]",
       "RUN [-o FILE [--layout own]] [--rates FILE]",
       "RUN --calibrate LOG -o FILE"},
      {"rondo plan groups config.json cluster.mlir --samples 1024 --sequence "
       "8192 -o run.json",
       "rondo plan groups run.json",
       "rondo plan groups run.json --layout own -o pipeline.mlir",
       "rondo plan groups run.json --calibrate train.log -o rates.json"},
      nullptr,
      nullptr,
      run,
      /*maxFiles=*/2};
  return command;
}

} // namespace rondo::driver
