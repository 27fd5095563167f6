//===- Nearest.h - Suggestions for mistyped words ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_MODEL_NEAREST_H
#define RONDO_SCHEDULE_MODEL_NEAREST_H

#include <string>
#include <vector>

namespace rondo {

/// The known word nearest to a written one, or empty if none is near. Up to a
/// third of the letters may be wrong, missing or extra; a swap of two adjacent
/// letters counts as one edit. Ignores case. Ties go to the first in
/// alphabetical order. O(letters squared) per word.
std::string nearestWord(const std::string &written,
                        const std::vector<std::string> &known);

} // namespace rondo

#endif // RONDO_SCHEDULE_MODEL_NEAREST_H
