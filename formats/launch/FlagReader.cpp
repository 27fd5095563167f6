//===- FlagReader.cpp - Values of a command's flags -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/launch/FlagReader.h"

#include "kinds/EditDistance.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace rondo;
using namespace rondo::launch;
using llvm::StringRef;
using llvm::Twine;

const Flag *FlagReader::find(StringRef name) {
  asked.insert(name);
  const Flag *found = nullptr;
  for (const Flag &flag : command.flags)
    if (flag.name == name)
      found = &flag;
  return found;
}

void FlagReader::fail(const Twine &text) {
  if (message.empty())
    message = text.str();
}

void FlagReader::failAt(const Flag &flag, const Twine &expected) {
  const std::string found = flag.values.empty()
                                ? " has no value"
                                : " is '" + llvm::join(flag.values, " ") + "'";
  fail(placeOf(flag) + flag.name + found + "; expected " + expected);
}

std::string FlagReader::placeOf(const Flag &flag) {
  return flag.line > 0 ? "line " + std::to_string(flag.line) + ": " : "";
}

bool FlagReader::isSet(StringRef name) {
  const Flag *flag = find(name);
  if (flag && !flag->values.empty())
    failAt(*flag, "no value: the flag is a switch");
  return flag != nullptr;
}

bool FlagReader::read(StringRef name, int64_t &value, int64_t least) {
  const Flag *flag = find(name);
  if (!flag)
    return false;
  int64_t found = 0;
  if (flag->values.size() != 1 ||
      StringRef(flag->values[0]).getAsInteger(10, found) || found < least)
    failAt(*flag, "a whole number from " + Twine(least) + " on");
  else if (found > maxNumber)
    failAt(*flag, "at most " + Twine(maxNumber));
  else
    value = found;
  return true;
}

bool FlagReader::read(StringRef name, double &value) {
  const Flag *flag = find(name);
  if (!flag)
    return false;
  double found = 0;
  if (flag->values.size() != 1 ||
      StringRef(flag->values[0]).getAsDouble(found) || !(found >= 0))
    failAt(*flag, "a number that is not negative");
  else
    value = found;
  return true;
}

int64_t FlagReader::readDevices(int64_t given) {
  const int64_t devices = given > 0 ? given : devicesOf(command);
  if (devices > 0 && devices <= maxNumber)
    return devices;
  fail("the number of devices is not stated: give torchrun's "
       "--nproc-per-node and --nnodes, or --devices");
  return 0;
}

size_t FlagReader::choose(StringRef name, llvm::ArrayRef<StringRef> choices,
                          size_t ifAbsent) {
  const Flag *flag = find(name);
  if (!flag)
    return ifAbsent;
  if (flag->values.size() == 1 && !flag->values[0].empty()) {
    const auto *found = llvm::find(choices, StringRef(flag->values[0]));
    if (found != choices.end())
      return size_t(found - choices.begin());
  }
  llvm::SmallVector<StringRef> named;
  llvm::copy_if(choices, std::back_inserter(named),
                [](StringRef choice) { return !choice.empty(); });
  failAt(*flag, "one of " + llvm::join(named, ", "));
  return ifAbsent;
}

std::string FlagReader::word(StringRef name) {
  const Flag *flag = find(name);
  if (!flag)
    return "";
  if (flag->values.size() != 1)
    failAt(*flag, "one value");
  return flag->values.empty() ? "" : flag->values[0];
}

std::vector<const Flag *> FlagReader::rest() const {
  std::vector<const Flag *> result;
  for (const Flag &flag : command.flags)
    if (!asked.contains(flag.name) &&
        llvm::none_of(result, [&](const Flag *other) {
          return other->name == flag.name;
        }))
      result.push_back(&flag);
  return result;
}

std::string FlagReader::intended(const Flag &flag) const {
  std::string nearest;
  size_t least = 3;
  for (const auto &entry : asked) {
    const std::string name = entry.getKey().str();
    const size_t edits = editDistance(flag.name, name);
    if (edits < least || (edits == least && edits < 3 && name < nearest)) {
      least = edits;
      nearest = name;
    }
  }
  return nearest;
}
