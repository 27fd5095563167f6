//===- TableText.h - Parts of emitted tables --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_TABLETEXT_H
#define RONDO_CODEGEN_TABLETEXT_H

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace rondo::codegen {

/// A C++ string literal.
inline std::string quoted(llvm::StringRef text) {
  std::string result = "\"";
  llvm::raw_string_ostream os(result);
  os.write_escaped(text, /*UseHexEscapes=*/false);
  os << '"';
  return result;
}

/// `type name[] = {...};`, on one line if it fits, otherwise wrapped.
template <typename Range>
void writeArray(llvm::raw_ostream &os, llvm::StringRef type,
                llvm::StringRef name, const Range &values) {
  constexpr size_t lineWidth = 80;
  std::string line = ("constexpr " + type + " " + name + "[] = {").str();
  bool isFirst = true;
  for (int64_t value : values) {
    std::string text = std::to_string(value);
    if (!isFirst)
      line += ",";
    if (line.size() + text.size() + 4 > lineWidth) {
      os << line << "\n";
      line = "   ";
    }
    line += (isFirst ? "" : " ") + text;
    isFirst = false;
  }
  os << line << "};\n";
}

/// So that the same number is read back.
inline std::string realText(double value) {
  llvm::SmallString<32> text;
  llvm::APFloat(value).toString(text);
  return text.str().str();
}

/// `layers`, or `layers_1` for sizes other than the first.
inline std::string tableName(llvm::StringRef name, int32_t sizes) {
  return sizes == 0 ? name.str() : (name + "_" + llvm::Twine(sizes)).str();
}

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_TABLETEXT_H
