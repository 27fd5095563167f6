//===- PlanGroups.cpp - rondo plan groups ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/RunLog.h"
#include "formats/json/LayoutText.h"
#include "formats/json/ModelConfig.h"
#include "formats/json/RatesText.h"
#include "formats/launch/MegatronArguments.h"
#include "formats/launch/TorchtitanConfig.h"
#include "formats/ops/Translations.h"
#include "modules/SinglePlan.h"
#include "planning/groups/GroupProblem.h"
#include "planning/groups/LayoutSearch.h"
#include "reports/Figures.h"
#include "reports/LayoutTable.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Emission.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/RunFiles.h"
#include "tools/driver/Session.h"

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
constexpr size_t numChanges = 3;

struct Request {
  std::string model, cluster, output, calibrate;
  int64_t rows = defaultRows;
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

/// Reads `request`, or reports; returns the exit code, like all below.
int readChoices(const Arguments &arguments, Request &request) {
  request.rows = arguments.number("rows", defaultRows);
  request.output = arguments.text("output");
  request.calibrate = arguments.text("calibrate");
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

int readModel(const Arguments &arguments, Request &request) {
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

/// Takes what a measured run says, if it is of this stack and these devices.
int readRates(const Arguments &arguments, Request &request) {
  const std::string path = arguments.text("rates");
  if (path.empty())
    return Success;
  const std::unique_ptr<MemoryBuffer> buffer = readOrReport(path);
  if (!buffer)
    return Failure;
  Result<json::Rates> rates = json::readRates(buffer->getBuffer());
  if (!rates)
    return reportUnread(path, buffer->getBuffer(), {formats::FileKind::Rates},
                        describe(rates.fault()));
  const groups::Execution &execution = request.space.execution;
  if (rates->device != request.on.device)
    return reportError(path + " was measured on " + rates->device +
                       ", but the devices are " + request.on.device);
  if (rates->stack != execution.stack ||
      rates->precision != execution.precision)
    return reportError(path + " was measured with another stack or precision "
                              "(--stack, --precision)");
  request.constants.scale = rates->scale();
  request.rates = std::move(*rates);
  return Success;
}

/// Devices have units for the operands.
int checkPrecision(const Request &request) {
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

void printHeader(const Request &request, int64_t samples) {
  const groups::Machines &machines = request.on.machines;
  outs() << request.name << " on " << countOf(machines.domains, "domain")
         << " of " << machines.domain << " " << request.on.device << ": "
         << countOf(request.transformer.layers, "layer") << ", "
         << countOf(samples, "sample") << " of "
         << countOf(request.transformer.sequence, "token") << " an iteration\n";
}

void printFooter(const Request &request) {
  if (request.rates)
    outs() << "times: data sheets' rates, times shares fitted on published "
              "runs, times "
           << formatv("{0:f3}", request.constants.scale) << " as "
           << (request.rates->origin.empty() ? "a run" : request.rates->origin)
           << " was measured; +-10 %\n";
  else
    outs()
        << "times: data sheets' rates, times shares fitted on published "
           "runs; +-25 %, and +-10 % after --calibrate with a log of yours\n";
  outs() << "memory: estimated, +-10 %; MFU: 6 operations a weight and token, "
            "attention to half of the sequence, of the peak in bf16\n";
}

/// Writes the pipeline of one replica, with the tool's schedule.
int writePipeline(const Request &request, const groups::Run &run) {
  const Problem problem =
      groups::problemOf(run, request.on.machines, request.constants,
                        request.on.machines.device.memoryBytes);
  Session session(request.output);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      formats::importProblem(problem, session.context());
  if (!module)
    return Failure;
  const groups::Layout &layout = run.layout;
  auto cluster = *module->getOps<pipe::ClusterOp>().begin();
  for (pipe::DeviceOp device : cluster.getDevices())
    device.setGroupAttr(pipe::GroupAttr::get(module->getContext(),
                                             layout.tensor, layout.context,
                                             layout.expert, layout.data));
  pipe::addSchedule(*module->getOps<pipe::PlanOp>().begin(), "schedule",
                    layout.chunks > 1 ? "interleaved-1f1b" : "1f1b");
  if (int code = writeOps(request.output, *module))
    return code;
  reportWritten(request.output,
                "the pipeline of a replica, a rank for each group of " +
                    Twine(layout.tensor * layout.context * layout.data) +
                    "; memory_bytes is what state leaves to activations, and "
                    "sums of gradients and the optimizer are left out");
  return Success;
}

int writePlanned(const Request &request, const groups::Run &run, double time,
                 double bytes) {
  if (request.output.empty())
    return Success;
  if (isModuleFile(request.output))
    return writePipeline(request, run);
  json::PlannedRun planned;
  planned.run = run;
  planned.on = request.on;
  planned.predictedNs = std::llround(time * 1e9);
  planned.predictedBytes = std::llround(bytes);
  if (int code = writeOrReport(request.output, [&](raw_ostream &os) {
        json::writeLayout(planned, os);
      }))
    return code;
  reportWritten(request.output, "rondo-layout");
  return Success;
}

/// The run of a layout that was found.
groups::Run runOf(const Request &request, const groups::Layout &layout) {
  groups::Run run = {
      request.name, request.transformer, layout, request.space.execution, {}};
  if (layout.isBalanced)
    run.stageLayers =
        groups::GroupCosts(request.transformer, request.on.machines, layout,
                           request.space.execution, request.constants)
            .stageLayers();
  return run;
}

/// Why the tool does not run a layout, or nothing.
std::string toolFault(const Request &request, const groups::Layout &layout) {
  const groups::Run run = runOf(request, layout);
  if (run.execution.stack == groups::Stack::MegatronCore)
    return launch::megatronFault(run);
  // A configuration of the model is the user's.
  return run.execution.stack == groups::Stack::Fsdp
             ? launch::torchtitanFault(run, {"mine", "mine"})
             : std::string();
}

/// The first layouts that the tool runs, at most `rows`.
std::vector<groups::FoundLayout> runnable(const Request &request,
                                          ArrayRef<groups::FoundLayout> found,
                                          size_t rows) {
  std::vector<groups::FoundLayout> result;
  for (const groups::FoundLayout &one : found) {
    if (result.size() == rows)
      break;
    if (toolFault(request, one.layout).empty())
      result.push_back(one);
  }
  return result;
}

/// Why no layout fits, and which is nearest to it.
int reportNone(const Request &request, const groups::FoundLayouts &found) {
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

/// How the best layout and the next of another pipeline or groups differ.
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

int planNew(const Arguments &arguments, Request &request) {
  if (request.space.globalBatch == 0)
    return reportUsage("plan groups needs --samples N, those of an iteration");
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

/// Writes what the run's stack reaches on its devices.
int calibrate(const Request &request, const groups::Run &run, double time) {
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
std::optional<groups::FoundLayout> bestLayout(Request &request,
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

/// Says what a given run costs, and what would be better.
int planRun(const Arguments &arguments, Request &request) {
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
  if (!request.output.empty() && best.memory.total() > request.room()) {
    reportError("no layout fits; nothing was written");
    return Infeasible;
  }
  return writePlanned(request, best.run, best.time.total, best.memory.total());
}

int run(const Arguments &arguments) {
  Request request;
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
    return planRun(arguments, request);
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
       "RUN [-o FILE] [--rates FILE]", "RUN --calibrate LOG -o FILE"},
      {"rondo plan groups config.json cluster.mlir --samples 1024 --sequence "
       "8192 -o run.json",
       "rondo plan groups run.json",
       "rondo plan groups run.json --calibrate train.log -o rates.json"},
      nullptr,
      nullptr,
      run,
      /*maxFiles=*/2};
  return command;
}

} // namespace rondo::driver
