//===- run_trace.h - The trace of a training --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_RUN_TRACE_H
#define RONDO_RUNTIME_TRAINER_RUN_TRACE_H

#include "runtime/execution/program_run.h"
#include "runtime/launch/world.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::runtime {

/// The events that the ranks of a training's pipelines have recorded. All
/// processes make the same calls.
class RunTrace {
public:
  /// `programs`: the pipelines that may run.
  RunTrace(const Executable &executable,
           const std::vector<const ProgramDesc *> &programs);

  /// Moves the events of a run here. Its program may be one that the search has
  /// found, and need not outlive the call.
  void take(ProgramRun &run);
  /// Writes a Chrome trace: pid = rank, tid 0 tasks and waits, tid 1 messages
  /// and collectives, tid 2 runs. Process 0 writes. Throws Error.
  void write(const std::string &path, const World &world);

  /// Indexed by rank, in the order of the records; `program` counts the
  /// programs of the executable, then those that were found.
  const std::vector<std::vector<TraceEvent>> &events() const { return traces; }
  /// For a found program, the compiled one whose connections it uses.
  const ProgramDesc &programOf(const TraceEvent &event) const;
  const std::string &nameOf(const TraceEvent &event) const {
    return names[static_cast<size_t>(event.program)];
  }

private:
  int32_t numberOf(const ProgramDesc &program);
  void collect(const World &world);

  const Executable &exe;
  std::vector<std::vector<TraceEvent>> traces;
  /// Indexed by number: names, and ids of compiled programs.
  std::vector<std::string> names;
  std::vector<int32_t> ids;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_RUN_TRACE_H
