//===- progress.h - What the user sees of a run -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_PROGRESS_H
#define RONDO_RUNTIME_TRAINER_PROGRESS_H

#include "runtime/execution/connections.h"
#include "runtime/execution/program_run.h"
#include "runtime/launch/world.h"
#include "runtime/trainer/options.h"
#include "runtime/trainer/trainer.h"
#include "runtime/transport/links.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace rondo::runtime {

struct BatchRun;

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
  /// The batch of the next iteration(), which it must outlive.
  void nextBatch(const BatchRun &batch);
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
  std::string describeBatches(const std::vector<int64_t> &ns) const;
  /// ` of 'gpipe'` if the executable has several schedules.
  std::string of(const ProgramDesc &program) const;

  const Options &options;
  Trainer &trainer;
  const std::vector<const ProgramDesc *> programs;
  const bool hasLoss, isFirst, isTerminal, hasSeveral;
  std::FILE *log = nullptr;
  bool isLineOpen = false;
  /// Indexed by program id.
  std::vector<std::vector<int64_t>> times, enqueueTimes;
  /// The next batch of a program that draws documents; else null.
  const BatchRun *batch = nullptr;
  int64_t searchedBatches = 0, predictedNs = 0;
};

//===----------------------------------------------------------------------===//
// Measured links.
//===----------------------------------------------------------------------===//

/// Prints a line for each channel that measures (--links), and writes them as a
/// cluster (--links-file). All processes call it. Throws Error.
void reportLinks(const Connections &connections, const Executable &executable,
                 const Options &options, const World &world,
                 Progress &progress);

/// `30 messages, latency 12.345 us, 2000 bytes/us`, with the spread where there
/// is one.
std::string describeLink(const LinkFigures &link);

/// A pipe.cluster of `ranks` devices with the links that were measured, ordered
/// by their ranks; a comment for each of them says how. Other pairs have the
/// largest latency and the lowest bandwidth of these. What could not be
/// measured is left out, that is, without delay or limit.
std::string clusterOf(const std::vector<LinkFigures> &links, int32_t ranks);

//===----------------------------------------------------------------------===//
// Recorded events.
//===----------------------------------------------------------------------===//

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

#endif // RONDO_RUNTIME_TRAINER_PROGRESS_H
