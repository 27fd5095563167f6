//===- EarlierWords.h - Words of earlier modules ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules are written with the words of docs/glossary.md. Earlier ones have
// `deal`, `homes`, `pieces`, `home_gradients`, `pipe.card` and
// `pipe.all_reduce`, which are read as `round_robin`, `replicas`, `shards`,
// `replica_gradients`, `pipe.nic` and `pipe.issue`; `forwards_ns` and the like,
// which are read as `forward_ns`; and numbers of collectives and pools, which
// are read as names. PipeDialect.cpp includes this before the generated
// parsers.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_EARLIERWORDS_H
#define RONDO_DIALECT_EARLIERWORDS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace rondo::pipe {

/// The word of an enum that is written for `word`.
inline llvm::StringRef currentWord(llvm::StringRef word) {
  return word == "home_gradients" ? "replica_gradients" : word;
}

/// An op that had another name.
template <typename Op>
mlir::ParseResult parseEarlier(mlir::OpAsmParser &parser,
                               mlir::OperationState &result) {
  result.name =
      mlir::OperationName(Op::getOperationName(), parser.getContext());
  return Op::parse(parser, result);
}

/// Staging was an op of its own, which named the pool.
inline mlir::ParseResult refuseStaging(mlir::OpAsmParser &parser,
                                       mlir::OperationState &) {
  return parser.emitError(parser.getNameLoc())
         << "staging is a word of its pool now: write pipe.pool @p2 on 0 "
            "staging <...>, and leave pipe.staging out";
}

/// `@c0`, or 0 for the first one, if the letter is c.
inline mlir::ParseResult parseNumbered(mlir::OpAsmParser &parser,
                                       mlir::StringAttr &name, char letter) {
  const llvm::SMLoc at = parser.getCurrentLocation();
  int64_t number = 0;
  const mlir::OptionalParseResult isNumber =
      parser.parseOptionalInteger(number);
  if (!isNumber.has_value())
    return parser.parseSymbolName(name);
  if (mlir::succeeded(*isNumber) && number < 0)
    return parser.emitError(at)
           << "expected a name such as @" << letter << "0, or a number of 0 "
           << "or more, not " << number;
  name = parser.getBuilder().getStringAttr(llvm::Twine(letter) +
                                           llvm::Twine(number));
  return *isNumber;
}

inline mlir::ParseResult parseNumbered(mlir::OpAsmParser &parser,
                                       mlir::FlatSymbolRefAttr &reference,
                                       char letter) {
  mlir::StringAttr name;
  if (parseNumbered(parser, name, letter))
    return mlir::failure();
  reference = mlir::FlatSymbolRefAttr::get(name);
  return mlir::success();
}

inline void printNumbered(mlir::OpAsmPrinter &printer, mlir::Operation *,
                          mlir::StringAttr name, char) {
  printer.printSymbolName(name.getValue());
}

inline void printNumbered(mlir::OpAsmPrinter &printer, mlir::Operation *,
                          mlir::FlatSymbolRefAttr reference, char) {
  printer << reference;
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
