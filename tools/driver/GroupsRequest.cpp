//===- GroupsRequest.cpp - What plans of groups have in common ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/launch/MegatronArguments.h"
#include "formats/launch/TorchtitanConfig.h"
#include "formats/ops/Translations.h"
#include "modules/SinglePlan.h"
#include "planning/groups/GroupProblem.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Emission.h"
#include "tools/driver/Files.h"
#include "tools/driver/PlanGroups.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace llvm;

namespace rondo::driver {

int readRates(const Arguments &arguments, GroupsRequest &request) {
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

void printHeader(const GroupsRequest &request, int64_t samples) {
  const groups::Machines &machines = request.on.machines;
  outs() << request.name << " on " << countOf(machines.domains, "domain")
         << " of " << machines.domain << " " << request.on.device << ": "
         << countOf(request.transformer.layers, "layer") << ", "
         << countOf(samples, "sample") << " of "
         << countOf(request.transformer.sequence, "token") << " an iteration\n";
}

void printFooter(const GroupsRequest &request) {
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
static int writePipeline(const GroupsRequest &request, const groups::Run &run) {
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

int writePlanned(const GroupsRequest &request, const groups::Run &run,
                 double time, double bytes) {
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

groups::Run runOf(const GroupsRequest &request, const groups::Layout &layout) {
  groups::Run run = {
      request.name, request.transformer, layout, request.space.execution, {}};
  if (layout.isBalanced)
    run.stageLayers =
        groups::GroupCosts(request.transformer, request.on.machines, layout,
                           request.space.execution, request.constants)
            .stageLayers();
  return run;
}

std::string toolFault(const GroupsRequest &request,
                      const groups::Layout &layout) {
  const groups::Run run = runOf(request, layout);
  if (run.execution.stack == groups::Stack::MegatronCore)
    return launch::megatronFault(run);
  // A configuration of the model is the user's.
  return run.execution.stack == groups::Stack::Fsdp
             ? launch::torchtitanFault(run, {"mine", "mine"})
             : std::string();
}

std::vector<groups::FoundLayout> runnable(const GroupsRequest &request,
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

} // namespace rondo::driver
