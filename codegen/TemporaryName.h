//===- TemporaryName.h - Temporary names for outputs ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_TEMPORARYNAME_H
#define RONDO_CODEGEN_TEMPORARYNAME_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"

#include <string>
#include <system_error>

namespace rondo::codegen {

/// A name next to `path` that no other process uses, to be renamed to it.
/// LLVM's createUniqueFile() would replace each % of the path.
inline std::string temporaryBeside(llvm::StringRef path) {
  return (path + "." + llvm::Twine(llvm::sys::Process::getProcessId()) + ".tmp")
      .str();
}

/// Makes the file of such a name, which only this user can open; what has the
/// name already is removed, never written.
inline std::error_code openExclusive(const std::string &temporary,
                                     int &descriptor) {
  if (std::error_code ec = llvm::sys::fs::remove(temporary))
    return ec;
  return llvm::sys::fs::openFileForWrite(
      temporary, descriptor, llvm::sys::fs::CD_CreateNew,
      llvm::sys::fs::OF_None,
      llvm::sys::fs::owner_read | llvm::sys::fs::owner_write);
}

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_TEMPORARYNAME_H
