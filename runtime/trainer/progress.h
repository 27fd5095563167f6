//===- progress.h - What the user sees of a run -----------------*- C++ -*-===//
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

/// Lines on standard output and in the JSON log, from process 0. On a terminal
/// each iteration's line replaces the one before.
class Progress {
public:
  /// Throws Error if the log cannot be written. `programs` are the pipelines
  /// that will run.
  Progress(const Options &options, Trainer &trainer,
           const std::vector<const ProgramDesc *> &programs);
  ~Progress();

  /// Prints what will run and the predicted times. All processes call it.
  void begin();
  void iteration(int64_t number, int64_t last, const ProgramDesc &program,
                 const IterationResult &result);
  void heldOut(int64_t number, double loss);
  /// An adaptive run changes its program after iteration `number`. Estimates of
  /// an iteration, in ns; 0: unknown.
  void switched(int64_t number, const ProgramDesc &from, const ProgramDesc &to,
                int64_t fromNs, int64_t toNs);
  /// Appends a line to the JSON log, if there is one.
  void writeLog(const std::string &line);
  /// A line of its own, even with --quiet.
  void note(const std::string &text);
  /// Prints measured and predicted times.
  void end();

private:
  void endLine();
  /// ` of 'gpipe'` if the executable has several schedules.
  std::string of(const ProgramDesc &program) const;

  const Options &options;
  Trainer &trainer;
  const std::vector<const ProgramDesc *> programs;
  const bool hasLoss, isFirst, isTerminal, hasSeveral;
  /// Per iteration, the same for all programs.
  const int64_t tokens;
  std::FILE *log = nullptr;
  bool isLineOpen = false;
  /// Indexed by program id.
  std::vector<std::vector<int64_t>> times, enqueueTimes;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_PROGRESS_H
