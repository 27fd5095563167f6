//===- LibraryOptions.h - Options that come with LLVM -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_LIBRARYOPTIONS_H
#define RONDO_TOOLS_LIBRARYOPTIONS_H

namespace rondo {

/// Removes the options that LLVM's shared library has for its targets and
/// passes. They do nothing in a tool of MLIR, but fill --help, and are
/// suggested for options that are mistyped. Must come before MLIR registers
/// its own.
void removeLibraryOptions();

} // namespace rondo

#endif // RONDO_TOOLS_LIBRARYOPTIONS_H
