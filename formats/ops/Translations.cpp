//===- Translations.cpp - Translates the language and other texts ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/ops/Translations.h"

#include "dialect/Pipe.h"
#include "formats/json/ProblemReader.h"
#include "formats/json/ProblemWriter.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

static LogicalResult rewriteProblems(const llvm::MemoryBuffer *file,
                                     raw_ostream &os, MLIRContext *context) {
  rondo::Result<rondo::json::ProblemFile> read =
      rondo::json::readProblems(file->getBufferIdentifier(), file->getBuffer());
  if (!read)
    return emitError(UnknownLoc::get(context), file->getBufferIdentifier() +
                                                   ": " +
                                                   describe(read.fault()));
  for (const rondo::Problem &problem : read->problems) {
    rondo::json::writeProblem(os, problem);
    os << "\n";
  }
  return success();
}

void rondo::formats::registerTranslations() {
  auto pipe = [](DialectRegistry &registry) {
    registry.insert<pipe::PipeDialect>();
  };
  static llvm::cl::opt<std::string> schedulesPath(
      "schedules",
      llvm::cl::desc("rondo-schedule/1 for the plans of --problem-to-pipe"),
      llvm::cl::value_desc("FILE"));
  static TranslateToMLIRRegistration fromProblem(
      "problem-to-pipe",
      "rondo-problem as cluster, model and plan, and --schedules as "
      "schedules",
      [](llvm::SourceMgr &sources, MLIRContext *context) {
        const llvm::MemoryBuffer *file =
            sources.getMemoryBuffer(sources.getMainFileID());
        return OwningOpRef<Operation *>(
            importProblems(file->getBufferIdentifier(), file->getBuffer(),
                           schedulesPath, context));
      },
      pipe);
  static TranslateRegistration normalize(
      "problem-to-problem", "rondo-problem lines, each in version 2",
      [](const std::shared_ptr<llvm::SourceMgr> &sources, raw_ostream &os,
         MLIRContext *context) {
        return rewriteProblems(
            sources->getMemoryBuffer(sources->getMainFileID()), os, context);
      });
  static TranslateFromMLIRRegistration toSchedule(
      "pipe-to-schedule", "each pipe.schedule as a rondo-schedule line",
      [](ModuleOp module, raw_ostream &os) {
        return exportSchedules(module, os);
      },
      pipe);
}
