//===- Files.h - Input and output files -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_FILES_H
#define RONDO_TOOLS_DRIVER_FILES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace rondo::driver {

/// Reads a file; `-` is standard input. The error names the file: it does not
/// exist, is a directory, cannot be read, or is a pointer of Git LFS.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readFile(llvm::StringRef path);

/// Writes what `write` prints, whole or not at all; `-` is standard output. A
/// device or a pipe is written to and never replaced. The error names the file.
llvm::Error
writeFile(llvm::StringRef path,
          llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write);

/// Says on standard output what a file has that was written, unless it is a
/// device, which may be standard output.
void reportWritten(llvm::StringRef path, const llvm::Twine &what);

/// Reports, before long work, that writeFile() cannot succeed: `path` is a
/// directory, or it or its folder is missing or not writable. Creates nothing.
llvm::Error checkWritable(llvm::StringRef path);

/// Whether `path` is a directory, a device, a pipe or a name of an open file,
/// such as /dev/stdout, which a rename must not replace.
bool isSpecialFile(llvm::StringRef path);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_FILES_H
