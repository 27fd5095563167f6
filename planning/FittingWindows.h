//===- FittingWindows.h - Overlapping orders that fit -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A search of windows counts activations and versions of the weights. What a
// program of its order allocates in addition, above all for messages, is known
// after lowering.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_FITTINGWINDOWS_H
#define RONDO_PLANNING_FITTINGWINDOWS_H

#include "lowering/Lowering.h"
#include "schedule/search/WindowSearch.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace rondo {

/// The arenas that the program of an order takes, in bytes by rank; nothing if
/// that is unknown.
using ArenasOfOrder = std::function<std::optional<std::vector<int64_t>>(
    const WindowSearchResult &)>;

/// Searches a window for an order whose program fits the problem's devices.
/// While an arena is larger than its device, lowers the cap of that rank in
/// proportion and searches again, with half of the remaining effort and time.
/// Once an order fits, bisects between caps that fit and caps that do not. If
/// none fits, tries one micro-batch at a time; the fault of a result without an
/// order names the rank that lacks most for that, and the memory that is
/// enough. The result's problem has the caps of `window`. If the problem has no
/// state of devices or no limits, or if arenas are unknown, the result is that
/// of searchWindow().
WindowSearchResult searchFittingWindow(const Problem &window,
                                       const WindowSearchOptions &options,
                                       const ArenasOfOrder &arenasOf);

/// Makes a plan's problem count the bytes of its stages' weights, of which a
/// window may keep several versions.
void countWeights(const PlanFigures &figures, Problem &problem);

} // namespace rondo

#endif // RONDO_PLANNING_FITTINGWINDOWS_H
