//===- Simulator.h - The one oracle of time and memory ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SIMULATE_SIMULATOR_H
#define RONDO_SCHEDULE_SIMULATE_SIMULATOR_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"
#include "schedule/model/Waits.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rondo {

struct Simulation {
  /// False where the order cannot run to its end; then only `cycle` is filled.
  bool complete = false;
  /// A cycle of ranks, each waiting for the next; a single element that waits
  /// for its own rank where an order contradicts a dependence of that rank.
  std::vector<Wait> cycle;

  int64_t makespanNs = 0;
  /// Longest first start to last end of a single rank; 0 for an idle rank.
  int64_t spanNs = 0;
  /// 1 - work of the busiest rank / makespan; 0 where the makespan is 0.
  double bubble = 0;
  std::vector<int64_t> rankStartNs, rankEndNs, rankWorkNs;
  /// Most bytes held at any instant, by rank, of what the problem declares.
  std::vector<int64_t> peakBytes;

  /// By position in the schedule's action array, filled where asked for.
  std::vector<int64_t> startNs, endNs;
  /// [edge * microbatches + microbatch]: when a message may be used, filled
  /// with the times. Of no meaning where there is none.
  std::vector<int64_t> arrivalNs;
};

/// The peak of the fullest rank.
inline int64_t fullestPeak(const Simulation &simulation) {
  int64_t peak = 0;
  for (int64_t bytes : simulation.peakBytes)
    peak = std::max(peak, bytes);
  return peak;
}

/// Runs the order of every rank as early as possible. The schedule must be
/// complete and well placed, its link orders exact (rules S1, S2 and S6): the
/// caller checks that. Follows the timing rules of rondo-problem/1; link orders
/// are honoured. A message that crosses NICs holds the outgoing side of its
/// sender's and the incoming side of its receiver's for as long as it occupies
/// the link. Of those that have their turn on their link, the one that had it
/// first goes first; of equals, the one of the lower sender, then of the lower
/// receiver. Where it stands still it says who waits for whom.
/// Each lane of a rank runs one task at a time; one that is not on the compute
/// lane starts when all in front of it on that lane has ended, and delays
/// nothing there.
/// O(actions), with NICs O(actions * log ranks); no allocation per action.
Simulation simulate(const Problem &problem, const Schedule &schedule,
                    bool keepTimes = false);

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_SIMULATOR_H
