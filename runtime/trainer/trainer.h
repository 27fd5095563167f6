//===- trainer.h - An executable, its state and its programs ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRAINER_TRAINER_H
#define RONDO_RUNTIME_TRAINER_TRAINER_H

#include "runtime/data/documents.h"
#include "runtime/execution/program_run.h"
#include "runtime/streams/streams.h"
#include "runtime/trainer/options.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

class LastWords;

/// Results of one iteration.
struct IterationResult {
  /// Mean over the samples; 0 if no layer writes it.
  double loss = 0;
  double norm = 0, learningRate = 0;
  /// False: a gradient was infinite or NaN, and the step was skipped.
  bool isFinite = true;
  /// If each stage clips by itself: stages that skipped their step because a
  /// gradient was not finite.
  std::vector<int32_t> skippedStages;
  /// From the first rank's start to the last one's end, on process 0's host
  /// clock.
  int64_t ns = 0;
  /// Processor time, in ns, that the ranks of this process took to enqueue the
  /// iteration, or to launch it if it is recorded; -1 on devices that enqueue
  /// nothing.
  int64_t enqueueNs = -1;
  /// The signal that asked a process of the run to stop; 0: none.
  int stopSignal = 0;
  /// The proposal of process 0 for the iterations after this one.
  int32_t proposal = -1;
};

/// Iterations of a training that a program runs at once.
struct TrainingSpan {
  uint64_t seed = 1;
  /// The first, how many, and the training's last, which ends the learning
  /// rate's decay unless an option does. Iterations count from 1.
  int64_t first = 1, count = 1, last = 1;
  /// Number of them that are traced, if the ranks keep a trace.
  int64_t traced = INT64_MAX;
};

/// The state of an executable and what all modes do with it. If several
/// processes train, all of them make the same calls in the same order and get
/// the same results.
class Trainer {
public:
  /// Throws Error if the executable's tables are invalid or the data do not fit
  /// it.
  Trainer(const Executable &executable, const Options &options,
          bool useGeneratedData, const World &world = {});
  ~Trainer();

  const Executable &executable() const { return exe; }
  State &state() { return programState; }
  const State &state() const { return programState; }
  const World &world() const { return programState.world(); }
  /// Present in process 0, and where a stage is held that reads it.
  const DataSource &data() const;
  /// The documents of a program that draws them (BatchLimitsDesc), like data();
  /// else null.
  const std::shared_ptr<Documents> &allDocuments() const { return documents; }
  /// Effort of the search for each batch's schedule, in units of 1,000 tasks.
  int64_t searchEffort() const {
    constexpr int64_t byDefault = 10000;
    return options.searchEffort.value_or(byDefault);
  }
  int cores() const { return numCores; }
  /// Threads of each rank of this process.
  int32_t threadsOfRank() const { return numThreads; }
  Team &team() { return threads; }
  bool hasLoss() const { return lossStage >= 0; }
  /// Whether part of the data is kept for evaluation.
  bool hasHeldOut();
  /// Tokens of one iteration of a program.
  int64_t tokensOf(const ProgramDesc &program) const;

  /// Bytes of the arenas of all processes.
  int64_t allocatedBytes();

  /// The first call connects the ranks; all processes make it.
  std::unique_ptr<ProgramRun> makeRun(const ProgramDesc &program);
  /// Null before makeRun().
  Connections *connections() { return rankConnections.get(); }

  /// Stages the data, sets step number and learning rate, runs all ranks.
  /// Iterations count from 1. `lastIteration` ends the learning rate's decay
  /// unless an option does. All processes get the `proposal` of process 0.
  IterationResult train(ProgramRun &run, uint64_t seed, int64_t iteration,
                        int64_t lastIteration,
                        const std::atomic<int> &stopSignal = noSignal,
                        int32_t proposal = -1, const Emulation &emulation = {});
  /// Writes the inputs of a micro-batch's row of documents, and their targets.
  using WriteRow = std::function<void(int64_t microbatch, int32_t *inputs,
                                      int32_t *targets)>;
  /// train() on a batch of documents; `run` is of a program for it.
  IterationResult trainBatch(ProgramRun &run, const WriteRow &rows,
                             uint64_t seed, int64_t iteration,
                             int64_t lastIteration,
                             const std::atomic<int> &stopSignal = noSignal);
  /// Is told of each iteration once it has ended: in one process while others
  /// run, else when the span has ended.
  using Report =
      std::function<void(int64_t iteration, const IterationResult &)>;
  /// The same for a span; of more than one iteration only where they overlap.
  /// Returns the signal that asked a process to stop, or 0.
  int trainSpan(ProgramRun &run, const TrainingSpan &span, const Report &report,
                const std::atomic<int> &stopSignal = noSignal);
  /// The mean loss of the held-out samples.
  double evaluate(ProgramRun &run, uint64_t seed);
  /// The mean loss of a batch of documents.
  double evaluateBatch(ProgramRun &run, const WriteRow &rows, uint64_t seed);

  /// The layer that makes logits; null if there is none, or if it is a custom
  /// layer, whose logits nobody knows.
  const LayerDesc *head() const;
  /// Keeps logits from now on, for logitsOf(). Call it before makeRun(), if
  /// there is a head().
  void keepLogits();
  /// Runs an evaluation on `tokens`, at least one and no more than the head's
  /// sequence, in all samples. Process 0 gets the logits of `count` of them,
  /// from token `first` on, [count][vocab]; the others nothing. Later tokens do
  /// not change them.
  std::vector<float> logitsOf(ProgramRun &run,
                              const std::vector<int32_t> &tokens, int64_t first,
                              int64_t count);

  /// With --failure-dir, writes what the ranks of this process did last, if
  /// they have not done so. Call it when the run ends by an exception.
  void failed(const std::exception_ptr &why);

  static const std::atomic<int> noSignal;

private:
  /// The samples of an iteration, by their numbers.
  struct Samples {
    /// Writes tokens of one.
    std::function<void(int64_t sample, int64_t count, int32_t *tokens)> tokens;
    /// Its row in the streams.
    std::function<int64_t(int64_t sample)> row;
    /// Null: micro-batches have samples.
    WriteRow documents;
  };
  Samples trainingSamples(uint64_t seed, int64_t iteration) const;
  Samples heldOutSamples(int64_t count) const;
  void openData(bool useGeneratedData);
  IterationResult trainOn(const Samples &samples, ProgramRun &run,
                          uint64_t seed, int64_t iteration,
                          int64_t lastIteration,
                          const std::atomic<int> &stopSignal, int32_t proposal,
                          const Emulation &emulation);
  double evaluateOn(const Samples &samples, ProgramRun &run, uint64_t seed);
  /// Whether a layer of the stage reads data.
  bool readsData(int32_t stage) const;
  /// Fills the staging buffers of all micro-batches of an iteration.
  void stageData(ProgramRun &run, const Samples &samples);
  /// Writes values at an offset of a replica's slot of staged data.
  using WriteData =
      std::function<void(int64_t offset, const void *values, int64_t bytes)>;
  /// Writes the data of a replica for one micro-batch. Any thread may call it,
  /// for one replica at a time.
  void stageMicrobatch(const ProgramDesc &program, int32_t replica,
                       int64_t microbatch, const Samples &samples,
                       const WriteData &write);
  void stageTokens(const ProgramDesc &program, int32_t replica,
                   int64_t microbatch, const Samples &samples,
                   const WriteData &write);
  void stageStreams(const ProgramDesc &program, int32_t replica,
                    int64_t microbatch, const Samples &samples,
                    const WriteData &write);
  LearningRateSchedule ratesUpTo(int64_t lastIteration) const;
  /// Results of overlapping iterations, of the replicas in this process.
  struct Done;
  Done doneBy(ProgramRun &run, const TrainingSpan &span, int64_t startNs) const;
  void exchangeDone(const TrainingSpan &span, int stopSignal, Done &done);
  IterationResult resultOf(const ProgramDesc &program, const TrainingSpan &span,
                           int64_t index, const Done &done) const;
  /// Indexed by replica of the loss's stage; 0 if another process holds it.
  std::vector<double> meanLosses(const ProgramDesc &program) const;
  /// Device::enqueueNs() of all ranks of the program in this process.
  int64_t enqueueNs(const ProgramRun &run);
  void share(const std::string &name, const ProgramDesc &program,
             IterationResult &result);
  bool holdsStage(int32_t stage) const;
  /// State::OnRanks; needs no more than `threads`.
  void runOnRanks(const World &world, const std::function<void(int32_t)> &task);
  const LayerDesc &layerOf(int32_t stage, int32_t layer) const {
    return exe.layers[exe.stages[stage].firstLayer + layer];
  }

  const Executable &exe;
  const Options &options;
  const int numCores;
  const int32_t numThreads;
  Team threads;
  State programState;
  std::unique_ptr<Connections> rankConnections;
  /// LinkEmulation::startOtherTraffic().
  std::shared_ptr<void> traffic;
  /// One of the three, in a program that reads data.
  std::unique_ptr<Data> tokens;
  std::unique_ptr<StreamData> streams;
  std::shared_ptr<Documents> documents;
  /// The stage that writes the loss; -1: none.
  int32_t lossStage = -1;
  /// Stages, and layers in them, that read tokens and targets; -1: none.
  int32_t embeddingStage = -1, headStage = -1;
  int32_t embeddingLayer = 0, headLayer = 0;
  std::unique_ptr<LastWords> lastWords;
};

/// Whether a layer reads tokens, targets or streams.
bool needsData(const Executable &executable);
/// False for a model of timed layers only: they sleep.
bool needsCores(const Executable &executable);

/// The least time `cores` cores need for an iteration whose prediction assumes
/// a device per rank; 0 if costs are unknown.
int64_t boundOnCores(const ProgramDesc &program, int cores);

/// The median; 0 if there are no values.
int64_t median(std::vector<int64_t> values);

// The modes of an executable. Each returns the exit code.
int trainModel(Trainer &trainer, const Options &options);
int verifyModel(Trainer &trainer, const Options &options);
int profileModel(Trainer &trainer, const Options &options);

//===----------------------------------------------------------------------===//
// Runs from the start, and what they end with.
//===----------------------------------------------------------------------===//

/// Indexed by tensor of the state; for a shard, its elements.
using Weights = std::vector<std::vector<float>>;

struct Snapshot {
  /// Weights; `before` is empty if only the end is compared.
  Weights before, after;
  int64_t skipped = 0;
};

/// Parameters of a run from the start.
struct RunFromStart {
  uint64_t seed = 1;
  int64_t iterations = 1;
  int64_t drainEvery = 100;
  /// Lines begin with it, or with the program's name if it is empty.
  std::string label;
  bool keepBefore = false, quiet = true;
};

/// Trains with the pipelines, from initial weights.
Snapshot runPipelines(Trainer &trainer, const Turns &turns,
                      const RunFromStart &how);
/// Trains with the sequential programs that the pipelines must equal, one
/// iteration after another. Where iterations overlap, tasks read the versions
/// that the pipeline's tables name. The process holds all stages.
Snapshot runReference(Trainer &trainer, const Turns &turns,
                      const RunFromStart &how);

/// Result of a comparison.
struct Difference {
  std::string first;
  /// Counts weights, or tensors if there is a tolerance.
  int64_t count = 0;
};

/// Largest difference that compareChange() accepts.
inline constexpr double tolerance = 0.05;

Difference compareBits(const State &state, const Snapshot &reference,
                       const Snapshot &other);
/// For runs that add in a different order. AdamW moves a weight by about the
/// learning rate however small its gradient, so single elements say nothing: a
/// tensor's difference is measured relative to how far training moved it.
Difference compareChange(const State &state, const Snapshot &reference,
                         const Snapshot &other);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRAINER_TRAINER_H
