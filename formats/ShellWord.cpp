//===- ShellWord.cpp - Words of a shell's command line --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/ShellWord.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

std::string rondo::shellWord(llvm::StringRef text) {
  if (!text.empty() && llvm::all_of(text, [](char c) {
        return llvm::isAlnum(c) || llvm::StringRef("/._-+,:=@%").contains(c);
      }))
    return text.str();
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}
