//===- Counts.h - Numbers with their nouns ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiler and runtime take the plural of a counted noun from here.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_COUNTS_H
#define RONDO_KINDS_COUNTS_H

#include <cstdint>
#include <string>

namespace rondo {

/// The plural of a noun, or of a phrase that ends in one: `rank` gives `ranks`,
/// `micro-batch` gives `micro-batches`, `optimizer step` gives `optimizer
/// steps`, `entry` gives `entries`. Irregular plurals are not supported.
inline std::string pluralOf(const std::string &noun) {
  auto endsIn = [&](const std::string &ending) {
    return noun.size() > ending.size() &&
           noun.compare(noun.size() - ending.size(), ending.size(), ending) ==
               0;
  };
  for (const char *hissing : {"ch", "sh", "s", "x", "z"})
    if (endsIn(hissing))
      return noun + "es";
  for (const char *vowel : {"ay", "ey", "oy", "uy"})
    if (endsIn(vowel))
      return noun + "s";
  if (endsIn("y"))
    return noun.substr(0, noun.size() - 1) + "ies";
  return noun + "s";
}

/// Singular if `count` is 1, otherwise the plural; without the number.
inline std::string nounFor(int64_t count, const std::string &noun) {
  return count == 1 ? noun : pluralOf(noun);
}

/// `1 rank`, `2 ranks`, `0 micro-batches`.
inline std::string countOf(int64_t count, const std::string &noun) {
  return std::to_string(count) + " " + nounFor(count, noun);
}

} // namespace rondo

#endif // RONDO_KINDS_COUNTS_H
