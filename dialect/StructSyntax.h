//===- StructSyntax.h - How attributes with fields are written --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Called by the parsers and printers that Pipe_StructAttr of PipeParameters.td
// makes. Only for PipeDialect.cpp, which includes it before these.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_STRUCTSYNTAX_H
#define RONDO_DIALECT_STRUCTSYNTAX_H

#include "dialect/EarlierWords.h"
#include "dialect/Nearest.h"

#include "llvm/ADT/StringExtras.h"

#include <functional>

namespace rondo::pipe {

struct StructField {
  llvm::StringRef key;
  bool isRequired;
  /// Parses the value.
  std::function<mlir::ParseResult()> parse;
  /// The key in earlier modules; empty if it was the same.
  llvm::StringRef earlier = "";
};

/// Keeps the value that `parse` returns.
template <typename T, typename Parse>
mlir::ParseResult keepField(std::optional<T> &value, Parse parse) {
  auto parsed = parse();
  if (mlir::failed(parsed))
    return mlir::failure();
  value = std::move(*parsed);
  return mlir::success();
}

/// `<key = value, ...>` as the value of a key.
template <typename Figures>
mlir::FailureOr<Figures> parseFigures(mlir::AsmParser &parser) {
  const mlir::Attribute parsed = Figures::parse(parser, {});
  if (!parsed)
    return mlir::failure();
  return mlir::cast<Figures>(parsed);
}

inline std::string keysOf(llvm::ArrayRef<StructField> fields) {
  return llvm::join(
      llvm::map_range(fields,
                      [](const StructField &field) { return field.key.str(); }),
      ", ");
}

/// `key = value`. `given` has the fields that have been parsed.
inline mlir::ParseResult parseStructField(mlir::AsmParser &parser,
                                          llvm::ArrayRef<StructField> fields,
                                          llvm::SmallVectorImpl<bool> &given) {
  const llvm::SMLoc at = parser.getCurrentLocation();
  llvm::StringRef word;
  if (mlir::failed(parser.parseOptionalKeyword(&word)))
    return parser.emitError(at)
           << "expected a key; the keys are " << keysOf(fields);
  const auto *field = llvm::find_if(fields, [&](const StructField &one) {
    return one.key == word || (!one.earlier.empty() && one.earlier == word);
  });
  if (field == fields.end()) {
    llvm::SmallVector<llvm::StringRef> known;
    for (const StructField &one : fields)
      known.push_back(one.key);
    const std::string meant = didYouMean(word, known);
    return parser.emitError(at)
           << "unknown key '" << word << "'"
           << (meant.empty() ? "; the keys are " + keysOf(fields) : meant);
  }
  if (std::exchange(given[field - fields.begin()], true))
    return parser.emitError(at) << "key '" << field->key << "' is given twice";
  if (parser.parseEqual())
    return mlir::failure();
  return field->parse();
}

/// `key = value, ...>`, in any order.
inline mlir::ParseResult parseStruct(mlir::AsmParser &parser,
                                     llvm::ArrayRef<StructField> fields) {
  llvm::SmallVector<bool> given(fields.size(), false);
  const llvm::SMLoc at = parser.getCurrentLocation();
  if (mlir::failed(parser.parseOptionalGreater())) {
    auto parseOne = [&] { return parseStructField(parser, fields, given); };
    if (parser.parseCommaSeparatedList(parseOne) || parser.parseGreater())
      return mlir::failure();
  }
  for (auto [field, isGiven] : llvm::zip_equal(fields, given))
    if (field.isRequired && !isGiven)
      return parser.emitError(at)
             << "key '" << field.key << "' is missing; the keys are "
             << keysOf(fields);
  return mlir::success();
}

/// `key = `, after a comma unless it is the first.
inline void printKey(mlir::AsmPrinter &printer, bool &isFirst,
                     llvm::StringRef key) {
  printer << (isFirst ? "" : ", ") << key << " = ";
  isFirst = false;
}

} // namespace rondo::pipe

#endif // RONDO_DIALECT_STRUCTSYNTAX_H
