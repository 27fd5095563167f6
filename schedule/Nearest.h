//===- Nearest.h - What a mistyped word was meant to be ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_NEAREST_H
#define RONDO_SCHEDULE_NEAREST_H

#include <string>
#include <vector>

namespace rondo {

/// The known word that is nearest to a written one, or empty where none is
/// near: a third of the letters may be others, missing or too many, and two
/// neighbours that changed places count as one. Letters of the other case do
/// not count. Of equally near ones the first by the alphabet. O(letters
/// squared) for each word.
std::string nearestWord(const std::string &written,
                        const std::vector<std::string> &known);

} // namespace rondo

#endif // RONDO_SCHEDULE_NEAREST_H
