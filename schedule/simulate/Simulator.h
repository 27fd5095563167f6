//===- Simulator.h - Time and memory of schedules ---------------*- C++ -*-===//
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
  /// False if the order deadlocks; then only `cycle` is filled.
  bool complete = false;
  /// Ranks of a wait cycle, each waiting for the next. A single element waits
  /// for its own rank: its order contradicts a dependence.
  std::vector<Wait> cycle;

  int64_t makespanNs = 0;
  /// Maximum over all ranks of last end minus first start; 0 for an idle rank.
  int64_t spanNs = 0;
  /// 1 - work of the busiest rank / makespan; 0 if the makespan is 0.
  double bubble = 0;
  std::vector<int64_t> rankStartNs, rankEndNs, rankWorkNs;
  /// [rank]: peak of the bytes that the problem declares.
  std::vector<int64_t> peakBytes;
  /// [rank]: peak of the bytes that SAVEs leave on the host; empty if the
  /// schedule has no copies.
  std::vector<int64_t> peakHostBytes;

  /// Indexed by position in the schedule's action array; filled with
  /// `keepTimes`.
  std::vector<int64_t> startNs, endNs;
  /// [edge * microbatches + microbatch]: when a message can be used; filled
  /// with `keepTimes`. Undefined for messages that do not exist.
  std::vector<int64_t> arrivalNs;
};

/// The maximum of peakBytes.
inline int64_t fullestPeak(const Simulation &simulation) {
  int64_t peak = 0;
  for (int64_t bytes : simulation.peakBytes)
    peak = std::max(peak, bytes);
  return peak;
}

/// Runs the order of every rank as early as possible, by the timing rules of
/// rondo-problem/1. Link orders are respected.
///
/// Preconditions: the schedule is complete and well placed, and its link orders
/// are exact (rules S1, S2 and S6; with copies also S3, S10 and S12).
///
/// A message that crosses NICs occupies the outgoing side of its sender's NIC
/// and the incoming side of its receiver's NIC for as long as it occupies the
/// link. Among messages that are first on their links, the one that became so
/// first is sent first; ties go to the lower sender, then to the lower
/// receiver.
///
/// Each lane of a rank runs one task at a time. A task on another lane than
/// compute starts when all earlier ones on its lane have ended, and does not
/// delay the compute lane.
///
/// Copies run on lanes of their own, and actions await what CopyWaits.h derives
/// from the list. A shared host link carries one copy at a time in each
/// direction (one at all if it is half duplex), for all its time: in the order
/// of the schedule's copy order, or first ready first, of equals the lowest
/// rank. The peak of a rank with a cap is that of the count along its list;
/// without a cap, what the run holds.
///
/// If the order deadlocks, the result has a wait cycle. O(actions), with NICs
/// O(actions * log ranks); no allocation per action.
Simulation simulate(const Problem &problem, const Schedule &schedule,
                    bool keepTimes = false);

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_SIMULATOR_H
