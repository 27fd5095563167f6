//===- Nearest.h - Suggests words for mistyped ones -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_NEAREST_H
#define RONDO_DIALECT_NEAREST_H

#include "kinds/EditDistance.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace rondo {

/// `; did you mean X?` if one of the known words is close, see nearestWord().
inline std::string didYouMean(llvm::StringRef written,
                              llvm::ArrayRef<llvm::StringRef> known) {
  std::vector<std::string> words;
  for (llvm::StringRef word : known)
    words.push_back(word.str());
  const std::string nearest = nearestWord(written.str(), words);
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

} // namespace rondo

#endif // RONDO_DIALECT_NEAREST_H
