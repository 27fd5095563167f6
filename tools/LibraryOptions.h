//===- LibraryOptions.h - Options that come with LLVM -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_LIBRARYOPTIONS_H
#define RONDO_TOOLS_LIBRARYOPTIONS_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CommandLine.h"

namespace rondo {

/// Removes the options that LLVM's shared library has for its targets and
/// passes. They do nothing in a tool of MLIR, but fill --help, and are
/// suggested for options that are mistyped. Must come before MLIR registers
/// its own.
inline void removeLibraryOptions() {
  // Options that every tool of LLVM has, such as --help.
  auto isCommon = [](const llvm::cl::Option &option) {
    return llvm::is_contained({"debug", "debug-only", "stats"},
                              option.ArgStr) ||
           llvm::any_of(option.Categories,
                        [](const llvm::cl::OptionCategory *category) {
                          return category->getName() == "Generic Options" ||
                                 category->getName() == "Color Options";
                        });
  };
  llvm::SmallVector<llvm::cl::Option *> removed;
  for (const auto &[name, option] : llvm::cl::getRegisteredOptions())
    if (!isCommon(*option))
      removed.push_back(option);
  for (llvm::cl::Option *option : removed)
    option->removeArgument();
}

} // namespace rondo

#endif // RONDO_TOOLS_LIBRARYOPTIONS_H
