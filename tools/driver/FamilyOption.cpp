//===- FamilyOption.cpp - What --family asks for --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/FamilyOption.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

#include <limits>

using namespace llvm;

namespace rondo::driver {

/// The first parameter of a family whose number int64 does not hold.
static std::optional<std::string> largeParameter(StringRef text) {
  SmallVector<StringRef> pairs;
  text.split(':').second.split(pairs, ',');
  for (StringRef pair : pairs) {
    StringRef digits = pair.split('=').second;
    digits.consume_front("-");
    int64_t number;
    if (!digits.empty() && all_of(digits, isDigit) &&
        digits.getAsInteger(10, number))
      return pair.str();
  }
  return std::nullopt;
}

std::optional<std::string> chooseFamilies(const std::string &text,
                                          std::vector<FamilyChoice> &choices) {
  if (text == "all") {
    append_range(choices, allFamilies());
    return std::nullopt;
  }
  if (std::optional<std::string> pair = largeParameter(text))
    return "'" + *pair + "' in '" + text +
           "' is too large; numbers are at most " +
           std::to_string(std::numeric_limits<int64_t>::max());
  auto choice = parseFamily(text);
  if (!choice)
    return describe(choice.fault());
  choices.push_back(*choice);
  return std::nullopt;
}

} // namespace rondo::driver
