//===- FittingWindows.h - Overlapping orders that fit -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A search of windows counts activations and versions of the weights. What a
// program of its order allocates beside them, above all for messages, is known
// once it has been lowered.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_FITTINGWINDOWS_H
#define RONDO_PLANNING_FITTINGWINDOWS_H

#include "schedule/search/WindowSearch.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace rondo {

/// The arenas that the program of an order takes, in bytes by rank; nothing
/// where that cannot be told.
using ArenasOfOrder = std::function<std::optional<std::vector<int64_t>>(
    const WindowSearchResult &)>;

/// Searches a window for an order whose program fits the problem's devices.
/// While an arena is larger than its device, the cap of that rank is lowered in
/// proportion, and the search runs again, in half of the effort and time that
/// are left; once an order fits, with caps between those that fit and those
/// that do not. If none fits, one micro-batch at a time is tried; a result
/// without an order says which rank lacks most for that, and how much memory is
/// enough for it. The result's problem has the caps of `window`. Where it knows
/// no state of devices or no limits, or arenas cannot be told, the result is
/// that of searchWindow().
WindowSearchResult searchFittingWindow(const Problem &window,
                                       const WindowSearchOptions &options,
                                       const ArenasOfOrder &arenasOf);

} // namespace rondo

#endif // RONDO_PLANNING_FITTINGWINDOWS_H
