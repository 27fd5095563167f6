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

/// `unknown collective @c3; did you mean @c0?`, for an op that names an Op of
/// the region by a word that none has. `what` is the kind of thing.
template <typename Op>
mlir::LogicalResult emitUnknown(mlir::Operation *user, mlir::Region &region,
                                const char *what, llvm::StringRef written) {
  llvm::SmallVector<llvm::StringRef> known;
  for (auto other : region.getOps<Op>())
    known.push_back(other.getSymName());
  return user->emitError() << "unknown " << what << " @" << written
                           << suggestedName(written, known);
}

/// The same of an Op in the region of `user`.
template <typename Op>
mlir::LogicalResult emitUnknown(mlir::Operation *user, const char *what,
                                llvm::StringRef written) {
  return emitUnknown<Op>(user, *user->getParentRegion(), what, written);
}

} // namespace rondo::pipe

#endif // RONDO_DIALECT_UNKNOWNNAME_H
