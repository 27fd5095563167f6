//===- ModuleFile.cpp - A .mlir file in memory ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/ModuleFile.h"

#include "dialect/Nearest.h"
#include "dialect/Nesting.h"
#include "dialect/Pipe.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace rondo::driver {

/// The fault of MLIR's parser about an op that no dialect has, in words of the
/// language; empty for other faults.
static std::string wordsForUnknownOp(StringRef fault,
                                     mlir::MLIRContext &context) {
  StringRef name;
  if (fault.consume_front("custom op '") && fault.contains("' is unknown"))
    name = fault.split("'").first;
  else if (fault.consume_front("Dialect `"))
    name = fault.split("custom op '").second.split("'").first;
  if (name.empty())
    return "";
  SmallVector<StringRef> known;
  for (mlir::RegisteredOperationName op :
       context.getRegisteredOperationsByDialect("pipe"))
    known.push_back(op.getStringRef());
  const std::string withDialect = ("pipe." + name).str();
  return ("unknown op '" + name + "'" +
          didYouMean(name.contains('.') ? name : StringRef(withDialect), known))
      .str();
}

ModuleFile::ModuleFile() : context(mlir::MLIRContext::Threading::DISABLED) {
  // An error shows the line of the file; the op in generic form adds nothing.
  context.printOpOnDiagnostic(false);
  context.loadDialect<pipe::PipeDialect>();
}

mlir::LogicalResult ModuleFile::read(StringRef path) {
  root = parse(path);
  return mlir::success(static_cast<bool>(root));
}

mlir::LogicalResult ModuleFile::readAlso(StringRef path) {
  mlir::OwningOpRef<mlir::ModuleOp> added = parse(path);
  if (!added)
    return mlir::failure();
  for (mlir::Operation &op : *added->getBody())
    if (auto symbol = dyn_cast<mlir::SymbolOpInterface>(op))
      if (mlir::Operation *known =
              mlir::SymbolTable::lookupSymbolIn(*root, symbol.getNameAttr())) {
        mlir::InFlightDiagnostic error =
            op.emitError() << "@" << symbol.getName() << " is in both files";
        error.attachNote(known->getLoc()) << "the other one is here";
        return mlir::failure();
      }
  root->getBody()->getOperations().splice(root->getBody()->end(),
                                          added->getBody()->getOperations());
  return mlir::success();
}

mlir::OwningOpRef<mlir::ModuleOp> ModuleFile::parse(StringRef path) {
  Expected<std::unique_ptr<MemoryBuffer>> buffer = readFile(path);
  if (!buffer) {
    reportError(toString(buffer.takeError()));
    return nullptr;
  }
  StringRef text = (*buffer)->getBuffer();
  if (text.trim().empty()) {
    reportError(path + ": the file is empty");
    return nullptr;
  }
  // Problems and schedules in JSON have an error of their own below.
  if (checkFileKind(path, text, {formats::FileKind::Plans},
                    {formats::FileKind::Problem, formats::FileKind::Schedule}))
    return nullptr;
  if (text.contains('\0') || !llvm::json::isUTF8(text)) {
    reportError(path + ": not a text file");
    return nullptr;
  }
  if (text.ltrim().starts_with("{") && !text.ltrim().starts_with("{-#")) {
    reportError(path + ": it begins with '{', as JSON does, but must be a "
                       ".mlir file");
    reportNote("`rondo verify --problems FILE --schedules FILE` checks "
               "schedules in JSON; `rondo compile` takes one with "
               "--schedule-file");
    return nullptr;
  }
  if (int64_t line = pipe::findTooDeep(text)) {
    reportFault(path, "line " + Twine(line) + ": more than " +
                          Twine(pipe::maxOpenBrackets) + " open brackets");
    return nullptr;
  }
  Source &source = *sources.emplace_back(std::make_unique<Source>());
  source.manager.AddNewSourceBuffer(std::move(*buffer), SMLoc());
  source.handler = std::make_unique<mlir::SourceMgrDiagnosticHandler>(
      source.manager, &context);
  // Generated parsers report an inner failure once more, in their own words.
  bool hasError = false;
  std::string first;
  mlir::ScopedDiagnosticHandler firstOnly(
      &context, [&](mlir::Diagnostic &diagnostic) {
        bool isError =
            diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
        if (!isError || hasError)
          return mlir::success(isError);
        hasError = true;
        first = diagnostic.str();
        const std::string unknown = wordsForUnknownOp(first, context);
        if (unknown.empty())
          return mlir::failure();
        // Without its note, which is about dialects.
        source.handler->emitDiagnostic(diagnostic.getLocation(), unknown,
                                       mlir::DiagnosticSeverity::Error);
        return mlir::success();
      });
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(source.manager, &context);
  if (!module && first == "constant too large for index")
    reportNote("a number in brackets is at most " + Twine(pipe::maxLoopBound));
  if (!module && path != "-" && !path.ends_with(".mlir"))
    reportNote("plans are in .mlir files (docs/language.md), and this is '" +
               path + "'");
  return module;
}

mlir::LogicalResult
ModuleFile::run(function_ref<void(mlir::PassManager &)> build) {
  mlir::PassManager passes(&context);
  build(passes);
  return passes.run(*root);
}

int ModuleFile::exitCode() const {
  return runControl.noOrderFits ? Infeasible : Failure;
}

} // namespace rondo::driver
