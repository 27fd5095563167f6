//===- TemporaryName.h - Temporary names for outputs ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_TEMPORARYNAME_H
#define RONDO_CODEGEN_TEMPORARYNAME_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Process.h"

#include <string>

namespace rondo::codegen {

/// A name next to `path` that no other process uses, to be renamed to it.
/// LLVM's createUniqueFile() would replace each % of the path.
inline std::string temporaryBeside(llvm::StringRef path) {
  return (path + "." + llvm::Twine(llvm::sys::Process::getProcessId()) + ".tmp")
      .str();
}

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_TEMPORARYNAME_H
