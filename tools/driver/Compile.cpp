//===- Compile.cpp - rondo compile ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/BodyLibraries.h"
#include "codegen/HostCompiler.h"
#include "tools/FreedMemory.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Emission.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Terminal.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#define OPTIONS "tools/driver/Compile.inc"
#include "tools/driver/OptionTable.inc"

using namespace llvm;

namespace rondo::driver {

namespace {

enum class Emit { Schedule, Lowered, Cpp, Exe };

Emit emitOf(const Arguments &arguments) {
  return StringSwitch<Emit>(arguments.text("emit", "exe"))
      .Case("schedule", Emit::Schedule)
      .Case("lowered", Emit::Lowered)
      .Case("cpp", Emit::Cpp)
      .Default(Emit::Exe);
}

int writeText(const Emission &emission, StringRef outputPath,
              function_ref<mlir::LogicalResult(raw_ostream &)> print) {
  bool printed = true;
  auto write = [&](raw_ostream &os) -> Error {
    printed = succeeded(print(os));
    return printed ? Error::success()
                   : createStringError(inconvertibleErrorCode(),
                                       "nothing was written");
  };
  if (outputPath.empty() || outputPath == "-") {
    if (Error error = write(outs()))
      return reportError(toString(std::move(error)));
    return Success;
  }
  if (Error error = writeFile(outputPath, write))
    return reportError(toString(std::move(error)));
  emission.reportWritten(outputPath);
  return Success;
}

int writeModule(Emission &emission, StringRef outputPath) {
  return writeText(emission, outputPath, [&](raw_ostream &os) {
    emission.module().print(os);
    return mlir::success();
  });
}

int writeExecutable(Emission &emission, StringRef output,
                    ArrayRef<std::string> bodyLibraries) {
  SmallString<128> source;
  int descriptor = 0;
  if (std::error_code ec =
          sys::fs::createTemporaryFile("rondo", "cpp", descriptor, source)) {
    sys::path::system_temp_directory(/*erasedOnReboot=*/true, source);
    return reportError("cannot write a temporary file in '" + source +
                       "': " + ec.message() + "; set TMPDIR to another folder");
  }
  FileRemover remover(source);
  sys::RemoveFileOnSignal(source);
  scope_exit forget([&] { sys::DontRemoveFileOnSignal(source); });
  {
    raw_fd_ostream os(descriptor, /*shouldClose=*/true);
    os << emission.text();
    os.flush();
    if (os.has_error()) {
      std::string why = os.error().message();
      os.clear_error();
      return reportError("cannot write " + source + ": " + why);
    }
  }
  codegen::HostCompiler host = codegen::HostCompiler::forThisTool();
  std::vector<std::string> libraries;
  if (emission.target() == pipe::Target::Cuda) {
    libraries.push_back("cuda");
    if (const std::string folder = host.cudaToBuild(); !folder.empty())
      reportNote("building the CUDA runtime of this machine into " + folder +
                 ": once, some minutes");
  }
  if (emission.searches())
    libraries.push_back("search");
  if (emission.needsMpi())
    libraries.push_back("mpi");
  if (Error error = host.build(source, output, libraries, bodyLibraries))
    return reportError(toString(std::move(error)));
  emission.reportWritten(output);
  return Success;
}

/// Compiles and links C++, as --emit=cpp writes it; or only compiles it if the
/// output is an object file.
int compileSource(const Arguments &arguments, StringRef output) {
  for (StringRef name : {"schedule", "schedule-file", "costs", "dtype", "emit",
                         "optimizer", "impose-links"})
    if (arguments.has(name))
      return reportUsage("--" + name + " is for a model: " + arguments.file() +
                         " is C++, which is compiled as it is");
  const codegen::HostCompiler host = codegen::HostCompiler::forThisTool();
  if (output.ends_with(".o")) {
    if (Error error = host.compileObject(arguments.file(), output))
      return reportError(toString(std::move(error)));
    return Success;
  }
  std::vector<std::string> parts;
  if (arguments.text("target") == "cuda")
    parts.push_back("cuda");
  if (arguments.has("adaptive"))
    parts.push_back("search");
  if (arguments.text("transport") == "mpi")
    parts.push_back("mpi");
  if (Error error =
          host.build(arguments.file(), output, parts, arguments.all("library")))
    return reportError(toString(std::move(error)));
  return Success;
}

int compile(const Arguments &arguments) {
  const std::string input = arguments.file();
  const std::string output = arguments.text("output");
  const Emit emitWhat = emitOf(arguments);
  if (input.empty())
    return reportUsage("compile needs a file");
  const std::string executable = output.empty() ? "train" : output;
  if (int code = checkOutputs(
          inputFiles(arguments, {"schedule-file", "costs", "library"}),
          {{output.empty() ? "the default output" : "--output",
            emitWhat == Emit::Exe ? executable : output}}))
    return code;
  if (emitWhat == Emit::Exe && isSpecialFile(executable))
    return reportError("cannot write " + executable +
                       ": it is a directory or a device");
  if (StringRef(input).ends_with(".cpp"))
    return compileSource(arguments, executable);
  keepFreedMemory();
  Emission emission(emissionRequest(arguments));
  if (int code = emission.read())
    return code;
  if (emitWhat == Emit::Schedule || emitWhat == Emit::Lowered) {
    if (int code =
            emitWhat == Emit::Schedule ? emission.schedule() : emission.lower())
      return code;
    return writeModule(emission, output);
  }
  if (int code = emission.emit())
    return code;
  if (emitWhat == Emit::Cpp)
    return writeText(emission, output, [&](raw_ostream &os) {
      os << emission.text();
      return mlir::success();
    });
  const std::vector<std::string> bodyLibraries = arguments.all("library");
  if (!emission.bodies().empty() && bodyLibraries.empty())
    return reportUsage("body '" + emission.bodies().front() +
                       "' is not in the runtime: give the file that defines "
                       "it with --library FILE");
  if (Error error = codegen::checkBodies(emission.bodies(), bodyLibraries))
    return reportError(toString(std::move(error)));
  return writeExecutable(emission, executable, bodyLibraries);
}

int run(const Arguments &arguments) {
  return Interrupt::exitCode(compile(arguments));
}

} // namespace

const Command &compileCommand() {
  static const Command command{
      10,
      "compile",
      "make an executable that trains",
      optionTable(),
      {"FILE [-o FILE] [OPTIONS]", "FILE.cpp [-o FILE] [OPTIONS]"},
      {"rondo compile examples/gpt-small.mlir -o train",
       "rondo compile examples/gpt-small.mlir --emit=cpp",
       "rondo compile examples/gpt-small.mlir --transport=mpi -o train",
       "rondo compile examples/gpt-small.mlir --target=cuda -o train"},
      nullptr,
      nullptr,
      run};
  return command;
}

} // namespace rondo::driver
