//===- DelayTable.h - Delays of a run of any length -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many updates late every task of an order that repeats is: a finite list,
// which programs carry and which decides what they read.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SIMULATE_DELAYTABLE_H
#define RONDO_SCHEDULE_SIMULATE_DELAYTABLE_H

#include "schedule/simulate/VersionAnalysis.h"

#include <cstdint>
#include <vector>

namespace rondo {

/// A task of micro-batch m, in iteration t, reads version t - delay.
struct DelayTable {
  /// By replica and micro-batch, as many as are listed. From there on the last
  /// `period` ones repeat.
  std::vector<std::vector<int32_t>> forward, backward, recompute;
  int64_t period = 0;

  int64_t size() const {
    return forward.empty() ? 0 : static_cast<int64_t>(forward.front().size());
  }
  int64_t indexOf(int64_t microbatch) const {
    const int64_t listed = size();
    return microbatch < listed
               ? microbatch
               : listed - period + (microbatch - listed) % period;
  }
  /// Of the part that repeats.
  double meanForward(int32_t replica) const { return meanOf(forward[replica]); }
  double meanBackward(int32_t replica) const {
    return meanOf(backward[replica]);
  }
  double meanRecompute(int32_t replica) const {
    return meanOf(recompute[replica]);
  }
  /// Of tasks of a kind.
  const std::vector<int32_t> &of(int32_t replica, ActionKind kind) const {
    return (kind == ActionKind::Forward     ? forward
            : kind == ActionKind::Recompute ? recompute
                                            : backward)[replica];
  }

private:
  double meanOf(const std::vector<int32_t> &delays) const;
};

/// The delays that a window's versions settle to. `underWay` are the iterations
/// that are under way at once: at its end the window drains, so that times and
/// what depends on them differ there. Each repetition adds `iterationsEach`.
/// Where versions depend on times and these do not repeat with the order, the
/// largest delay of the second half counts: that version is there as well.
/// The window has more than `underWay` + 2 * `iterationsEach` iterations.
DelayTable settledDelays(const Problem &window, const VersionAnalysis &versions,
                         int64_t underWay, int64_t iterationsEach);

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_DELAYTABLE_H
