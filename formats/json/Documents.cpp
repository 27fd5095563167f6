//===- Documents.cpp - The JSON objects of a file -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/Documents.h"

using llvm::StringRef;

namespace rondo::json {

std::string Document::where() const {
  return line ? "line " + std::to_string(line) + ": " : "";
}

std::vector<Document> splitDocuments(StringRef fileName, StringRef contents) {
  // Some editors start files with a byte order mark.
  contents.consume_front("\xEF\xBB\xBF");
  if (!fileName.ends_with(".jsonl"))
    return {{0, contents}};
  std::vector<Document> documents;
  int64_t line = 0;
  while (!contents.empty()) {
    auto [text, rest] = contents.split('\n');
    ++line;
    if (!text.trim().empty())
      documents.push_back({line, text});
    contents = rest;
  }
  return documents;
}

std::optional<TextFault> checkIsObject(const Value &value, StringRef format) {
  if (value.isObject())
    return std::nullopt;
  return TextFault("the file has " + value.excerpt() + ", not a " + format +
                   " object, which begins with {");
}

} // namespace rondo::json
