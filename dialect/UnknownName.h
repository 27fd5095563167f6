//===- UnknownName.h - Errors for names that nothing has --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_UNKNOWNNAME_H
#define RONDO_DIALECT_UNKNOWNNAME_H

#include "dialect/Nearest.h"
#include "dialect/Pipe.h"

namespace rondo::pipe {

/// The suggestion that follows an unknown name: `; did you mean @step?`, else
/// the names there are, such as `; there is @a, @b`, if they are few.
inline std::string suggestedName(llvm::StringRef written,
                                 llvm::ArrayRef<llvm::StringRef> known) {
  constexpr size_t maxListed = 8;
  std::vector<std::string> words;
  std::string list;
  for (llvm::StringRef word : known) {
    words.push_back(word.str());
    list += (list.empty() ? "@" : ", @") + word.str();
  }
  const std::string nearest = nearestWord(written.str(), words);
  if (!nearest.empty())
    return "; did you mean @" + nearest + "?";
  return known.empty() || known.size() > maxListed ? "" : "; there is " + list;
}

/// `unknown plan @stp; did you mean @step?`, for an op that names an Op beside
/// itself by a word that none has. `what` is the kind of thing.
template <typename Op>
mlir::LogicalResult emitUnknown(mlir::Operation *user, const char *what,
                                llvm::StringRef written) {
  llvm::SmallVector<llvm::StringRef> known;
  for (auto other : user->getParentRegion()->getOps<Op>())
    known.push_back(other.getSymName());
  return user->emitError() << "unknown " << what << " @" << written
                           << suggestedName(written, known);
}

} // namespace rondo::pipe

#endif // RONDO_DIALECT_UNKNOWNNAME_H
