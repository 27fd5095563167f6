//===- ProgramNames.h - What all rules of programs share --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_RULES_PROGRAMNAMES_H
#define RONDO_SCHEDULE_RULES_PROGRAMNAMES_H

#include "schedule/Program.h"

namespace rondo {

/// A violation at a place of the program; appends the rule's id to `sentence`.
ProgramViolation violationAt(ProgramRule rule, int32_t rank, int64_t position,
                             const std::string &sentence);

/// `at position 3 of rank 1`.
std::string programPlace(int32_t rank, int64_t position);

/// Every action is of a kind that programs have and names a stage, an edge or a
/// collective that is there, on the rank where it belongs. Every rule asks this
/// first, so that none reads past an array.
std::optional<ProgramViolation>
checkNames(const Problem &problem, const Program &program, ProgramRule rule);

} // namespace rondo

#endif // RONDO_SCHEDULE_RULES_PROGRAMNAMES_H
