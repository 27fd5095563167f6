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

/// Reads a file; `-` is standard input. An error names the file: it does not
/// exist, is a directory, or cannot be read.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readFile(llvm::StringRef path);

/// Writes what `write` prints, whole or not at all; `-` is standard output. A
/// device or a pipe is written to and never replaced. An error names the file.
llvm::Error
writeFile(llvm::StringRef path,
          llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write);

/// Reports, before long work, that writeFile() cannot succeed: a directory
/// stands at `path`, or it or its folder is absent or not to be written.
/// Creates nothing.
llvm::Error checkWritable(llvm::StringRef path);

/// A directory, a device, a pipe or a name of an open file, such as
/// /dev/stdout, stands at `path`; a rename must not replace it.
bool isSpecialFile(llvm::StringRef path);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_FILES_H
