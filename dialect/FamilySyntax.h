//===- FamilySyntax.h - How families are written ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Directives of the assembly formats; PipeDialect.cpp includes them before the
// generated parsers.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_FAMILYSYNTAX_H
#define RONDO_DIALECT_FAMILYSYNTAX_H

#include "dialect/Pipe.h"
#include "schedule/families/Family.h"

#include "mlir/IR/Builders.h"

namespace rondo::pipe {

/// `, k = 2, u = auto, offload = fit, order = best, ...`
inline mlir::ParseResult parseFamilyArguments(mlir::AsmParser &parser,
                                              mlir::DictionaryAttr &arguments) {
  mlir::NamedAttrList list;
  while (mlir::succeeded(parser.parseOptionalComma())) {
    llvm::StringRef name;
    int64_t value = 0;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return mlir::failure();
    if (list.get(name))
      return parser.emitError(loc)
             << "argument '" << name << "' is given twice";
    if (name == offloadName || name == orderName) {
      llvm::StringRef word;
      if (parser.parseKeyword(&word))
        return mlir::failure();
      list.append(name, parser.getBuilder().getStringAttr(word));
      continue;
    }
    if (mlir::succeeded(parser.parseOptionalKeyword("auto")))
      value = autoArgument;
    else if (parser.parseInteger(value))
      return mlir::failure();
    list.append(name, parser.getBuilder().getI64IntegerAttr(value));
  }
  arguments = list.getDictionary(parser.getContext());
  return mlir::success();
}

inline void printFamilyArguments(mlir::AsmPrinter &printer,
                                 mlir::DictionaryAttr arguments) {
  for (mlir::NamedAttribute argument : arguments) {
    printer << ", " << argument.getName().getValue() << " = ";
    if (const auto word =
            mlir::dyn_cast<mlir::StringAttr>(argument.getValue())) {
      printer << word.getValue();
      continue;
    }
    const int64_t value =
        mlir::cast<mlir::IntegerAttr>(argument.getValue()).getInt();
    if (value == autoArgument)
      printer << "auto";
    else
      printer << value;
  }
}

} // namespace rondo::pipe

#endif // RONDO_DIALECT_FAMILYSYNTAX_H
