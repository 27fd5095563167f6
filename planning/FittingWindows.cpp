//===- FittingWindows.cpp - Overlapping orders that fit -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/FittingWindows.h"

#include "planning/Deadline.h"
#include "planning/FitLoop.h"
#include "planning/PlanArenas.h"
#include "schedule/search/WindowJudge.h"

#include <algorithm>

namespace rondo {

namespace {

/// Each attempt takes half of the remaining budget, so later ones find little.
constexpr int64_t maxAttempts = 8;

class FittingWindows {
public:
  FittingWindows(const Problem &window, const WindowSearchOptions &options,
                 const ArenasOfOrder &arenasOf)
      : window(window), options(options), arenasOf(arenasOf),
        limit(options.search.timeLimitMs, options.search.clock),
        effortLeft(options.search.effort), least(leastWindow(window, options)) {
    for (const DeviceMemory &device : window.devices)
      devices.push_back(device.deviceBytes);
  }

  WindowSearchResult run() {
    lowerUntilFitting(
        window.memoryCaps, maxAttempts,
        [&](int64_t) {
          return options.search.interrupt && options.search.interrupt->load();
        },
        [&](int64_t number, const Caps &caps) {
          return attempt(number == 0, caps);
        });
    if (!best.schedule)
      tryLeast();
    best.problem.memoryCaps = window.memoryCaps;
    best.effort = effort;
    best.seconds = seconds;
    return std::move(best);
  }

private:
  using Caps = std::vector<int64_t>;

  /// Searches under `caps` and keeps the result if it is the best that fits.
  /// Returns the caps of the next attempt, or nothing to end.
  std::optional<Caps> attempt(bool isFirst, const Caps &caps) {
    WindowSearchResult found = search(caps);
    const bool isFound = found.schedule.has_value(),
               fits = isFound && !findLack();
    if (fits)
      fitting = caps;
    else
      failed = isFound && fitting.empty() ? heldUnder(caps, found) : caps;
    // The first result is kept for its fault, in case no order fits.
    if (isFirst ||
        (fits && (!best.schedule ||
                  WindowJudge::isBetter(found.figures, best.figures))))
      best = std::move(found);
    if (isFirst && !fits)
      best.schedule.reset();
    if (fits ? isFirst || best.isOptimal : !isFound && fitting.empty())
      return std::nullopt;
    const Caps &same = fitting.empty() ? failed : fitting;
    Caps next = fitting.empty() ? lowered(failed) : between(fitting, failed);
    return next == same ? std::nullopt : std::optional(std::move(next));
  }

  WindowSearchResult search(const Caps &caps) {
    WindowSearchOptions now = options;
    if (options.search.timeLimitMs > 0)
      now.search.timeLimitMs = std::max<int64_t>(1, limit.leftMs() / 2);
    if (options.search.effort > 0) {
      now.search.effort = std::max<int64_t>(1, effortLeft / 2);
      effortLeft -= now.search.effort;
    }
    Problem tightened = window;
    tightened.memoryCaps = caps;
    WindowSearchResult result = searchWindow(tightened, now);
    effort += result.effort;
    seconds += result.seconds;
    arenas.reset();
    if (result.schedule)
      arenas = arenasOf(result);
    return result;
  }

  /// Tries `least`: caps may have been lowered below what fits. If it does not
  /// fit either, its fault is the most useful one.
  void tryLeast() {
    if (!least.schedule)
      return;
    arenas = arenasOf(least);
    std::optional<Fault> lack = findLack();
    if (lack || least.fault) {
      best.fault = lack ? lack : least.fault;
      return;
    }
    const std::optional<Fault> onlyDrained = std::move(best.onlyDrained);
    best = least;
    best.onlyDrained = onlyDrained;
  }

  bool isOver(size_t rank) const {
    const int64_t device = devices[rank];
    return arenas && device != noMemoryCap && (*arenas)[rank] > device;
  }

  /// The fault of the rank whose device lacks the most for the last order;
  /// nothing if all fit.
  std::optional<Fault> findLack() const {
    return arenas ? faultOfArenas(devices, *arenas) : std::nullopt;
  }

  /// Caps of overfull ranks, reduced to the bytes that the order holds: caps
  /// may be far above these.
  std::vector<int64_t> heldUnder(std::vector<int64_t> caps,
                                 const WindowSearchResult &found) const {
    for (size_t rank = 0; rank < caps.size(); ++rank)
      if (isOver(rank))
        caps[rank] = std::min(caps[rank], found.figures.heldBytes[rank]);
    return caps;
  }

  /// Lowers the caps of overfull ranks in proportion, since messages grow with
  /// the activations held, but not below the bytes that `least` holds.
  std::vector<int64_t> lowered(std::vector<int64_t> held) const {
    if (!least.schedule)
      return held;
    const std::vector<int64_t> &floor = least.figures.heldBytes;
    for (size_t rank = 0; rank < held.size(); ++rank) {
      if (!isOver(rank) || held[rank] <= floor[rank])
        continue;
      const DeviceMemory &device = window.devices[rank];
      const int64_t room =
          std::max<int64_t>(0, device.deviceBytes - device.stateBytes);
      const int64_t used = (*arenas)[rank] - device.stateBytes;
      const auto part = static_cast<int64_t>(__int128(held[rank]) * room /
                                             std::max<int64_t>(used, 1));
      held[rank] = std::max(floor[rank], std::min(part, held[rank] - 1));
    }
    return held;
  }

  static std::vector<int64_t> between(const std::vector<int64_t> &fitting,
                                      const std::vector<int64_t> &failed) {
    std::vector<int64_t> middle = fitting;
    for (size_t rank = 0; rank < middle.size(); ++rank)
      middle[rank] += (failed[rank] - fitting[rank]) / 2;
    return middle;
  }

  const Problem &window;
  const WindowSearchOptions &options;
  const ArenasOfOrder &arenasOf;
  const Deadline limit;
  int64_t effortLeft, effort = 0;
  double seconds = 0;
  /// Bytes by rank.
  Caps devices;
  /// The last caps under which an order fitted, if any, and the last under
  /// which none did.
  Caps fitting, failed;
  WindowSearchResult best;
  /// The order with the least memory: one micro-batch at a time.
  const WindowSearchResult least;
  /// The last order's arenas, in bytes by rank; nothing if unknown.
  std::optional<std::vector<int64_t>> arenas;
};

} // namespace

WindowSearchResult searchFittingWindow(const Problem &window,
                                       const WindowSearchOptions &options,
                                       const ArenasOfOrder &arenasOf) {
  const bool isLimited = std::any_of(
      window.devices.begin(), window.devices.end(),
      [](const DeviceMemory &of) { return of.deviceBytes != noMemoryCap; });
  if (!isLimited)
    return searchWindow(window, options);
  return FittingWindows(window, options, arenasOf).run();
}

void countWeights(const PlanFigures &figures, Problem &problem) {
  if (!figures.declaresWeights)
    return;
  problem.weightBytes.assign(problem.numStages(), 0);
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    int64_t &bytes = problem.weightBytes[problem.replicas[replica].stage];
    bytes = std::max(
        bytes, figures.buffers[replica][static_cast<int>(BufferKind::Weights)]);
  }
}

} // namespace rondo
