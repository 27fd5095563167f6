//===- Translations.h - Between the language and other texts ----*- C++ -*-===//

#ifndef RONDO_CODEGEN_TRANSLATIONS_H
#define RONDO_CODEGEN_TRANSLATIONS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace rondo::codegen {

/// Writes the problems of a rondo-problem/1 file as clusters, synthetic models
/// with a layer a stage, and plans. The plan has the problem's name; cluster
/// and model have it with `_cluster` and `_model` behind. The objective is not
/// part of a plan and is left out. `fileName` tells .jsonl from .json. Null
/// where an error has been said.
mlir::OwningOpRef<mlir::ModuleOp> importProblems(llvm::StringRef fileName,
                                                 llvm::StringRef contents,
                                                 mlir::MLIRContext *context);

/// Writes each `pipe.schedule` of a module as a rondo-schedule/1 line with its
/// figures. A schedule that breaks a rule, or has no body yet, is an error.
mlir::LogicalResult exportSchedules(mlir::ModuleOp module,
                                    llvm::raw_ostream &os);

/// Registers with rondo-translate: `--pipe-to-cpp`, the EmitC of
/// `pipe-convert-to-emitc` as C++; `--problem-to-pipe`; `--pipe-to-schedule`.
void registerTranslations();

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_TRANSLATIONS_H
