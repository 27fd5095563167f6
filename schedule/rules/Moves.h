//===- Moves.h - L5 of gathers and reductions -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_RULES_MOVES_H
#define RONDO_SCHEDULE_RULES_MOVES_H

#include "schedule/program/Program.h"

namespace rondo {

/// L5 of the gathers and reductions of a rank whose names are there: each is
/// awaited once, before what it gathers or adds is read.
std::optional<Fault> checkMoves(const Problem &problem, const Program &program,
                                int32_t rank);

} // namespace rondo

#endif // RONDO_SCHEDULE_RULES_MOVES_H
