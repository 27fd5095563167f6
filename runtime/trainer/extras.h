//===- extras.h - Optional parts of the runtime -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The objects that a program's Extras name. Nothing else refers to what defines
// them, so that other programs do not link it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRAINER_EXTRAS_H
#define RONDO_RUNTIME_TRAINER_EXTRAS_H

#include "runtime/adaptive/batch_programs.h"
#include "runtime/base/error.h"
#include "runtime/bodies/custom.h"
#include "runtime/execution/batch_sizes.h"
#include "runtime/trainer/progress.h"
#include "runtime/trainer/trainer.h"

#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

/// Measures the iterations of a run and changes its schedule if another one is
/// estimated to be faster. Every process has one and makes the same calls;
/// process 0 decides, and all follow from the same iteration on.
class Adaptation {
public:
  virtual ~Adaptation() = default;
  /// The program of the next iteration.
  virtual const ProgramDesc &program() const = 0;
  /// The ranks of program() if it was found during the run, else null.
  virtual ProgramRun *foundRun() const = 0;
  /// The schedule that process 0 proposes after the next iteration; -1 in the
  /// others.
  virtual int32_t proposal() = 0;
  /// Before an iteration of `run`, and after it.
  virtual void prepare(ProgramRun &run) = 0;
  virtual void finish(ProgramRun &run, int64_t iteration,
                      const IterationResult &result) = 0;
};

struct AdaptiveRuns {
  /// Starts with the first of `programs`. Makes no run.
  std::unique_ptr<Adaptation> (*make)(
      Trainer &trainer, const TunerOptions &options,
      const std::vector<const ProgramDesc *> &programs, bool searches,
      Progress &progress);
};

/// The links that --link and --link-trace impose.
struct EmulatedLinks {
  LinkImposer impose;
  /// Whether other jobs send messages of their own on them.
  bool hasOtherTraffic = false;
};

struct LinkEmulation {
  /// `ranks`: of the program. Throws Error.
  EmulatedLinks (*read)(const Options &options, int32_t ranks);
  /// Sends the messages of other jobs while the object lives.
  std::shared_ptr<void> (*startOtherTraffic)(Connections &connections,
                                             const World &world);
};

/// The error of --generate in a program without a head.
inline Error headMissing(const Executable &executable) {
  if (executable.programs[0].uneven)
    return Error("the micro-batches of '" + std::string(executable.name) +
                     "' differ, and --generate continues samples: compile a "
                     "plan of equal micro-batches, and --resume the checkpoint",
                 Exit::Usage);
  return Error("'" + std::string(executable.name) +
                   "' has no head whose logits are known: a gpt or a llama "
                   "generates tokens",
               Exit::Usage);
}

/// A batch of documents, and the ranks that run it.
struct BatchRun {
  PlannedBatch planned;
  /// Time until its schedule was found; in process 0.
  double seconds = 0;
  /// Time of at(): until there was a program, and until its ranks were ready.
  int64_t waitNs = 0, prepareNs = 0;
  /// The sizes of its micro-batches, which `run` uses.
  std::shared_ptr<BatchSizes> sizes;
  std::unique_ptr<ProgramRun> run;
  Trainer::WriteRow rows;
};

/// The batches of a run. All processes make the same calls, but those for the
/// reference, which one process runs alone.
class Batches {
public:
  virtual ~Batches() = default;
  /// The batch of an iteration, with its pipeline; valid until the next call.
  /// Process 0 plans the batch of the iteration after it meanwhile, up to the
  /// last one.
  virtual BatchRun &at(int64_t iteration) = 0;
  /// The same batch, with its sequential reference.
  virtual BatchRun &referenceAt(int64_t iteration) = 0;
  /// A batch of the held-out part, the same at each call.
  virtual BatchRun &heldOut() = 0;
};

struct BatchRuns {
  std::shared_ptr<Documents> (*open)(const Options &options, int32_t vocab,
                                     bool isGenerated);
  std::unique_ptr<Batches> (*make)(Trainer &trainer, uint64_t seed,
                                   int64_t last);
};

struct TextGeneration {
  /// --generate; returns the exit code.
  int (*run)(Trainer &trainer, const Options &options);
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_EXTRAS_H
