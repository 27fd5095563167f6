//===- Outputs.h - Outputs that replace nothing -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_OUTPUTS_H
#define RONDO_TOOLS_DRIVER_OUTPUTS_H

#include "tools/driver/Arguments.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace rondo::driver {

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

#endif // RONDO_TOOLS_DRIVER_OUTPUTS_H
