//===- Candidate.h - Schedules a program may switch to ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_ADAPTIVE_CANDIDATE_H
#define RONDO_PLANNING_ADAPTIVE_CANDIDATE_H

#include "lowering/Lowering.h"
#include "planning/adaptive/CostSource.h"
#include "planning/adaptive/NetworkState.h"
#include "schedule/search/Search.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// A plan whose iteration is split into some number of micro-batches.
struct SizedPlan {
  /// Identifies the plan to its maker.
  size_t id = 0;
  /// It has passed check(). Its caps are each device's memory less the state of
  /// its stages.
  Problem problem;
  PlanFigures figures;
  /// Sources of the times in `problem`.
  CostSources costs;
};

/// The plans of one model, stages and cluster that differ only in the number
/// and size of micro-batches.
struct SizedPlans {
  /// Samples per iteration.
  int64_t samples = 0;
  /// The numbers of micro-batches that may be requested, in ascending order,
  /// including that of the plan as written.
  std::vector<int64_t> microbatches;
  /// The plan with this number of micro-batches, or why there is none; 0: the
  /// plan as written.
  std::function<Result<SizedPlan>(int64_t microbatches)> make;
};

/// A schedule that a running program may switch to.
struct Candidate {
  enum class Fate : uint8_t {
    /// Part of the program.
    Kept,
    /// Its programs do not fit the devices, or do not run; see `fault`.
    NoMemory,
    /// Its stages are sharded, and it does not reduce gradients after the same
    /// micro-batches as the others, with which it would share a reference; see
    /// `fault`.
    OtherReductions,
    /// The candidate `instead` has the same order of tasks and takes equally
    /// long in every state.
    Same,
    /// In every state, a kept candidate is faster or less than 1 % slower.
    NotNeeded,
    /// Useful, but the program has the maximum number of candidates.
    TooMany,
  };

  /// `kfkb k=2`, `search`, or the name of the schedule as written.
  std::string name;
  /// `kfkb:k=2`; empty if no family wrote it.
  std::string family;
  /// k of kfkb; 0: none.
  int64_t group = 0;
  /// The place of its SizedPlan in CandidateTable::plans.
  size_t plan = 0;
  int64_t microbatches = 0, samples = 0;
  /// `found` is the search's result, if a search found the schedule.
  Schedule schedule;
  std::optional<SearchResult> found;
  /// The network state for which its messages are placed.
  size_t placedFor = 0;
  Fate fate = Fate::Kept;
  size_t instead = 0;
  std::optional<Fault> fault;
  /// Its program with messages, if it runs.
  Program program;
  /// The arenas of its programs, in bytes by rank; empty if unknown.
  std::vector<int64_t> arenaBytes;
  /// [network state]: the duration of an iteration of its program; empty if it
  /// has no program.
  std::vector<int64_t> timeNs;
  /// Whether Ada-Grouper would keep it: its k and size of micro-batches lie on
  /// the memory limit.
  bool isOnMemoryLimit = false;

  bool runs() const { return !timeNs.empty(); }
  int64_t fullestBytes() const;
};

} // namespace rondo

#endif // RONDO_PLANNING_ADAPTIVE_CANDIDATE_H
