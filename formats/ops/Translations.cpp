//===- Translations.cpp - Translates the language and other texts ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/ops/Translations.h"

#include "dialect/Pipe.h"
#include "formats/json/ProblemReader.h"
#include "formats/json/ProblemWriter.h"

#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Target/Cpp/CppEmitter.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

static LogicalResult rewriteProblems(const llvm::MemoryBuffer *file,
                                     raw_ostream &os, MLIRContext *context) {
  llvm::Expected<rondo::json::ProblemFile> read =
      rondo::json::readProblems(file->getBufferIdentifier(), file->getBuffer());
  if (!read)
    return emitError(UnknownLoc::get(context),
                     file->getBufferIdentifier() + ": " +
                         llvm::toString(read.takeError()));
  for (const rondo::Problem &problem : read->problems) {
    rondo::json::writeProblem(os, problem);
    os << "\n";
  }
  return success();
}

/// What is still in the dialect has no C++.
static LogicalResult checkIsConverted(Operation *module) {
  const WalkResult found = module->walk<WalkOrder::PreOrder>([](Operation *op) {
    if (!isa_and_nonnull<rondo::pipe::PipeDialect>(op->getDialect()))
      return WalkResult::advance();
    op->emitError() << "'" << op->getName()
                    << "' has no C++: --pipe-to-cpp takes what rondo-opt "
                       "--pipe-schedule --pipe-lower --pipe-convert-to-emitc "
                       "writes; rondo compile --emit=cpp does all of it";
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}

void rondo::formats::registerTranslations() {
  auto pipe = [](DialectRegistry &registry) {
    registry.insert<pipe::PipeDialect>();
  };
  static llvm::cl::opt<std::string> schedulesPath(
      "schedules",
      llvm::cl::desc("rondo-schedule/1 for the plans of --problem-to-pipe"),
      llvm::cl::value_desc("FILE"));
  static TranslateFromMLIRRegistration toCpp(
      "pipe-to-cpp", "the output of pipe-convert-to-emitc as C++",
      [](Operation *op, raw_ostream &os) -> LogicalResult {
        if (failed(checkIsConverted(op)))
          return failure();
        return emitc::translateToCpp(op, os);
      },
      [](DialectRegistry &registry) {
        registry.insert<pipe::PipeDialect, emitc::EmitCDialect>();
      });
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
      "problem-to-problem",
      "rondo-problem lines, each in the lowest version that can express it",
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
