//===- TraceFields.cpp - The fields of a trace's events -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/json/TraceFields.h"

#include <cmath>

using llvm::StringRef;

namespace rondo::json {

/// Three days, so that sums of times do not overflow.
static constexpr double maxUs = 0x1p38;

std::optional<TextFault> TraceFields::readTime(Value event, StringRef key,
                                               int64_t &ns) const {
  const std::optional<Value> value = findMember(event, key);
  const std::optional<double> us = value ? value->number() : std::nullopt;
  if (!us || !(*us >= 0 && *us <= maxUs))
    return at(value ? *value : event,
              value ? key + " is " + value->excerpt() +
                          ", not microseconds of 0 or more"
                    : "the event has no \"" + key + "\"");
  ns = std::llround(*us * 1000);
  return std::nullopt;
}

std::optional<TextFault> TraceFields::readNumber(Value event, Value object,
                                                 StringRef key, int64_t end,
                                                 int64_t &number) const {
  const std::optional<Value> value = findMember(object, key);
  const std::optional<int64_t> whole = value ? value->integer() : std::nullopt;
  if (!value)
    return at(event, "the event has no \"" + key + "\"");
  if (!whole || *whole < 0 || *whole >= end)
    return at(*value, key + " is " + value->excerpt() +
                          ", not a whole number from 0 to " +
                          std::to_string(end - 1));
  number = *whole;
  return std::nullopt;
}

std::optional<TextFault> TraceFields::readText(Value event, Value object,
                                               StringRef key,
                                               std::string &words) const {
  const std::optional<Value> value = findMember(object, key);
  const std::optional<std::string> written =
      value ? value->string() : std::nullopt;
  if (!written)
    return at(value ? *value : event,
              value ? key + " is " + value->excerpt() + ", not a string"
                    : "the event has no \"" + key + "\"");
  words = *written;
  return std::nullopt;
}

} // namespace rondo::json
