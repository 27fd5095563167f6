//===- ProblemParts.h - What both versions of a problem have ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_PROBLEMPARTS_H
#define RONDO_FORMATS_JSON_PROBLEMPARTS_H

#include "formats/json/Fields.h"
#include "schedule/model/Problem.h"

#include <string>

namespace rondo::json {

/// Keeps single figures away from the end of int64; Problem::check() has all
/// tighter limits.
inline constexpr int64_t maxFigure = int64_t(1) << 62;

/// `list[index]`.
std::string element(llvm::StringRef list, size_t index);

/// Reads the number of a rank; all ranks have been read.
std::optional<TextFault> readRank(const Value &value, const std::string &where,
                                  const Problem &problem, int64_t &rank);

/// A cap in bytes, or null for none.
std::optional<TextFault> readMemory(const Value &value,
                                    const std::string &where, int64_t &cap);

/// Reads the required `name`. From then on messages can name the problem.
std::optional<TextFault> readName(const Fields &fields, Problem &problem);

/// Reads the required `microbatches`.
std::optional<TextFault> readMicrobatches(const Fields &fields,
                                          Problem &problem);

/// Reads `objective` if present.
std::optional<TextFault> readObjective(const Fields &fields, Problem &problem);

/// Reads keys of a link that only one version has.
using ReadMore = std::optional<TextFault> (*)(const Fields &fields,
                                              const std::string &where);

/// Reads `link` and `links` if present. Their objects may have the keys `more`,
/// which `readMore` reads; it may be null if there are none.
std::optional<TextFault> readLinks(const Fields &fields,
                                   llvm::ArrayRef<llvm::StringRef> more,
                                   ReadMore readMore, Problem &problem);

/// Reads everything but `format`, which has been read. The result is unchecked.
std::optional<TextFault> readVersion1(Value object, Problem &problem);
std::optional<TextFault> readVersion2(Value object, Problem &problem);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_PROBLEMPARTS_H
