//===- progress.h - What a person sees of a run -----------------*- C++ -*-===//

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
  Progress(const Options &options, bool hasLoss, int64_t tokensPerIteration,
           bool isFirst);
  ~Progress();

  /// What will run, and the predicted times. All processes call it.
  void begin(Trainer &trainer, const ProgramDesc &program);
  void iteration(int64_t number, int64_t last, const IterationResult &result);
  void heldOut(int64_t number, double loss);
  /// A line of its own, also with --quiet.
  void note(const std::string &text);
  /// Measured beside predicted.
  void end(Trainer &trainer, const ProgramDesc &program);

private:
  void endLine();
  void flushLog();

  const Options &options;
  const bool hasLoss, isFirst, isTerminal;
  const int64_t tokens;
  std::FILE *log = nullptr;
  bool isLineOpen = false;
  std::vector<int64_t> times, enqueueTimes;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_PROGRESS_H
