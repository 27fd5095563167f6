//===- found_program.h - A program that a search has found ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_ADAPTIVE_FOUND_PROGRAM_H
#define RONDO_RUNTIME_ADAPTIVE_FOUND_PROGRAM_H

#include "runtime/adaptive/batch_tables.h"
#include "runtime/model/executable.h"
#include "schedule/program/Program.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

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

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ADAPTIVE_FOUND_PROGRAM_H
