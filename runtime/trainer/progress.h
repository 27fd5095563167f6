//===- progress.h - What a person sees of a run -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_PROGRESS_H
#define RONDO_RUNTIME_TRAINER_PROGRESS_H

#include "runtime/trainer/trainer.h"

#include <cstdio>
#include <string>
#include <vector>

namespace rondo::runtime {

/// `12.3 ms`, `1.25 s`.
std::string duration(int64_t ns);

/// Lines on standard output and in the JSON log, of process 0. On a terminal an
/// iteration's line replaces the one before.
class Progress {
public:
  /// Throws Error where the log cannot be written.
  /// `programs` are the pipelines that will run.
  Progress(const Options &options, Trainer &trainer,
           const std::vector<const ProgramDesc *> &programs);
  ~Progress();

  /// What will run, and the predicted times. All processes call it.
  void begin();
  void iteration(int64_t number, int64_t last, const ProgramDesc &program,
                 const IterationResult &result);
  void heldOut(int64_t number, double loss);
  /// A line of its own, also with --quiet.
  void note(const std::string &text);
  /// Measured beside predicted.
  void end();

private:
  void endLine();
  void flushLog();

  /// ` of 'gpipe'` where the executable has several schedules.
  std::string of(const ProgramDesc &program) const;

  const Options &options;
  Trainer &trainer;
  const std::vector<const ProgramDesc *> programs;
  const bool hasLoss, isFirst, isTerminal, hasSeveral;
  /// Of one iteration, the same for all programs.
  const int64_t tokens;
  std::FILE *log = nullptr;
  bool isLineOpen = false;
  /// By number of the program.
  std::vector<std::vector<int64_t>> times, enqueueTimes;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_PROGRESS_H
