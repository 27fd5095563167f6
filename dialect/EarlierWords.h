//===- EarlierWords.h - Words of earlier modules ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules are written with the words of docs/glossary.md. Earlier ones have
// `deal`, `homes`, `pieces`, `home_gradients` and `pipe.card`, which are read
// as `round_robin`, `replicas`, `shards`, `replica_gradients` and `pipe.nic`.
// PipeDialect.cpp includes this before the generated parsers.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_EARLIERWORDS_H
#define RONDO_DIALECT_EARLIERWORDS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace rondo::pipe {

/// The word of an enum that is written for `word`.
inline llvm::StringRef currentWord(llvm::StringRef word) {
  return word == "home_gradients" ? "replica_gradients" : word;
}

/// Whether the next word is `word`, or the `earlier` one for it; takes it then.
inline bool takeWord(mlir::AsmParser &parser, llvm::StringRef word,
                     llvm::StringRef earlier) {
  return mlir::succeeded(parser.parseOptionalKeyword(word)) ||
         mlir::succeeded(parser.parseOptionalKeyword(earlier));
}

/// `round_robin`, if it is there.
inline mlir::ParseResult parseRoundRobin(mlir::OpAsmParser &parser,
                                         mlir::UnitAttr &roundRobin) {
  if (takeWord(parser, "round_robin", "deal"))
    roundRobin = parser.getBuilder().getUnitAttr();
  return mlir::success();
}

inline void printRoundRobin(mlir::OpAsmPrinter &printer, mlir::Operation *,
                            mlir::UnitAttr roundRobin) {
  if (roundRobin)
    printer << " round_robin";
}

/// `replicas [0, 1]`, if it is there.
inline mlir::ParseResult parseReplicaIndices(mlir::OpAsmParser &parser,
                                             mlir::DenseI64ArrayAttr &indices) {
  if (!takeWord(parser, "replicas", "homes"))
    return mlir::success();
  indices = llvm::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(
      mlir::DenseI64ArrayAttr::parse(parser, mlir::Type()));
  return mlir::success(bool(indices));
}

inline void printReplicaIndices(mlir::OpAsmPrinter &printer, mlir::Operation *,
                                mlir::DenseI64ArrayAttr indices) {
  if (!indices)
    return;
  printer << " replicas ";
  indices.print(printer);
}

} // namespace rondo::pipe

#endif // RONDO_DIALECT_EARLIERWORDS_H
