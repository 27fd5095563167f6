//===- Beam.h - Partial schedules, layer by layer ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_BEAM_H
#define RONDO_SCHEDULE_SEARCH_BEAM_H

#include "schedule/search/Budget.h"
#include "schedule/search/Incumbent.h"
#include "schedule/search/Workers.h"

namespace rondo {

/// Layered search over partial schedules, guided by the propagated bound, with
/// at most `width` states per layer. Returns true if states were discarded only
/// by bounds or dominance; then no schedule is better than `best.exhaustedNs`.
/// `workers`, if not null, change only the running time.
bool beam(const FlatProblem &flat, int64_t width, Incumbent &best,
          Budget &budget, Workers *workers = nullptr);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_BEAM_H
