//===- schedules.h - Which of its schedules an executable runs --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_SCHEDULES_H
#define RONDO_RUNTIME_TRAINER_SCHEDULES_H

#include "runtime/model/executable.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace rondo::runtime {

/// A schedule's name, and the number of iterations it runs.
struct ScheduleTurn {
  std::string name;
  int64_t iterations = 1;
};

/// Parses `NAME[:ITERATIONS]`, several separated by commas. Throws Error with
/// Exit::Usage.
std::vector<ScheduleTurn> parseTurns(const std::string &text);

/// The pipelines of an executable, in its order.
std::vector<const ProgramDesc *> pipelinesOf(const Executable &executable);

/// `gpipe: 8 micro-batches of 4 samples`.
std::string describe(const ProgramDesc &program);

/// The pipelines that run in turn.
class Turns {
public:
  /// Empty: the first pipeline. Throws Error with Exit::Usage if the executable
  /// has no schedule of that name.
  Turns(const Executable &executable, const std::vector<ScheduleTurn> &turns);

  /// Iterations count from 1, so that a resumed run goes on in the same turn.
  const ProgramDesc &at(int64_t iteration) const;
  /// Number of iterations that run at once from `first` on, up to `last`: if
  /// they overlap, until another program follows or one is a multiple of a
  /// number in `stops`; 0 is none.
  int64_t together(int64_t first, int64_t last,
                   std::initializer_list<int64_t> stops) const;
  /// Each one once, in the order of their first turns.
  const std::vector<const ProgramDesc *> &programs() const { return used; }
  /// As on the command line, with nothing left out.
  std::string text() const;

private:
  struct Turn {
    const ProgramDesc *program;
    int64_t iterations;
  };
  std::vector<Turn> turns;
  std::vector<const ProgramDesc *> used;
  int64_t round = 0;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_SCHEDULES_H
