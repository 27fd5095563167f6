//===- Compile.cpp - rondo compile ----------------------------------------===//

#include "codegen/HostCompiler.h"
#include "codegen/Passes.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/MeasuredCosts.h"
#include "tools/driver/ModuleFile.h"
#include "tools/driver/Report.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Target/Cpp/CppEmitter.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"

using namespace llvm;

namespace rondo::driver {

namespace {

enum class Emit { Schedule, Lowered, Cpp, Exe };

cl::SubCommand compile("compile", "make an executable that trains");

cl::opt<std::string> inputPath(cl::Positional, cl::sub(compile),
                               cl::cat(category), cl::desc("FILE"));
cl::opt<std::string>
    outputPath("o", cl::sub(compile), cl::cat(category), cl::value_desc("FILE"),
               cl::desc("where to write; by default 'train' for an executable, "
                        "else standard output"));
cl::opt<std::string>
    scheduleName("schedule", cl::sub(compile), cl::cat(category),
                 cl::value_desc("NAME"),
                 cl::desc("the schedule to compile; by default the first"));
cl::opt<std::string>
    costsPath("costs", cl::sub(compile), cl::cat(category),
              cl::value_desc("FILE"),
              cl::desc("measured times of the stages (rondo-costs/1), such as "
                       "'train --profile' writes"));
cl::opt<Emit> emitWhat(
    "emit", cl::sub(compile), cl::cat(category), cl::init(Emit::Exe),
    cl::value_desc("WHAT"),
    cl::desc("schedule, lowered, cpp or exe (default): how far to go"),
    cl::values(clEnumValN(Emit::Schedule, "schedule", "the order of each rank"),
               clEnumValN(Emit::Lowered, "lowered", "with messages and memory"),
               clEnumValN(Emit::Cpp, "cpp", "the C++ of the executable"),
               clEnumValN(Emit::Exe, "exe", "the executable")));

/// Leaves one schedule and its programs in the module. False with an error said
/// where there is none.
bool chooseSchedule(mlir::ModuleOp module) {
  SmallVector<pipe::ScheduleOp> schedules(module.getOps<pipe::ScheduleOp>());
  if (schedules.empty()) {
    reportError(inputPath + ": no pipe.schedule in it");
    return false;
  }
  pipe::ScheduleOp chosen;
  for (pipe::ScheduleOp schedule : schedules)
    if (!chosen &&
        (scheduleName.empty() || schedule.getSymName() == scheduleName))
      chosen = schedule;
  if (!chosen) {
    reportError(inputPath + ": no pipe.schedule @" + scheduleName + " in it");
    std::string names;
    for (pipe::ScheduleOp schedule : schedules)
      names += " @" + schedule.getSymName().str();
    reportNote("it has" + names);
    return false;
  }
  for (pipe::ProgramOp program :
       make_early_inc_range(module.getOps<pipe::ProgramOp>()))
    if (program.lookupSchedule() != chosen)
      program.erase();
  for (pipe::ScheduleOp schedule : schedules)
    if (schedule != chosen)
      schedule.erase();
  return true;
}

/// Source or schedule to proved schedule.
mlir::LogicalResult schedule(ModuleFile &file) {
  if (failed(file.run([](mlir::OpPassManager &passes) {
        passes.addPass(pipe::createResolveStages());
      })))
    return mlir::failure();
  if (!costsPath.empty() && !applyCosts(file.module(), costsPath))
    return mlir::failure();
  return file.run(pipe::buildSchedulePipeline);
}

int writeText(function_ref<mlir::LogicalResult(raw_ostream &)> print) {
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
  return Success;
}

int writeModule(mlir::ModuleOp module) {
  return writeText([&](raw_ostream &os) {
    module.print(os);
    return mlir::success();
  });
}

int writeExecutable(mlir::ModuleOp module, StringRef output) {
  SmallString<128> source;
  int descriptor = 0;
  if (std::error_code ec =
          sys::fs::createTemporaryFile("rondo", "cpp", descriptor, source))
    return reportError("cannot write a temporary file: " + ec.message());
  FileRemover remover(source);
  {
    raw_fd_ostream os(descriptor, /*shouldClose=*/true);
    if (failed(mlir::emitc::translateToCpp(module, os)))
      return Failure;
    os.flush();
    if (os.has_error()) {
      std::string why = os.error().message();
      os.clear_error();
      return reportError("cannot write " + source + ": " + why);
    }
  }
  codegen::HostCompiler host = codegen::HostCompiler::forThisTool();
  if (Error error = host.build(source, output))
    return reportError(toString(std::move(error)));
  return Success;
}

int run() {
  if (inputPath.empty())
    return reportUsage("compile needs a file");
  if (sys::fs::equivalent(inputPath, outputPath))
    return reportUsage("-o names the input, " + inputPath);
  std::string executable = outputPath.empty() ? "train" : outputPath.getValue();
  if (emitWhat == Emit::Exe && isSpecialFile(executable))
    return reportError("cannot write " + executable +
                       ": it is a directory or a device");
  ModuleFile file;
  if (failed(file.read(inputPath)) || !chooseSchedule(file.module()))
    return Failure;
  if (failed(schedule(file)))
    return file.exitCode();
  if (emitWhat == Emit::Schedule)
    return writeModule(file.module());
  bool isLowered = !file.module().getOps<pipe::ProgramOp>().empty();
  if (failed(file.run([&](mlir::OpPassManager &passes) {
        if (isLowered)
          passes.addPass(pipe::createVerifyLowered());
        else
          pipe::buildLowerPipeline(passes);
      })))
    return file.exitCode();
  if (emitWhat == Emit::Lowered)
    return writeModule(file.module());
  if (failed(file.run([](mlir::OpPassManager &passes) {
        passes.addPass(codegen::createConvertToEmitC());
      })))
    return Failure;
  if (emitWhat == Emit::Cpp)
    return writeText([&](raw_ostream &os) {
      return mlir::emitc::translateToCpp(file.module(), os);
    });
  return writeExecutable(file.module(), executable);
}

} // namespace

const Command &compileCommand() {
  static const Command command{
      &compile, "FILE [-o OUTPUT] [OPTIONS]",
      "  rondo compile examples/gpt-small.mlir -o train\n"
      "  rondo compile examples/gpt-small.mlir --emit=cpp\n",
      nullptr, run};
  return command;
}

} // namespace rondo::driver
