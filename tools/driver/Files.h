//===- Files.h - Input and output files -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_FILES_H
#define RONDO_TOOLS_DRIVER_FILES_H

#include "tools/driver/Arguments.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>
#include <vector>

namespace rondo::driver {

/// Reads a file; `-` is standard input. The error names the file: it does not
/// exist, is a directory, cannot be read, or is a pointer of Git LFS.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readFile(llvm::StringRef path);

/// The same; null after printing the error.
std::unique_ptr<llvm::MemoryBuffer> readOrReport(llvm::StringRef path);

/// Whether a file is of the language, by its ending.
bool isModuleFile(llvm::StringRef path);

/// Writes what `write` prints, whole or not at all; `-` is standard output. A
/// device or a pipe is written to and never replaced. The error names the file.
llvm::Error
writeFile(llvm::StringRef path,
          llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write);

/// The same of what cannot fail. Returns the exit code after printing an error.
int writeOrReport(llvm::StringRef path,
                  llvm::function_ref<void(llvm::raw_ostream &)> write);

/// Says on standard output what a file has that was written, unless it is a
/// device, which may be standard output.
void reportWritten(llvm::StringRef path, const llvm::Twine &what);

/// Reports, before long work, that writeFile() cannot succeed: `path` is a
/// directory, or it or its folder is missing or not writable. Creates nothing.
llvm::Error checkWritable(llvm::StringRef path);

/// Prints that error, and returns the exit code. An empty path is no output.
int reportUnwritable(llvm::StringRef path);

/// Whether `path` is a directory, a device, a pipe or a name of an open file,
/// such as /dev/stdout, which a rename must not replace.
bool isSpecialFile(llvm::StringRef path);

/// A file that a command reads or writes. `-`, devices and an empty path are
/// none.
struct UsedFile {
  /// As it appears in a message, such as `--costs`.
  std::string name;
  std::string path;
};

/// The command's file and what these options name, as far as they are given.
std::vector<UsedFile> inputFiles(const Arguments &arguments,
                                 llvm::ArrayRef<llvm::StringRef> options);

/// Before anything is written: reports an output that is also an input or
/// another output, under whatever name. Returns the exit code.
int checkOutputs(llvm::ArrayRef<UsedFile> inputs,
                 llvm::ArrayRef<UsedFile> outputs);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_FILES_H
