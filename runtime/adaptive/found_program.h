//===- found_program.h - A program that came during a run -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_ADAPTIVE_FOUND_PROGRAM_H
#define RONDO_RUNTIME_ADAPTIVE_FOUND_PROGRAM_H

#include "runtime/model/executable.h"
#include "schedule/program/Program.h"

#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

/// The tables of a program that no compiler wrote. Its ranks read their actions
/// from a table instead of being functions.
class FoundProgram {
public:
  /// `like`: a program of the executable with the same replicas, edges and
  /// micro-batches, whose connections this one uses; it must outlive this
  /// object. Throws Error where `program` is not one of its kind.
  FoundProgram(const ProgramDesc &like, std::string name, Program program,
               const std::vector<Edge> &edges);
  FoundProgram(const FoundProgram &) = delete;
  FoundProgram &operator=(const FoundProgram &) = delete;

  /// Its number is that of `like`.
  const ProgramDesc &desc() const { return tables; }
  /// The content of the tables, for the core.
  const Program &program() const { return values; }

private:
  const std::string name;
  const Program values;
  /// One entry per rank: the number of actions, then two numbers for each.
  std::vector<std::vector<int64_t>> actions;
  std::vector<RankDesc> ranks;
  std::vector<PoolDesc> pools;
  std::vector<std::vector<uint16_t>> slots;
  std::vector<PlaceDesc> places;
  std::vector<int32_t> staging;
  ProgramDesc tables;
};

/// As text for other processes of the run, and back; they have the same
/// executable. Throws Error where the text is not of that form.
std::string encode(const FoundProgram &found);
std::shared_ptr<const FoundProgram> decode(const std::string &text,
                                           const Executable &executable);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ADAPTIVE_FOUND_PROGRAM_H
