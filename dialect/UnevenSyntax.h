//===- UnevenSyntax.h - How figures by micro-batch are written --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Directives of the assembly formats; PipeDialect.cpp includes them before the
// generated parsers.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_UNEVENSYNTAX_H
#define RONDO_DIALECT_UNEVENSYNTAX_H

#include "dialect/Pipe.h"

#include "mlir/IR/Builders.h"

namespace rondo::pipe {

/// `[[1500, 548], [512]]`
inline mlir::ParseResult parseDocuments(mlir::OpAsmParser &parser,
                                        mlir::ArrayAttr &documents) {
  using Delimiter = mlir::AsmParser::Delimiter;
  llvm::SmallVector<mlir::Attribute> rows;
  auto parseRow = [&]() -> mlir::ParseResult {
    llvm::SmallVector<int64_t> lengths;
    auto parseOne = [&] { return parser.parseInteger(lengths.emplace_back()); };
    if (parser.parseCommaSeparatedList(Delimiter::Square, parseOne))
      return mlir::failure();
    rows.push_back(parser.getBuilder().getDenseI64ArrayAttr(lengths));
    return mlir::success();
  };
  if (parser.parseCommaSeparatedList(
          Delimiter::Square, parseRow,
          ": a list of lengths for each micro-batch"))
    return mlir::failure();
  documents = parser.getBuilder().getArrayAttr(rows);
  return mlir::success();
}

inline void printDocuments(mlir::OpAsmPrinter &printer, mlir::Operation *,
                           mlir::ArrayAttr documents) {
  printer << '[';
  llvm::interleaveComma(documents.getAsRange<mlir::DenseI64ArrayAttr>(),
                        printer, [&](mlir::DenseI64ArrayAttr row) {
                          printer << '[';
                          llvm::interleaveComma(row.asArrayRef(), printer);
                          printer << ']';
                        });
  printer << ']';
}

/// Calls `parseWord` unless an order such as `[2, 0, 1]` follows.
template <typename ParseWord>
mlir::ParseResult parseOrder(mlir::OpAsmParser &parser, ParseWord parseWord,
                             mlir::DenseI32ArrayAttr &order) {
  llvm::SmallVector<int32_t> list;
  if (mlir::failed(parser.parseOptionalLSquare()))
    return parseWord();
  auto parseOne = [&] { return parser.parseInteger(list.emplace_back()); };
  if (parser.parseCommaSeparatedList(parseOne) || parser.parseRSquare())
    return mlir::failure();
  order = parser.getBuilder().getDenseI32ArrayAttr(list);
  return mlir::success();
}

} // namespace rondo::pipe

#endif // RONDO_DIALECT_UNEVENSYNTAX_H
