//===- rondo-opt.cpp - Runs passes over the pipe dialect ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LibraryOptions.h"
#include "codegen/Passes.h"
#include "codegen/TemporaryName.h"
#include "dialect/Pipe.h"
#include "passes/Passes.h"
#include "tools/FreedMemory.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

#include <cstdlib>

/// MLIR's short name of --pass-pipeline. Options of one letter may be
/// grouped, so LLVM takes each mistyped pass for one, as its name begins with
/// p.
static void removeShortPipeline() {
  if (llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup("p"))
    option->removeArgument();
}

/// MLIR opens its output before it reads the input, which may be the same file,
/// and keeps it if all went well. So it gets another name at first.
static bool run(int argc, char **argv, mlir::DialectRegistry &registry) {
  const auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "Rondo's passes over the pipe dialect\n", registry);
  auto fail = [](const llvm::Twine &why) {
    llvm::WithColor::error(llvm::errs(), "rondo-opt") << why << "\n";
    return false;
  };
  // A pipe can be read once.
  if (input != "-" && !rondo::driver::isSpecialFile(input) &&
      !rondo::driver::isModuleFile(input)) {
    auto text = llvm::MemoryBuffer::getFile(input);
    const std::string why =
        text ? rondo::driver::whyOtherKind(input, (*text)->getBuffer(),
                                           {rondo::formats::FileKind::Plans})
             : std::string();
    if (!why.empty())
      return fail(why);
  }
  if (output == "-" || rondo::driver::isSpecialFile(output))
    return succeeded(mlir::MlirOptMain(argc, argv, input, output, registry));
  if (llvm::Error error = rondo::driver::checkWritable(output))
    return fail(llvm::toString(std::move(error)));
  const std::string temporary = rondo::codegen::temporaryBeside(output);
  if (failed(mlir::MlirOptMain(argc, argv, input, temporary, registry)))
    return false;
  // Some options only print, and write nothing.
  if (!llvm::sys::fs::exists(temporary))
    return true;
  if (const std::error_code ec = llvm::sys::fs::rename(temporary, output))
    return fail("cannot write " + output + ": " + ec.message());
  return true;
}

int main(int argc, char **argv) {
  rondo::keepFreedMemory();
  rondo::removeLibraryOptions();
  mlir::DialectRegistry registry;
  registry.insert<rondo::pipe::PipeDialect>();
  rondo::pipe::registerPasses();
  rondo::codegen::registerPasses();
  mlir::MlirOptMainConfig::registerCLOptions(registry);
  removeShortPipeline();
  return run(argc, argv, registry) ? EXIT_SUCCESS : EXIT_FAILURE;
}
