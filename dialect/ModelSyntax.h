//===- ModelSyntax.h - How architectures and layers are written -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Directives of the assembly formats; PipeDialect.cpp includes them before the
// generated parsers.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_MODELSYNTAX_H
#define RONDO_DIALECT_MODELSYNTAX_H

#include "dialect/Pipe.h"

namespace rondo::pipe {

template <typename... Attrs> struct ArchitectureList {};
/// All architectures that a model may have. The words of PipeSourceOps.td list
/// them too, for the error about one that is not in its place.
using Architectures = ArchitectureList<GptAttr, LlamaAttr>;

/// The attribute of one architecture, if its word is next.
template <typename Attr>
mlir::OptionalParseResult
parseArchitectureOf(mlir::OpAsmParser &parser,
                    ArchitectureAttrInterface &architecture) {
  if (mlir::failed(parser.parseOptionalKeyword(Attr::getMnemonic())))
    return std::nullopt;
  architecture = llvm::dyn_cast_or_null<ArchitectureAttrInterface>(
      Attr::parse(parser, mlir::Type()));
  return mlir::success(bool(architecture));
}

template <typename... Attrs>
mlir::ParseResult parseArchitecture(mlir::OpAsmParser &parser,
                                    ArchitectureAttrInterface &architecture,
                                    ArchitectureList<Attrs...>) {
  mlir::OptionalParseResult result;
  // The first whose word is next.
  (void)((result = parseArchitectureOf<Attrs>(parser, architecture),
          result.has_value()) ||
         ...);
  if (!result.has_value())
    return mlir::success();
  if (mlir::failed(*result))
    return mlir::failure();
  const llvm::SMLoc at = parser.getCurrentLocation();
  llvm::StringRef second;
  if (mlir::succeeded(
          parser.parseOptionalKeyword(&second, {Attrs::getMnemonic()...})))
    return parser.emitError(at)
           << "the model is both a " << architecture.getWord() << " and a "
           << second << "; leave out one";
  return mlir::success();
}

/// `gpt<...>`, or nothing.
inline mlir::ParseResult
parseArchitecture(mlir::OpAsmParser &parser,
                  ArchitectureAttrInterface &architecture) {
  return parseArchitecture(parser, architecture, Architectures());
}

inline void printArchitecture(mlir::OpAsmPrinter &printer, mlir::Operation *,
                              ArchitectureAttrInterface architecture) {
  if (!architecture)
    return;
  printer << ' ' << architecture.getWord();
  architecture.printSizes(printer);
}

} // namespace rondo::pipe

#endif // RONDO_DIALECT_MODELSYNTAX_H
