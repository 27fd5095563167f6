//===- ShellWord.h - Words of a shell's command line ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_SHELLWORD_H
#define RONDO_FORMATS_SHELLWORD_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace rondo {

/// `text` as one word of a shell's command line, quoted where it must be.
std::string shellWord(llvm::StringRef text);

} // namespace rondo

#endif // RONDO_FORMATS_SHELLWORD_H
