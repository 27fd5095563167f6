//===- adaptation.h - A run that changes its schedule -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_ADAPTATION_H
#define RONDO_RUNTIME_TRAINER_ADAPTATION_H

#include "runtime/adaptive/background.h"
#include "runtime/adaptive/tuner.h"
#include "runtime/trainer/progress.h"
#include "runtime/trainer/trainer.h"

#include <memory>
#include <optional>
#include <vector>

namespace rondo::runtime {

/// Measures the iterations of a run and changes its schedule where another one
/// is estimated to be faster. Every process has one and makes the same calls;
/// process 0 decides, and all follow from the same iteration on.
///
/// With a search, process 0 searches for further schedules under the measured
/// costs. It sends one that is worth a switch to all processes, which run it
/// from a table.
///
/// If the schedules have micro-batches of several sizes, the run begins with
/// two iterations of each other size, so that its costs are measured.
class Adaptation {
public:
  /// Starts with the first of `programs`. Makes no run.
  Adaptation(Trainer &trainer, const TunerOptions &options,
             const std::vector<const ProgramDesc *> &programs, bool searches,
             Progress &progress);

  /// The program of the next iteration.
  const ProgramDesc &program() const { return *programs[current]; }
  /// The ranks of program() if it was found during the run, else null.
  ProgramRun *foundRun() const {
    return current < numCompiled ? nullptr
                                 : found[current - numCompiled].run.get();
  }
  /// The schedule that process 0 proposes after the next iteration; -1 in the
  /// others.
  int32_t proposal();
  /// Before an iteration of `run`, and after it.
  void prepare(ProgramRun &run);
  void finish(ProgramRun &run, int64_t iteration,
              const IterationResult &result);

private:
  void keep(ProgramRun &run);
  void keepTransfers();
  Measurements measure(const ProgramDesc &program);
  void exchange(Measurements &measured, int64_t iteration);
  void switchTo(size_t next, int64_t iteration);
  void receive(size_t place, int64_t iteration);

  Trainer &trainer;
  const TunerOptions options;
  /// Those that were compiled, then those that were found.
  std::vector<const ProgramDesc *> programs;
  const size_t numCompiled;
  struct Found {
    std::shared_ptr<const FoundProgram> program;
    std::unique_ptr<ProgramRun> run;
  };
  std::vector<Found> found;
  Progress &progress;
  const Tuner tuner;
  /// In process 0.
  std::unique_ptr<BackgroundEstimator> background;
  Estimates estimates;
  /// Estimates that arrived while an iteration ran.
  std::optional<Estimates> held;
  std::string lastWhy;
  /// The last program, and the iteration at which it began.
  size_t current = 0;
  int64_t since = 1, lastIteration = 0;
  /// Iterations of the program in a row, since the last measurement.
  int64_t measuredIterations = 0;
  /// Schedules with which the run begins, each for two iterations.
  std::vector<size_t> tour;
  /// [replica * numCostColumns + costColumn(kind)], of the iterations since the
  /// last measurement.
  std::vector<std::vector<int64_t>> workNs;
  /// Indexed by channel, one iteration after the other.
  std::vector<std::vector<Transfer>> transfers;
  size_t wanted = 0;
  /// Whether the user knows that links are not measured.
  bool saysUnmeasured = false;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_ADAPTATION_H
