//===- FaultText.cpp - Faults in words ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Fault.h"
#include "schedule/Shortfall.h"

#include <cstring>

using namespace rondo;

namespace {

constexpr const char *sentences[] = {
#define FAULT(kind, sentence) sentence,
#include "schedule/Faults.def"
};

std::string text(int64_t n) { return std::to_string(n); }

/// A part in the words that `form` asks for: see Faults.def.
std::string textOf(const FaultPart &part, const std::string &form) {
  if (auto *word = std::get_if<std::string>(&part))
    return *word;
  const int64_t number = std::get<int64_t>(part);
  if (form.empty())
    return text(number);
  if (form == "is")
    return number == 1 ? "is" : "are";
  return text(number) + " " + form + (number == 1 ? "" : "s");
}

/// What stands in braces.
std::string valueOf(const std::string &name, const Fault &fault) {
  if (name == "rank")
    return text(fault.rank);
  if (name == "found")
    return text(fault.found);
  if (name == "allowed")
    return text(fault.allowed);
  return textOf(fault.parts.at(name[0] - '0'),
                name.size() > 1 ? name.substr(2) : "");
}

} // namespace

std::string rondo::describe(const Fault &fault) {
  if (fault.kind == FaultKind::Shortfall)
    return describeShortfall(fault);
  std::string said;
  for (const char *c = sentences[static_cast<int>(fault.kind)]; *c; ++c) {
    if (*c != '{') {
      said += *c;
      continue;
    }
    const char *end = std::strchr(c, '}');
    said += valueOf(std::string(c + 1, end), fault);
    c = end;
  }
  return said;
}
