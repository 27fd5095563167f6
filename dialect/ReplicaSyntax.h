//===- ReplicaSyntax.h - How stages' replicas are written -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Directives of the assembly formats; PipeDialect.cpp includes them before the
// generated parsers.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_REPLICASYNTAX_H
#define RONDO_DIALECT_REPLICASYNTAX_H

#include "dialect/Pipe.h"

#include "mlir/IR/Builders.h"

namespace rondo::pipe {

/// `2`, `[2, 3]` or `[2: 6, 3: 2]`: ranks, and their samples.
inline mlir::ParseResult parseReplicas(mlir::OpAsmParser &parser,
                                       mlir::DenseI64ArrayAttr &ranks,
                                       mlir::DenseI64ArrayAttr &shares) {
  llvm::SmallVector<int64_t> list, samples;
  auto parseReplica = [&]() -> mlir::ParseResult {
    if (parser.parseInteger(list.emplace_back()))
      return mlir::failure();
    const llvm::SMLoc at = parser.getCurrentLocation();
    if (mlir::succeeded(parser.parseOptionalColon()) &&
        parser.parseInteger(samples.emplace_back()))
      return mlir::failure();
    if (!samples.empty() && samples.size() != list.size())
      return parser.emitError(at)
             << "either every rank is followed by its number of samples, as in "
                "[2: 6, 3: 2], or none";
    return mlir::success();
  };
  mlir::OptionalParseResult single =
      parser.parseOptionalInteger(list.emplace_back());
  if (single.has_value()) {
    if (*single)
      return mlir::failure();
  } else {
    list.clear();
    if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square,
                                       parseReplica))
      return mlir::failure();
  }
  mlir::Builder &builder = parser.getBuilder();
  ranks = builder.getDenseI64ArrayAttr(list);
  if (!samples.empty())
    shares = builder.getDenseI64ArrayAttr(samples);
  return mlir::success();
}

inline void printReplicas(mlir::OpAsmPrinter &printer, mlir::Operation *,
                          mlir::DenseI64ArrayAttr ranks,
                          mlir::DenseI64ArrayAttr shares) {
  if (ranks.size() == 1 && !shares) {
    printer << ranks[0];
    return;
  }
  printer << '[';
  for (int64_t i = 0; i < ranks.size(); ++i) {
    printer << (i > 0 ? ", " : "") << ranks[i];
    if (shares)
      printer << ": " << shares[i];
  }
  printer << ']';
}

/// `@s1` or `@s1:1`, a replica of the stage.
inline mlir::ParseResult parseReplica(mlir::OpAsmParser &parser,
                                      mlir::FlatSymbolRefAttr &stage,
                                      mlir::IntegerAttr &replicaIndex) {
  mlir::StringAttr name;
  if (parser.parseSymbolName(name))
    return mlir::failure();
  stage = mlir::FlatSymbolRefAttr::get(name);
  if (mlir::failed(parser.parseOptionalColon()))
    return mlir::success();
  int32_t number;
  if (parser.parseInteger(number))
    return mlir::failure();
  replicaIndex = parser.getBuilder().getI64IntegerAttr(number);
  return mlir::success();
}

inline void printReplica(mlir::OpAsmPrinter &printer, mlir::Operation *,
                         mlir::FlatSymbolRefAttr stage,
                         mlir::IntegerAttr replicaIndex) {
  printer << stage;
  if (replicaIndex)
    printer << ':' << replicaIndex.getInt();
}

/// `<weights = 64>`, or a list of such for several replicas.
inline mlir::ParseResult parseBuffersByReplica(mlir::OpAsmParser &parser,
                                               mlir::ArrayAttr &buffers) {
  llvm::SmallVector<mlir::Attribute> list;
  auto parseOne = [&]() -> mlir::ParseResult {
    list.push_back(BuffersAttr::parse(parser, {}));
    return mlir::failure(!list.back());
  };
  const bool isList = mlir::succeeded(parser.parseOptionalLSquare());
  if (isList ? parser.parseCommaSeparatedList(parseOne) || parser.parseRSquare()
             : mlir::failed(parseOne()))
    return mlir::failure();
  buffers = parser.getBuilder().getArrayAttr(list);
  return mlir::success();
}

inline void printBuffersByReplica(mlir::OpAsmPrinter &printer,
                                  mlir::Operation *, mlir::ArrayAttr buffers) {
  auto print = [&](mlir::Attribute one) {
    printer.printStrippedAttrOrType(mlir::cast<BuffersAttr>(one));
  };
  if (buffers.size() == 1)
    return print(buffers[0]);
  printer << '[';
  llvm::interleaveComma(buffers, printer, print);
  printer << ']';
}

/// `[@h1]`, or `across`; all layers of the stage if there is no list.
inline mlir::ParseResult parseRecompute(mlir::OpAsmParser &parser,
                                        mlir::ArrayAttr &recompute,
                                        mlir::UnitAttr &across) {
  llvm::SmallVector<mlir::Attribute> list;
  if (mlir::succeeded(parser.parseOptionalKeyword("across"))) {
    across = parser.getBuilder().getUnitAttr();
    recompute = parser.getBuilder().getArrayAttr(list);
    const llvm::SMLoc at = parser.getCurrentLocation();
    if (mlir::succeeded(parser.parseOptionalLSquare()))
      return parser.emitError(at)
             << "a stage that recomputes across stages recomputes all of its "
                "layers; leave out the list";
    return mlir::success();
  }
  auto parseLayer = [&]() -> mlir::ParseResult {
    mlir::StringAttr name;
    if (parser.parseSymbolName(name))
      return mlir::failure();
    list.push_back(mlir::FlatSymbolRefAttr::get(name));
    return mlir::success();
  };
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::OptionalSquare,
                                     parseLayer))
    return mlir::failure();
  recompute = parser.getBuilder().getArrayAttr(list);
  return mlir::success();
}

inline void printRecompute(mlir::OpAsmPrinter &printer, mlir::Operation *,
                           mlir::ArrayAttr recompute, mlir::UnitAttr across) {
  if (across)
    printer << " across";
  else if (!recompute.empty())
    printer << ' ' << recompute;
}

/// `[@h1]`; all layers of the stage if there is no list.
inline mlir::ParseResult parseOffload(mlir::OpAsmParser &parser,
                                      mlir::ArrayAttr &offload) {
  llvm::SmallVector<mlir::Attribute> list;
  auto parseLayer = [&]() -> mlir::ParseResult {
    mlir::StringAttr name;
    if (parser.parseSymbolName(name))
      return mlir::failure();
    list.push_back(mlir::FlatSymbolRefAttr::get(name));
    return mlir::success();
  };
  const llvm::SMLoc at = parser.getCurrentLocation();
  const bool isList = mlir::succeeded(parser.parseOptionalLSquare());
  if (isList &&
      (parser.parseCommaSeparatedList(parseLayer) || parser.parseRSquare()))
    return mlir::failure();
  if (isList && list.empty())
    return parser.emitError(at) << "expected the name of a layer";
  offload = parser.getBuilder().getArrayAttr(list);
  return mlir::success();
}

inline void printOffload(mlir::OpAsmPrinter &printer, mlir::Operation *,
                         mlir::ArrayAttr offload) {
  if (!offload.empty())
    printer << ' ' << offload;
}

} // namespace rondo::pipe

#endif // RONDO_DIALECT_REPLICASYNTAX_H
