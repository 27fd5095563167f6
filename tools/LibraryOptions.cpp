//===- LibraryOptions.cpp - Options that come with LLVM -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LibraryOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;

/// Whether it says something in every tool of LLVM, such as --help.
static bool isCommon(const cl::Option &option) {
  return is_contained({"debug", "debug-only", "stats"}, option.ArgStr) ||
         any_of(option.Categories, [](const cl::OptionCategory *category) {
           return category->getName() == "Generic Options" ||
                  category->getName() == "Color Options";
         });
}

void rondo::removeLibraryOptions() {
  SmallVector<cl::Option *> removed;
  for (const auto &[name, option] : cl::getRegisteredOptions())
    if (!isCommon(*option))
      removed.push_back(option);
  for (cl::Option *option : removed)
    option->removeArgument();
}
