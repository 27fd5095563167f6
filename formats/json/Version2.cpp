//===- Version2.cpp - The supported part of rondo-problem/2 ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/Version2.h"

#include "formats/json/ProblemParts.h"

using llvm::ArrayRef;
using llvm::StringRef;

namespace rondo::json {

TextFault notTaken(const std::string &where) {
  return where + " is part of rondo-problem/2, but not supported yet";
}

std::optional<TextFault> takesOnly(int64_t taken, const Fields &fields,
                                   StringRef key, const std::string &prefix) {
  const Value *value = fields.find(key);
  if (!value || value->integer() == taken)
    return {};
  const std::string where = prefix + key.str();
  int64_t number;
  if (auto fault = readInteger(*value, where, 1, maxFigure, number))
    return fault;
  return notTaken(where + " " + value->excerpt());
}

std::optional<TextFault> takesNone(const Fields &fields,
                                   ArrayRef<StringRef> keys,
                                   const std::string &prefix) {
  for (StringRef key : keys)
    if (fields.find(key))
      return notTaken(prefix + key.str());
  return {};
}

std::optional<TextFault> takesWord(StringRef taken, StringRef other,
                                   const Fields &fields, StringRef key,
                                   const std::string &where) {
  const Value *value = fields.find(key);
  if (!value || value->string() == taken.str())
    return {};
  if (value->string() == other.str())
    return notTaken(where + "." + key.str() + " " + value->excerpt());
  return where + "." + key.str() + " is " + value->excerpt() + ", not \"" +
         taken.str() + "\" or \"" + other.str() + "\"";
}

} // namespace rondo::json
