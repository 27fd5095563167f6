//===- program_values.h - A program as the core knows it --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_ADAPTIVE_PROGRAM_VALUES_H
#define RONDO_RUNTIME_ADAPTIVE_PROGRAM_VALUES_H

#include "runtime/adaptive/batch_tables.h"
#include "runtime/model/executable.h"
#include "schedule/program/Program.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rondo::runtime {

/// A pipeline of an executable, for the core's simulator.
struct ProgramValues {
  /// With the predicted costs and links of the executable's tables, where there
  /// are any.
  Problem problem;
  /// Its order and its slots.
  Program program;
};

/// Reads the tables, and calls the function of every rank with a rank that only
/// writes its actions down. O(actions).
ProgramValues valuesOf(const Executable &executable,
                       const ProgramDesc &program);

//===----------------------------------------------------------------------===//
// Programs that the search has found.
//===----------------------------------------------------------------------===//

/// The micro-batches and the time of a program for the documents of one batch.
struct BatchProgram {
  /// Null: the micro-batches are those of the program that it is like.
  std::shared_ptr<const BatchTables> tables;
  /// Predicted time of an iteration; 0: unknown.
  int64_t predictedNs = 0;
};

/// The tables of a program that no compiler wrote. Its ranks read their actions
/// from a table instead of being functions.
class FoundProgram {
public:
  /// `like`: a program of the executable with the same replicas, edges and
  /// micro-batches, whose connections this one uses; it must outlive this
  /// object. `problem`: that of its values. Throws Error where `program` is not
  /// one of its kind.
  FoundProgram(const ProgramDesc &like, std::string name, Program program,
               const Problem &problem, BatchProgram batch = {});
  FoundProgram(const FoundProgram &) = delete;
  FoundProgram &operator=(const FoundProgram &) = delete;

  /// Its number is that of `like`.
  const ProgramDesc &desc() const { return tables; }
  /// The content of the tables, for the core.
  const Program &program() const { return values; }
  const BatchProgram &batch() const { return ofBatch; }

private:
  void addCopies(const Problem &problem);
  int64_t recordingOf() const;

  const std::string name;
  const Program values;
  const BatchProgram ofBatch;
  /// One entry per rank: the number of actions, then two numbers for each.
  std::vector<std::vector<int64_t>> actions;
  std::vector<RankDesc> ranks;
  std::vector<PoolDesc> pools;
  std::vector<std::vector<uint16_t>> slots;
  std::vector<PlaceDesc> places;
  std::vector<int32_t> staging;
  /// One entry per rank; empty: no rank copies activations.
  std::vector<RankCopiesDesc> copies;
  std::vector<std::vector<CopyDesc>> copyLists;
  std::vector<std::vector<LaneWaitDesc>> waitLists;
  ProgramDesc tables;
};

/// As text for other processes of the run, and back; they have the same
/// executable. Throws Error where the text is not of that form.
std::string encode(const FoundProgram &found);
std::shared_ptr<const FoundProgram> decode(const std::string &text,
                                           const Executable &executable);

//===----------------------------------------------------------------------===//
// Searches for schedules.
//===----------------------------------------------------------------------===//

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

#endif // RONDO_RUNTIME_ADAPTIVE_PROGRAM_VALUES_H
