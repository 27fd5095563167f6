//===- Version2.h - What is taken of rondo-problem/2 ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/formats.md lays out more than the product has. What is not taken yet may
// stand with its default and is refused by name otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_VERSION2_H
#define RONDO_FORMATS_JSON_VERSION2_H

#include "formats/json/Fields.h"
#include "schedule/Problem.h"

namespace rondo::json {

/// What stands at `where` is laid out, but not taken.
Fault notTaken(const std::string &where);

/// A fault where the key is there and is not the one number that is taken.
/// `prefix` stands before the key in messages.
Fault takesOnly(int64_t taken, const Fields &fields, llvm::StringRef key,
                const std::string &prefix);

/// A fault where one of the keys is there at all.
Fault takesNone(const Fields &fields, llvm::ArrayRef<llvm::StringRef> keys,
                const std::string &prefix);

/// A fault where the key is there and is not the one word that is taken;
/// `other` is laid out.
Fault takesWord(llvm::StringRef taken, llvm::StringRef other,
                const Fields &fields, llvm::StringRef key,
                const std::string &where);

/// `stages` of version 2: homes and costs. The ranks have been read.
Fault readStagesVersion2(const Value &stages, Problem &problem);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_VERSION2_H
