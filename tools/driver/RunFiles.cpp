//===- RunFiles.cpp - Runs of training on groups of devices ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/RunFiles.h"

#include "formats/ClusterPresets.h"
#include "formats/json/Value.h"
#include "formats/launch/MegatronArguments.h"
#include "formats/launch/TorchtitanConfig.h"
#include "plans/GroupMachines.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"

using namespace llvm;

namespace rondo::driver {

namespace {

/// The devices of the cluster by their data sheet; null if there is none.
const formats::DevicePreset *findSheet(pipe::ClusterOp cluster,
                                       StringRef given) {
  if (!given.empty())
    return formats::findDevicePreset(given);
  pipe::DeviceOp first = cluster.getDevices().front();
  for (const formats::DevicePreset &preset : formats::devicePresets())
    if (preset.rates && preset.memoryBytes == first.getMemoryBytes() &&
        preset.peakFlopsPerUs == first.getPeakFlopsPerUs())
      return &preset;
  return nullptr;
}

} // namespace

int readMachines(const std::string &path, StringRef device,
                 json::NamedMachines &machines) {
  Session session;
  if (failed(session.read(path)))
    return Failure;
  SmallVector<pipe::ClusterOp> all(session.module().getOps<pipe::ClusterOp>());
  if (all.size() != 1)
    return reportError(path + " has " + Twine(all.size()) +
                       " pipe.cluster; a plan of groups needs one");
  pipe::ClusterOp cluster = all.front();
  const formats::DevicePreset *preset = findSheet(cluster, device);
  if (!preset)
    return reportError(path + ": no data sheet has the memory and peak of the "
                              "cluster's devices; name theirs by --device");
  Result<groups::Machines> found =
      pipe::groupMachines(cluster, preset->sheet());
  if (!found)
    return reportError(path + ": " + describe(found.fault()));
  machines = {preset->name, *found};
  machines.machines.hasNearHost = StringRef(preset->name).starts_with("gb");
  return Success;
}

int importRun(const Arguments &arguments,
              launch::ReadRun (*read)(StringRef text,
                                      const launch::ReadOptions &options)) {
  const std::string path = arguments.file(),
                    output = arguments.text("output", "-"),
                    cluster = arguments.text("cluster");
  if (path.empty())
    return reportUsage("import needs a file with the command line");
  if (cluster.empty())
    return reportUsage("import needs --cluster FILE, the devices of the run");
  if (int code = checkOutputs(inputFiles(arguments, {"cluster"}),
                              {{"--output", output}}))
    return code;
  json::PlannedRun planned;
  if (int code = readMachines(cluster, arguments.text("device"), planned.on))
    return code;
  const std::unique_ptr<MemoryBuffer> buffer = readOrReport(path);
  if (!buffer)
    return Failure;
  launch::ReadOptions options;
  options.name = arguments.text("name", options.name);
  options.vocab = arguments.number("vocab", 0);
  options.devices = arguments.number("devices", 0);
  launch::ReadRun run = read(buffer->getBuffer(), options);
  const int64_t devices = planned.on.machines.devices();
  if (!run.fault.empty() && options.devices == 0) {
    // The launcher's flags may be elsewhere.
    options.devices = devices;
    if (launch::ReadRun again = read(buffer->getBuffer(), options);
        again.fault.empty())
      run = std::move(again);
  }
  if (!run.fault.empty())
    return reportError(path + ": " + run.fault);
  if (run.run.layout.devices() != devices)
    return reportError(path + " is a run on " +
                       countOf(run.run.layout.devices(), "device") + ", but " +
                       cluster + " has " + Twine(devices));
  // A cut of its own need not be even.
  run.run.layout.isBalanced = !run.run.stageLayers.empty();
  if (const std::string fault = groups::fault(run.run.model, run.run.layout);
      !fault.empty())
    return reportError(path + ": " + fault);
  for (const std::string &note : run.notes)
    reportNote(path + ": " + note);
  planned.run = std::move(run.run);
  if (int code = writeOrReport(
          output, [&](raw_ostream &os) { json::writeLayout(planned, os); }))
    return code;
  reportWritten(output, "rondo-layout of " + planned.run.layout.text());
  return Success;
}

int exportRun(StringRef kind, const std::string &path,
              const std::string &output) {
  const std::unique_ptr<MemoryBuffer> buffer = readOrReport(path);
  if (!buffer)
    return Failure;
  Result<json::PlannedRun> planned = json::readLayout(buffer->getBuffer());
  if (!planned)
    return reportUnread(path, buffer->getBuffer(), {formats::FileKind::Layout},
                        describe(planned.fault()));
  const bool isMegatron = kind == "megatron";
  const groups::Run &run = planned->run;
  const groups::Stack stack = run.execution.stack;
  const bool isOther = isMegatron ? stack == groups::Stack::Nanotron ||
                                        stack == groups::Stack::Other
                                  : stack != groups::Stack::Fsdp;
  if (isOther)
    reportNote(path +
               ": its execution.stack is not this tool's, so costs "
               "of " +
               Twine(kind) + " may differ");
  if (const std::string fault = isMegatron ? launch::megatronFault(run)
                                           : launch::torchtitanFault(run);
      !fault.empty())
    return reportError(path + ": " + fault);
  launch::WrittenRun written = isMegatron ? launch::megatronArguments(run)
                                          : launch::torchtitanArguments(run);
  // Processes of a node are those of a domain, but no more than 8.
  const groups::Machines &machines = planned->on.machines;
  int64_t node = std::min<int64_t>(machines.domain, 8);
  while (machines.devices() % node != 0)
    --node;
  launch::launchByTorchrun(written.command, machines.devices(), node);
  written.command.program =
      isMegatron ? std::vector<std::string>{"pretrain_gpt.py"}
                 : std::vector<std::string>{"-m", "torchtitan.train"};
  if (int code = writeOrReport(
          output, [&](raw_ostream &os) { os << written.command.text(); }))
    return code;
  for (const std::string &note : written.notes)
    reportNote(note);
  reportWritten(output, (isMegatron ? launch::megatronVersion
                                    : launch::torchtitanVersion) +
                            " on " + countOf(machines.devices(), "device"));
  return Success;
}

} // namespace rondo::driver
