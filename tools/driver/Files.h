//===- Files.h - Input files ------------------------------------*- C++ -*-===//

#ifndef RONDO_TOOLS_DRIVER_FILES_H
#define RONDO_TOOLS_DRIVER_FILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace rondo::driver {

/// Reads a file; `-` is standard input. An error names the file: it is not
/// there, a directory, or not to be read.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readFile(llvm::StringRef path);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_FILES_H
