//===- Nesting.cpp - How deeply a text nests ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Nesting.h"

#include <algorithm>

using llvm::StringRef;

/// Brackets do not count in comments, strings, arrows and comparisons.
int64_t rondo::pipe::findTooDeep(StringRef text) {
  int64_t open = 0, line = 1;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    line += c == '\n';
    if (isString) {
      // A string ends at the end of its line at the latest.
      i += c == '\\';
      isString = c != '"' && c != '\n';
    } else if (c == '"') {
      isString = true;
    } else if (text.substr(i).starts_with("//")) {
      i = text.find('\n', i) - 1;
    } else if (StringRef two = text.substr(i, 2);
               two == "->" || two == ">=" || two == "<=") {
      ++i;
    } else if (StringRef("{[(<").contains(c)) {
      if (++open > maxOpenBrackets)
        return line;
    } else if (StringRef("}])>").contains(c)) {
      open = std::max<int64_t>(open - 1, 0);
    }
  }
  return 0;
}
