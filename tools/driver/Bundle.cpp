//===- Bundle.cpp - rondo bundle ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/Bundle.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Emission.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Terminal.h"

#include "llvm/Support/Path.h"

#define OPTIONS "tools/driver/Bundle.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

int run(const Arguments &arguments) {
  const std::string input = arguments.file();
  const std::string outputPath = arguments.text("output", "train-src");
  if (input.empty())
    return reportUsage("bundle needs a file");
  if (int code = checkOutputs(inputFiles(arguments, {"schedule-file", "costs"}),
                              {{"--output", outputPath}}))
    return code;
  Emission emission(emissionRequest(arguments));
  if (int code = emission.read())
    return code;
  if (int code = emission.emit())
    return code;
  codegen::BundleContents contents;
  contents.program = emission.text().str();
  contents.input = sys::path::filename(input).str();
  contents.schedule = emission.scheduleName();
  contents.target = stringifyTarget(emission.target()).str();
  contents.dtype = stringifyDType(emission.dtype()).str();
  contents.needsCuda = emission.target() == pipe::Target::Cuda;
  contents.needsMpi = emission.needsMpi();
  contents.needsSearch = emission.searches();
  contents.bodies = emission.bodies();
  if (Error error = codegen::writeBundle(contents, outputPath))
    return reportError(toString(std::move(error)));
  emission.reportWritten(outputPath);
  return Interrupt::exitCode(Success);
}

} // namespace

const Command &bundleCommand() {
  static const Command command{
      20,
      "bundle",
      "write sources to build on another machine",
      optionTable(),
      {"FILE [-o FOLDER] [OPTIONS]"},
      {"rondo bundle examples/gpt-small.mlir --target=cuda -o train-src",
       "rondo bundle examples/gpt-small.mlir --transport=mpi -o train-src"},
      nullptr,
      nullptr,
      run};
  return command;
}

} // namespace rondo::driver
