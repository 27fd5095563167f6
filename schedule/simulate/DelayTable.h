//===- DelayTable.h - Delays of a run of any length -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The delay in updates of every task of a repeating order, as a finite table.
// Programs carry it; it determines which weight versions their tasks read.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SIMULATE_DELAYTABLE_H
#define RONDO_SCHEDULE_SIMULATE_DELAYTABLE_H

#include "schedule/simulate/VersionAnalysis.h"

#include <cstdint>
#include <vector>

namespace rondo {

/// Delays of tasks: a task of a micro-batch in iteration t reads version t -
/// delay.
struct DelayTable {
  /// [replica][micro-batch]; after the listed ones, the last `period` repeat.
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
  /// Mean delay of the tasks in the repeating part, in updates.
  double meanForward(int32_t replica) const { return meanOf(forward[replica]); }
  double meanBackward(int32_t replica) const {
    return meanOf(backward[replica]);
  }
  double meanRecompute(int32_t replica) const {
    return meanOf(recompute[replica]);
  }
  /// The delays of tasks of a kind.
  const std::vector<int32_t> &of(int32_t replica, ActionKind kind) const {
    return (kind == ActionKind::Forward     ? forward
            : kind == ActionKind::Recompute ? recompute
                                            : backward)[replica];
  }

private:
  double meanOf(const std::vector<int32_t> &delays) const;
};

/// The delays that a window's versions settle to. `underWay` is the number of
/// iterations under way at once; as many are ignored at the end of the window,
/// where it drains and times differ. A repetition has `iterationsEach`
/// iterations. If versions depend on times that do not repeat with the order,
/// takes the largest delay in the second half of the window; that older version
/// is available too. Precondition: the window has more than `underWay` + 2 *
/// `iterationsEach` iterations.
DelayTable settledDelays(const Problem &window, const VersionAnalysis &versions,
                         int64_t underWay, int64_t iterationsEach);

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_DELAYTABLE_H
