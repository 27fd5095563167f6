//===- Moves.h - L5 of gathers and reductions -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_RULES_MOVES_H
#define RONDO_SCHEDULE_RULES_MOVES_H

#include "schedule/program/Program.h"

namespace rondo {

/// L5 for the gathers and reductions of a rank: each is awaited once, before
/// the gathered or reduced result is read. Precondition: checkNames() passed.
std::optional<Fault> checkMoves(const Problem &problem, const Program &program,
                                int32_t rank);

} // namespace rondo

#endif // RONDO_SCHEDULE_RULES_MOVES_H
