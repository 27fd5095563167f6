//===- TimedPipeline.h - A pipeline of timed layers to run ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Set-up that the runtime's benchmarks share.
//
//===----------------------------------------------------------------------===//

#ifndef BENCH_TIMEDPIPELINE_H
#define BENCH_TIMEDPIPELINE_H

#include "runtime/execution/program_run.h"
#include "test/unit/runtime/Fixture.h"

/// The hand-written program of a spec, with its state and connections. Its
/// ranks are threads, each on a core of its own.
class TimedPipeline {
public:
  TimedPipeline(const rondo::runtime::test::Spec &spec, int cores)
      : program(spec), state(program.exe), connections(state, on(cores)) {
    for (const auto &list : spec.pipeline)
      actions += static_cast<int64_t>(list.size());
    state.initialise(1);
  }

  const rondo::runtime::ProgramDesc &desc() const {
    return findProgram(program.exe, rondo::runtime::ProgramKind::Pipeline);
  }

  rondo::runtime::test::Program program;
  rondo::runtime::State state;
  rondo::runtime::Connections connections;
  /// Tasks, sends and receives of an iteration, on all ranks.
  int64_t actions = 0;

private:
  static rondo::runtime::ProgramOptions on(int cores) {
    rondo::runtime::ProgramOptions options;
    options.transport.cores = cores;
    return options;
  }
};

#endif // BENCH_TIMEDPIPELINE_H
