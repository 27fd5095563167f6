//===- FittingWindows.cpp - Overlapping orders that fit -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/FittingWindows.h"

#include "planning/Deadline.h"
#include "schedule/search/WindowJudge.h"

#include <algorithm>

namespace rondo {

namespace {

/// Each takes half of what is left, so the last ones find little more.
constexpr int64_t maxAttempts = 8;

class FittingWindows {
public:
  FittingWindows(const Problem &window, const WindowSearchOptions &options,
                 const ArenasOfOrder &arenasOf)
      : window(window), options(options), arenasOf(arenasOf),
        limit(options.search.timeLimitMs, options.search.clock),
        effortLeft(options.search.effort), least(leastWindow(window, options)) {
  }

  WindowSearchResult run() {
    WindowSearchResult best = attempt(window.memoryCaps);
    std::vector<int64_t> fitting, failed = window.memoryCaps,
                                  caps = window.memoryCaps;
    std::optional<Fault> missing = judge(best);
    if (best.schedule && !missing)
      return finish(std::move(best));
    if (missing) {
      failed = heldUnder(caps, best);
      caps = lowered(failed);
      best.schedule.reset();
    }
    for (int64_t i = 1; i < maxAttempts && caps != failed && !isInterrupted();
         ++i) {
      WindowSearchResult found = attempt(caps);
      missing = judge(found);
      if (found.schedule && !missing) {
        fitting = caps;
        if (!best.schedule ||
            WindowJudge::isBetter(found.figures, best.figures))
          best = std::move(found);
        if (best.isOptimal)
          break;
      } else {
        failed =
            found.schedule && fitting.empty() ? heldUnder(caps, found) : caps;
      }
      if (!fitting.empty()) {
        caps = between(fitting, failed);
        if (caps == fitting)
          break;
      } else if (found.schedule) {
        caps = lowered(failed);
      } else {
        break;
      }
    }
    if (!best.schedule)
      tryLeast(best);
    return finish(std::move(best));
  }

private:
  bool isInterrupted() const {
    return options.search.interrupt && options.search.interrupt->load();
  }

  WindowSearchResult attempt(const std::vector<int64_t> &caps) {
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

  /// Caps may have been lowered below what fits. Otherwise this order says best
  /// what is missing.
  void tryLeast(WindowSearchResult &best) {
    if (!least.schedule)
      return;
    arenas = arenasOf(least);
    std::optional<Fault> missing = judge(least);
    if (missing || least.fault) {
      best.fault = missing ? missing : least.fault;
      return;
    }
    const std::optional<Fault> onlyDrained = std::move(best.onlyDrained);
    best = least;
    best.onlyDrained = onlyDrained;
  }

  bool isOver(size_t rank) const {
    const int64_t device = window.devices[rank].deviceBytes;
    return arenas && device != noMemoryCap && (*arenas)[rank] > device;
  }

  /// The rank whose device lacks the most for the order at hand; nothing if all
  /// fit.
  std::optional<Fault> judge(const WindowSearchResult &found) const {
    std::optional<Fault> worst;
    int64_t most = 0;
    for (size_t rank = 0; found.schedule && rank < window.devices.size();
         ++rank) {
      const int64_t device = window.devices[rank].deviceBytes;
      if (!isOver(rank) || (*arenas)[rank] - device <= most)
        continue;
      most = (*arenas)[rank] - device;
      worst = makeFault<FaultKind::NoProgramFits>(
          *std::max_element(arenas->begin(), arenas->end()));
      worst->rank = static_cast<int32_t>(rank);
      worst->found = (*arenas)[rank];
      worst->allowed = device;
    }
    return worst;
  }

  /// Caps may be far above what an order holds.
  std::vector<int64_t> heldUnder(std::vector<int64_t> caps,
                                 const WindowSearchResult &found) const {
    for (size_t rank = 0; rank < caps.size(); ++rank)
      if (isOver(rank))
        caps[rank] = std::min(caps[rank], found.figures.heldBytes[rank]);
    return caps;
  }

  /// Messages grow with what is held; what one micro-batch at a time takes
  /// stays.
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

  WindowSearchResult finish(WindowSearchResult result) const {
    result.problem.memoryCaps = window.memoryCaps;
    result.effort = effort;
    result.seconds = seconds;
    return result;
  }

  const Problem &window;
  const WindowSearchOptions &options;
  const ArenasOfOrder &arenasOf;
  const Deadline limit;
  int64_t effortLeft, effort = 0;
  double seconds = 0;
  /// The order that takes least.
  const WindowSearchResult least;
  /// Of the order at hand.
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

} // namespace rondo
