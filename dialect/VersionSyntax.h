//===- VersionSyntax.h - Policies of versions in the text -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only for PipeDialect.cpp, whose generated parsers and printers call these.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_VERSIONSYNTAX_H
#define RONDO_DIALECT_VERSIONSYNTAX_H

#include "dialect/Pipe.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

namespace rondo::pipe {

/// `<...>` for all stages, or `[<...>, <...>]` with one for each.
inline mlir::ParseResult parseVersions(mlir::OpAsmParser &parser,
                                       mlir::ArrayAttr &versions) {
  llvm::SmallVector<mlir::Attribute> policies;
  auto parseOne = [&]() -> mlir::ParseResult {
    policies.push_back(VersionsAttr::parse(parser, mlir::Type()));
    return mlir::failure(!policies.back());
  };
  if (parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::OptionalSquare,
                                     parseOne))
    return mlir::failure();
  // Without a bracket nothing has been read.
  if (policies.empty() && parseOne())
    return mlir::failure();
  versions = parser.getBuilder().getArrayAttr(policies);
  return mlir::success();
}

inline void printVersions(mlir::OpAsmPrinter &printer, mlir::Operation *,
                          mlir::ArrayAttr versions) {
  auto print = [&](mlir::Attribute policy) {
    llvm::cast<VersionsAttr>(policy).print(printer);
  };
  if (versions.size() == 1)
    return print(versions[0]);
  printer << '[';
  llvm::interleaveComma(versions, printer.getStream(), print);
  printer << ']';
}

} // namespace rondo::pipe

#endif // RONDO_DIALECT_VERSIONSYNTAX_H
