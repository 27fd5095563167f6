//===- Nesting.h - How deeply a text nests ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_DIALECT_NESTING_H
#define RONDO_DIALECT_NESTING_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace rondo::pipe {

/// MLIR's parser recurses for each open bracket and would overflow the stack.
/// Returns the first line where more than maxOpenBrackets are open, or 0.
inline constexpr int64_t maxOpenBrackets = 256;
int64_t findTooDeep(llvm::StringRef text);

} // namespace rondo::pipe

#endif // RONDO_DIALECT_NESTING_H
