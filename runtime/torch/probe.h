//===- probe.h - Programs that probe tasks ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TORCH_PROBE_H
#define RONDO_RUNTIME_TORCH_PROBE_H

#include "runtime/base/error.h"
#include "runtime/torch/rondo_torch.h"

#include <cstdio>
#include <exception>

namespace rondo::torch {

/// Runs tasks on the buffers of a file.
class TaskRunner {
public:
  virtual ~TaskRunner() = default;
  /// Returns the address at which tasks find the contents; it may be a copy.
  virtual char *take(char *contents, int64_t bytes) = 0;
  /// Returns once the task has ended, with null or a fault.
  virtual const char *run(const Task &task, const rondo_layer &layer,
                          rondo_task &buffers) = 0;
  /// Copies what tasks have written into the contents.
  virtual void giveBack() = 0;
};

/// Obeys `run` and `time`. Throws Error if that fails.
int probeTasks(int argc, char **argv, TaskRunner &runner, const Probed *tasks,
               int32_t numTasks, const rondo_layer &layer);

/// The exit code of a probe, which prints its error.
template <typename Body> int exitCodeOf(const Body &body) try {
  return body();
} catch (const std::exception &error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}

} // namespace rondo::torch

#endif // RONDO_RUNTIME_TORCH_PROBE_H
