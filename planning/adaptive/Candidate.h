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
  /// The name that its maker knows it by.
  size_t id = 0;
  /// It has passed check(). Its caps are what is left of each device beside the
  /// state of its stages.
  Problem problem;
  PlanFigures figures;
  /// Of the times in `problem`.
  CostSources costs;
};

/// The plans of one model, stages and cluster that differ only in the number
/// and size of micro-batches.
struct SizedPlans {
  /// Of an iteration.
  int64_t samples = 0;
  /// Those that may be asked for, in ascending order; that of the plan as
  /// written is one of them.
  std::vector<int64_t> microbatches;
  /// The plan with so many micro-batches, or why there is none; 0: the plan as
  /// written.
  std::function<Result<SizedPlan>(int64_t microbatches)> make;
};

/// A schedule that a running program may switch to.
struct Candidate {
  enum class Fate : uint8_t {
    /// The program has it.
    Kept,
    /// Its programs do not fit the devices, or do not run; see `fault`.
    NoMemory,
    /// Another candidate, `instead`, has the same order of tasks and takes as
    /// long in every state.
    Same,
    /// Wherever it is fastest, kept ones are nearly as fast.
    NotNeeded,
    /// It would be kept if the program could have more.
    TooMany,
  };

  /// `kfkb k=2`, `search`, or the name of the schedule that was written.
  std::string name;
  /// `kfkb:k=2`; empty where no family wrote it.
  std::string family;
  /// k of kfkb; 0: none.
  int64_t group = 0;
  /// Of SizedPlan.
  size_t plan = 0;
  int64_t microbatches = 0, samples = 0;
  /// Where no family wrote it, what found it in a search.
  Schedule schedule;
  std::optional<SearchResult> found;
  /// The state for which its messages are placed.
  size_t placedFor = 0;
  Fate fate = Fate::Kept;
  size_t instead = 0;
  std::optional<Fault> fault;
  /// Its program with messages, where it runs.
  Program program;
  /// What the programs allocate, by rank; empty where that is unknown.
  std::vector<int64_t> arenaBytes;
  /// An iteration of its program, by state of the network; empty where it has
  /// none.
  std::vector<int64_t> timeNs;
  /// Ada-Grouper would have it: its k and size of micro-batches lie on the
  /// memory limit.
  bool isOnMemoryLimit = false;

  bool runs() const { return !timeNs.empty(); }
  int64_t fullestBytes() const;
};

} // namespace rondo

#endif // RONDO_PLANNING_ADAPTIVE_CANDIDATE_H
