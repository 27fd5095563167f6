//===- schedule_search.h - Searches while a program trains ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_ADAPTIVE_SCHEDULE_SEARCH_H
#define RONDO_RUNTIME_ADAPTIVE_SCHEDULE_SEARCH_H

#include "runtime/adaptive/program_values.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::runtime {

/// Input of a search for a faster order of a program's tasks.
struct SearchRequest {
  const Executable &executable;
  /// Its micro-batches, replicas and collectives are those of the new program.
  const ProgramDesc &like;
  /// The values of `like`, with costs and links as last measured.
  const ProgramValues &values;
  /// Limit of each attempt; two more follow if the first gains less than 1 %.
  int64_t timeLimitMs = 0;
  /// Set to end the search with the best so far.
  const std::atomic<bool> *interrupt = nullptr;
  uint64_t seed = 0;
  /// Programs with the same micro-batches, whose orders it starts from. What it
  /// finds may be one of these orders, with its messages at better places.
  std::vector<const Program *> starts = {};
};

struct FoundSchedule {
  /// With messages and slots; its state lies where that of the executable's
  /// programs does, and its arenas are no larger than the executable's.
  Program program;
  /// Simulated time of an iteration.
  int64_t ns = 0;
  /// No order of these tasks is faster.
  bool isOptimal = false;
};

struct SearchOutcome {
  /// Proved by the rules of schedules and of programs.
  std::optional<FoundSchedule> found;
  /// Why there is none.
  std::string why;
};

/// The search, in librondo_search.a.
struct ScheduleSearch {
  SearchOutcome (*find)(const SearchRequest &request);
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ADAPTIVE_SCHEDULE_SEARCH_H
