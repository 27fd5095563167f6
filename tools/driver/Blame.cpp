//===- Blame.cpp - rondo blame --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reports/FailedRun.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"

#define OPTIONS "tools/driver/Blame.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

int run(const Arguments &arguments) {
  const std::vector<std::string> paths = arguments.files();
  if (paths.empty())
    return reportUsage("blame needs files that ranks wrote into the folder of "
                       "--failure-dir");
  FailedRun run;
  for (const std::string &path : paths) {
    const std::unique_ptr<MemoryBuffer> buffer = readOrReport(path);
    if (!buffer)
      return Failure;
    Result<json::Failure> file = json::readFailure(buffer->getBuffer());
    if (!file)
      return reportUnread(path, buffer->getBuffer(),
                          {formats::FileKind::Failure}, describe(file.fault()));
    if (std::string why = run.add(std::move(*file), path); !why.empty())
      return reportError(path + " " + why);
  }
  if (arguments.has("json"))
    writeJson(outs(), run);
  else
    writeText(outs(), run,
              static_cast<size_t>(arguments.number("actions", 16)));
  return Success;
}

} // namespace

const Command &blameCommand() {
  static const Command command{
      120,
      "blame",
      "say which rank ended a run that failed",
      optionTable(),
      {"FILE... [--actions N] [--json]"},
      {"./train --data docs --failure-dir failed", "rondo blame failed/*.json"},
      nullptr,
      nullptr,
      run,
      SIZE_MAX};
  return command;
}

} // namespace rondo::driver
