//===- Documents.h - The JSON objects of a file -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_DOCUMENTS_H
#define RONDO_FORMATS_JSON_DOCUMENTS_H

#include "formats/json/Value.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::json {

/// One JSON text of a file. `line` is 0 if the file holds a single object.
struct Document {
  int64_t line = 0;
  llvm::StringRef text;

  /// `line 3: ` in a file with one object per line, otherwise empty.
  std::string where() const;
};

/// One document per line if the name ends in .jsonl (blank lines are skipped),
/// otherwise the whole file. The documents point into `contents`.
std::vector<Document> splitDocuments(llvm::StringRef fileName,
                                     llvm::StringRef contents);

/// A fault unless `value`, the whole of a document, is an object of a format.
std::optional<TextFault> checkIsObject(const Value &value,
                                       llvm::StringRef format);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_DOCUMENTS_H
