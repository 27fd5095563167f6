//===- Fields.cpp - The members of a JSON object --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/Fields.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::ArrayRef;
using llvm::StringRef;

namespace rondo::json {

std::optional<TextFault> Fields::read(Value value, StringRef where,
                                      ArrayRef<StringRef> required,
                                      ArrayRef<StringRef> optional) {
  if (!value.isObject())
    return where.str() + " is not an object";
  Members walk(value);
  while (std::optional<Member> member = walk.next()) {
    StringRef key = member->key;
    if (!llvm::is_contained(required, key) &&
        !llvm::is_contained(optional, key)) {
      std::string known = llvm::join(required, ", ");
      if (!optional.empty())
        known += (known.empty() ? "" : ", ") + llvm::join(optional, ", ");
      return "unknown key " + quoted(key) + " in " + where.str() +
             "; known keys are " + known;
    }
    if (find(key))
      return "key " + quoted(key) + " appears twice in " + where.str();
    members.push_back(std::move(*member));
  }
  for (StringRef key : required)
    if (!find(key))
      return "missing key " + quoted(key) + " in " + where.str();
  return {};
}

const Value *Fields::find(StringRef key) const {
  for (const Member &member : members)
    if (member.key == key)
      return &member.value;
  return nullptr;
}

std::optional<TextFault> readInteger(Value value, StringRef where,
                                     int64_t least, int64_t most,
                                     int64_t &number) {
  std::optional<int64_t> found = value.integer();
  if (found && *found >= least && *found <= most) {
    number = *found;
    return {};
  }
  std::string fault = where.str() + " is " + value.excerpt();
  if (!found)
    return fault + ", not a whole number";
  if (*found < least)
    return fault + "; it must be " + std::to_string(least) + " or more";
  return fault + "; it must be at most " + std::to_string(most);
}

} // namespace rondo::json
