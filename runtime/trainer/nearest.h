//===- nearest.h - Suggests words for mistyped ones -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_NEAREST_H
#define RONDO_RUNTIME_TRAINER_NEAREST_H

#include <string>
#include <vector>

namespace rondo::runtime {

/// The first of the known words that are closest to what was written; empty if
/// more than a third of the letters are wrong in each.
std::string nearestWord(const std::string &written,
                        const std::vector<std::string> &known);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_NEAREST_H
