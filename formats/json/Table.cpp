//===- Table.cpp - Objects of JSON formats as tables of keys --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/Table.h"

#include "formats/json/Rows.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using llvm::StringRef;

namespace rondo::json {

std::string Place::path() const {
  if (!parent)
    return name.str();
  // Paths of the document's members begin with their key.
  std::string path = parent->parent || index >= 0 ? parent->path() : "";
  if (index >= 0)
    return path + "[" + std::to_string(index) + "]";
  return path.empty() ? name.str() : path + "." + name.str();
}

std::string Place::mark(Value value) const {
  return context.text.empty() ? "" : value.placeIn(context.text) + ": ";
}

std::optional<TextFault> readNumber(const Place &place, Value value,
                                    const Range &range, int64_t &number) {
  if (range.nullIs && value.isNull()) {
    number = *range.nullIs;
    return {};
  }
  const int64_t most =
      range.mostOf < 0
          ? range.most
          : std::min(range.most, place.context.limits[range.mostOf]);
  // The path of what is right is never made.
  if (const std::optional<int64_t> found = value.integer();
      found && *found >= range.least && *found <= most) {
    number = *found;
    return {};
  }
  return readInteger(value, place.of(value), range.least, most, number);
}

const Key *TableBase::find(StringRef name, int version) const {
  for (const auto &key : rows)
    if (key->since <= version &&
        (name == key->name || (key->earlier && name == key->earlier)))
      return key.get();
  return nullptr;
}

TextFault TableBase::unknownKey(const Place &place, Value value, StringRef name,
                                int version) const {
  std::string known;
  for (const bool isRequired : {true, false})
    for (const auto &key : rows)
      if (key->since <= version && key->isRequiredIn(version) == isRequired)
        known += (known.empty() ? "" : ", ") + std::string(key->name);
  return place.mark(value) + "unknown key " + quoted(name) + " in " +
         place.path() + "; known keys are " + known;
}

std::optional<TextFault> TableBase::readInto(const Place &place, Value value,
                                             void *object) const {
  if (!value.isObject())
    return place.fault(value, " is not an object");
  const int version = place.context.version;
  std::vector<std::pair<const Key *, Value>> found;
  Members walk(value);
  while (std::optional<Member> member = walk.next()) {
    const Key *key = find(member->key, version);
    if (!key)
      return unknownKey(place, value, member->key, version);
    for (const auto &[other, text] : found)
      if (other == key)
        return TextFault(place.mark(value) + "key " + quoted(key->name) +
                         " appears twice in " + place.path());
    found.emplace_back(key, member->value);
  }
  const auto valueOf = [&](const Key *key) -> const Value * {
    for (const auto &[other, text] : found)
      if (other == key)
        return &text;
    return nullptr;
  };
  for (const auto &key : rows)
    if (key->since <= version && key->isRequiredIn(version) &&
        !valueOf(key.get()))
      return TextFault(place.mark(value) + "missing key " + quoted(key->name) +
                       " in " + place.path());
  for (const auto &key : rows)
    if (const Value *text = valueOf(key.get()))
      if (auto fault = key->read(place[key->name], *text, object))
        return fault;
  return check ? check(place, value, object) : std::nullopt;
}

void TableBase::writeFrom(llvm::json::OStream &json, const void *object) const {
  for (const auto &key : rows) {
    if (!key->write ||
        (!key->isRequired && !key->isAlwaysWritten && !key->differs(object)))
      continue;
    json.attributeBegin(key->name);
    key->write(json, object);
    json.attributeEnd();
  }
}

std::string listOfWords(llvm::ArrayRef<const char *> words) {
  std::string list;
  for (size_t i = 0; i < words.size(); ++i)
    list += std::string(i == 0                  ? ""
                        : i + 1 == words.size() ? " or "
                                                : ", ") +
            "\"" + words[i] + "\"";
  return list;
}

/// `2^20`, `2^32 - 1`, `-2^62`, and digits of other numbers.
static std::string limitText(int64_t number) {
  constexpr int64_t leastAsPower = 4096;
  if (number <= -leastAsPower)
    return "-" + limitText(-number);
  if (number >= leastAsPower && llvm::isPowerOf2_64(uint64_t(number)))
    return "2^" + std::to_string(llvm::Log2_64(uint64_t(number)));
  if (number >= leastAsPower && llvm::isPowerOf2_64(uint64_t(number) + 1))
    return "2^" + std::to_string(llvm::Log2_64(uint64_t(number) + 1)) + " - 1";
  return std::to_string(number);
}

std::string describeRange(int64_t least, int64_t most) {
  if (least >= 0 && most >= maxFigure - 1)
    return std::to_string(least) + " or more";
  return limitText(least) + " to " + limitText(most);
}

void writeRows(llvm::raw_ostream &os, const TableBase &whole, int version) {
  // Objects in the order of their depth, each table once.
  std::vector<std::pair<const TableBase *, std::string>> objects = {
      {&whole, ""}};
  os << "| key | value | default | meaning |\n|---|---|---|---|\n";
  for (size_t i = 0; i < objects.size(); ++i)
    for (const auto &key : objects[i].first->keys()) {
      if (key->since > version)
        continue;
      const std::string path = objects[i].second + key->name;
      std::string type = key->type;
      if (key->inside) {
        const auto known = llvm::find_if(objects, [&](const auto &object) {
          return object.first == key->inside;
        });
        const std::string inside = path + (key->isList ? "[]" : "");
        if (known == objects.end())
          objects.emplace_back(key->inside, inside + ".");
        else
          type += ", as `" + known->second.substr(0, known->second.size() - 1) +
                  "`";
      }
      const bool isRequired = key->isRequiredIn(version);
      os << "| `" << path << "` | " << type << " | "
         << (isRequired ? "required" : key->byDefault) << " | " << key->meaning
         << " |\n";
    }
}

} // namespace rondo::json
