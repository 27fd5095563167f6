//===- Nearest.h - What a mistyped word was meant to be ---------*- C++ -*-===//

#ifndef RONDO_DIALECT_NEAREST_H
#define RONDO_DIALECT_NEAREST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace rondo {

/// `; did you mean X?` where one of the known words is near: a third of the
/// letters may be others. Of equally near ones the first by the alphabet. Empty
/// where none is.
inline std::string didYouMean(llvm::StringRef written,
                              llvm::ArrayRef<llvm::StringRef> known) {
  llvm::StringRef nearest;
  unsigned least = unsigned(written.size() + 2) / 3;
  for (llvm::StringRef word : known) {
    const unsigned distance =
        written.lower() == word.lower() ? 0 : written.edit_distance(word);
    if (distance < least ||
        (distance == least && (nearest.empty() || word < nearest))) {
      least = distance;
      nearest = word;
    }
  }
  return nearest.empty() ? "" : "; did you mean " + nearest.str() + "?";
}

} // namespace rondo

#endif // RONDO_DIALECT_NEAREST_H
