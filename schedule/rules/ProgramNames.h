//===- ProgramNames.h - What all rules of programs share --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_RULES_PROGRAMNAMES_H
#define RONDO_SCHEDULE_RULES_PROGRAMNAMES_H

#include "schedule/Program.h"

namespace rondo {

/// Every action is of a kind that programs have and names a home, an edge or a
/// collective that is there, on the rank where it belongs. Every rule asks this
/// first, so that none reads past an array; a fault names `rule`.
std::optional<Fault> checkNames(const Problem &problem, const Program &program,
                                Rule rule);

/// L5 of the gathers and reductions of a rank whose names are there: each is
/// awaited once, before what it gathers or adds is read.
std::optional<Fault> checkMoves(const Problem &problem, const Program &program,
                                int32_t rank);

} // namespace rondo

#endif // RONDO_SCHEDULE_RULES_PROGRAMNAMES_H
