//===- TraceFields.h - The fields of a trace's events -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_TRACEFIELDS_H
#define RONDO_FORMATS_JSON_TRACEFIELDS_H

#include "formats/json/Fields.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <cstdint>
#include <optional>
#include <string>

namespace rondo::json {

/// Reads members of events; each fault says the place of what is wrong.
class TraceFields {
public:
  explicit TraceFields(llvm::StringRef text) : text(text) {}

protected:
  TextFault at(Value value, const llvm::Twine &message) const {
    return TextFault((value.placeIn(text) + ": " + message).str());
  }
  /// Microseconds, as ns.
  std::optional<TextFault> readTime(Value event, llvm::StringRef key,
                                    int64_t &ns) const;
  /// A member of `object` that is a whole number below `end`.
  std::optional<TextFault> readNumber(Value event, Value object,
                                      llvm::StringRef key, int64_t end,
                                      int64_t &number) const;
  /// A member of `object` that is a string.
  std::optional<TextFault> readText(Value event, Value object,
                                    llvm::StringRef key,
                                    std::string &words) const;

  llvm::StringRef text;
};

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_TRACEFIELDS_H
