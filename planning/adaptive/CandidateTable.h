//===- CandidateTable.h - Finds candidates and keeps the useful -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_ADAPTIVE_CANDIDATETABLE_H
#define RONDO_PLANNING_ADAPTIVE_CANDIDATETABLE_H

#include "planning/Deadline.h"
#include "planning/adaptive/Candidate.h"

#include <atomic>

namespace rondo {

/// The schedule that the program runs by default.
struct WrittenSchedule {
  std::string name;
  /// `1f1b`; empty if no family wrote it.
  std::string family;
  Schedule schedule;
};

struct CandidateOptions {
  /// Empty: networkStates() of the plan as written.
  std::vector<NetworkState> states;
  /// The maximum number of candidates in the program, 2 or more.
  int64_t most = 8;
  /// Whether to search for schedules in addition to kfkb.
  bool searches = true;
  uint64_t seed = 0;
  /// Effort of all searches together, in units of 1,000 tasks placed or timed;
  /// 0: no limit. The same seed and effort give the same candidates unless time
  /// runs out first.
  int64_t effort = 0;
  /// Half of it is for kfkb, half for searches.
  Deadline deadline;
  const std::atomic<bool> *interrupt = nullptr;
};

struct CandidateTable {
  std::vector<NetworkState> states;
  /// Indexed by Candidate::plan; the first is the plan as written.
  std::vector<SizedPlan> plans;
  /// The first is the schedule as written, lowered as `rondo compile` does.
  /// Then kfkb by ascending k and number of micro-batches, then searched ones.
  std::vector<Candidate> candidates;
  /// Places of the kept candidates, in the program's order: the written one
  /// first.
  std::vector<size_t> kept;
  /// [state]: the place of the fastest kept candidate.
  std::vector<size_t> best;
  /// Whether time ended before everything was tried.
  bool isCutShort = false;
};

/// Tries kfkb with all groups and sizes of micro-batches, and searches in every
/// state of the network. Every schedule is lowered for each state, since a
/// receive that is posted just in time for a fast network comes too late for a
/// slow one. The programs are proved, and timed in every state. Keeps the
/// written schedule, one with k = 1, and those that are at least 1 % faster
/// than the other kept ones in some state, the most useful first. Half of the
/// places are for schedules with the micro-batches as written. Candidates that
/// are not kept have a reason.
///
/// Returns a fault if the plan or the schedule as written does not run.
/// O(schedules * states^2 * actions), and the searches.
Result<CandidateTable> findCandidates(const SizedPlans &plans,
                                      const WrittenSchedule &written,
                                      const CandidateOptions &options);

} // namespace rondo

#endif // RONDO_PLANNING_ADAPTIVE_CANDIDATETABLE_H
