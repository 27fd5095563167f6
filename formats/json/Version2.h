//===- Version2.h - The supported part of rondo-problem/2 -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/formats.md specifies more than the product supports. What is not
// supported yet may have its default value; otherwise it is refused by name.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_VERSION2_H
#define RONDO_FORMATS_JSON_VERSION2_H

#include "formats/json/Fields.h"
#include "schedule/model/Problem.h"

namespace rondo::json {

/// What is at `where` is specified, but not supported.
TextFault notTaken(const std::string &where);

/// A fault if the key is present and not the one supported number; the format
/// has all from 1. `prefix` precedes the key in messages.
std::optional<TextFault> takesOnly(int64_t taken, const Fields &fields,
                                   llvm::StringRef key,
                                   const std::string &prefix);

/// A fault if any of the keys is present.
std::optional<TextFault> takesNone(const Fields &fields,
                                   llvm::ArrayRef<llvm::StringRef> keys,
                                   const std::string &prefix);

/// A fault if the key is present and not the one supported word; `other` is
/// specified.
std::optional<TextFault> takesWord(llvm::StringRef taken, llvm::StringRef other,
                                   const Fields &fields, llvm::StringRef key,
                                   const std::string &where);

/// Reads `stages` of version 2: replicas and costs. The ranks have been read.
std::optional<TextFault> readStagesVersion2(const Value &stages,
                                            Problem &problem);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_VERSION2_H
