//===- Fields.cpp - The members of a JSON object --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/Fields.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>
#include <utility>

using llvm::ArrayRef;
using llvm::StringRef;

namespace rondo::json {

/// A fault if an object in `value` has a key twice.
static std::optional<TextFault> checkKeys(Value value,
                                          const std::string &where) {
  if (value.isArray()) {
    Elements walk(value);
    for (size_t i = 0; std::optional<Value> element = walk.next(); ++i)
      if (auto fault =
              checkKeys(*element, where + "[" + std::to_string(i) + "]"))
        return fault;
  }
  if (!value.isObject())
    return {};
  std::set<std::string> keys;
  Members walk(value);
  while (std::optional<Member> member = walk.next()) {
    if (!keys.insert(member->key).second)
      return "key " + quoted(member->key) + " appears twice in " + where;
    if (auto fault = checkKeys(member->value, where + "." + member->key))
      return fault;
  }
  return {};
}

std::optional<TextFault> readAnyObject(Value value, StringRef where) {
  return value.isObject()
             ? checkKeys(value, where.str())
             : where.str() + " is " + value.excerpt() + ", not an object";
}

/// The key under which files of an earlier version have what `known` lists
/// under another one; the key itself if it is known, or was never used.
static StringRef currentKey(StringRef key, ArrayRef<StringRef> known) {
  static constexpr std::pair<const char *, const char *> earlier[] = {
      {"homes", "replicas"}, {"cards", "nics"}, {"card", "nic"}};
  for (const auto &[old, current] : earlier)
    if (key == old && llvm::is_contained(known, StringRef(current)))
      return current;
  return key;
}

std::optional<TextFault> Fields::read(Value value, StringRef where,
                                      ArrayRef<StringRef> required,
                                      ArrayRef<StringRef> optional) {
  if (!value.isObject())
    return where.str() + " is not an object";
  Members walk(value);
  while (std::optional<Member> member = walk.next()) {
    member->key = currentKey(currentKey(member->key, required), optional).str();
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

std::optional<Value> findMember(Value object, StringRef key) {
  if (!object.isObject())
    return std::nullopt;
  Members walk(object);
  while (std::optional<Member> member = walk.next())
    if (member->key == key)
      return member->value;
  return std::nullopt;
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
  if (!value.isWholeNumber())
    return fault + ", not a whole number";
  if (found ? *found < least : value.excerpt().front() == '-')
    return fault + "; it must be " + std::to_string(least) + " or more";
  return fault + "; it must be at most " + std::to_string(most);
}

} // namespace rondo::json
