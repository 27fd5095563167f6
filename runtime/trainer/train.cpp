//===- train.cpp - The training loop --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/files.h"
#include "runtime/checkpoints/checkpoint.h"
#include "runtime/checkpoints/checkpoint_files.h"
#include "runtime/checkpoints/initial_weights.h"
#include "runtime/launch/store.h"
#include "runtime/trainer/extras.h"
#include "runtime/trainer/progress.h"
#include "runtime/trainer/trainer.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <sstream>
#include <unistd.h>

using namespace rondo::runtime;

/// Any thread may run the handler, so this has to be atomic.
static std::atomic<int> stopSignal{0};
static_assert(std::atomic<int>::is_always_lock_free,
              "a signal handler may not lock");

static std::atomic<int64_t> stopNs{0};
static_assert(std::atomic<int64_t>::is_always_lock_free,
              "a signal handler may not lock");

/// Launchers and `timeout` signal both a process and its group, so one request
/// may arrive twice within a moment.
static void requestStop(int signal) {
  constexpr int64_t sameWishNs = 1000000000;
  const int64_t now = nowNs();
  if (stopSignal == 0) {
    stopNs = now;
    stopSignal = signal;
  } else if (now - stopNs > sameWishNs) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

/// SIGINT and SIGTERM end the run after the iteration, or where iterations
/// overlap after those that run at once; another one, more than a
/// second later, ends the process. The handlers stay until the process ends:
/// launchers signal one process after another, and the last signal may come
/// when the run has already stopped and saved because of the first.
static void stopOnSignals() {
  stopSignal = 0;
  struct sigaction action{};
  action.sa_handler = requestStop;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

static constexpr int64_t tracedIterations = 10;

/// Whether the run resumes from the same checkpoint that it will write, which
/// does not exist yet. This lets a launcher restart a run with the same
/// flags.
static bool isFirstStart(const Options &options, const World &world) {
  bool isAbsent = world.isFirst() && options.resume == options.save &&
                  access(findCheckpoint(options.resume).c_str(), F_OK) != 0 &&
                  errno == ENOENT;
  if (!world.isAlone())
    isAbsent = world.store
                   ->exchange("whether there is a checkpoint",
                              isAbsent ? "absent" : "")
                   .front() == "absent";
  return isAbsent;
}

/// The identity of process 0's data, in all processes.
static DataIdentity identifyData(Trainer &trainer) {
  DataIdentity data;
  const World &world = trainer.world();
  if (!needsData(trainer.executable()))
    return data;
  if (world.isFirst())
    data = trainer.data().identity();
  if (world.isAlone())
    return data;
  std::istringstream(
      world.store
          ->exchange("the data's identity", std::to_string(data.hash) + " " +
                                                std::to_string(data.modifiedNs))
          .front()) >>
      data.hash >> data.modifiedNs;
  return data;
}

/// A note about the data of a resumed run; empty: they are those of the
/// checkpoint.
static std::string compareData(const std::string &checkpoint,
                               const DataIdentity &then,
                               const DataIdentity &now) {
  if (then.hash == 0 && now.hash == 0)
    return "";
  if (then.hash != 0 && then.modifiedNs == 0)
    return "note: checkpoint '" + checkpoint +
           "' identifies its data by a hash of all tokens, which is not "
           "computed any more: the data were not compared";
  if (then.hash != now.hash)
    return "note: the data differ from those of checkpoint '" + checkpoint +
           "'";
  if (then.modifiedNs != now.modifiedNs)
    return "note: the data were modified at another time than those of "
           "checkpoint '" +
           checkpoint +
           "'; their sizes and samples are equal, the rest was not compared";
  return "";
}

/// Throws in all processes if a tensor gets its first values from a file alone.
static void requireInitialWeights(const Trainer &trainer) {
  const std::vector<Tensor> &tensors = trainer.state().tensors();
  int64_t count = 0;
  const Tensor *first = nullptr;
  for (const Tensor &tensor : tensors)
    if (tensor.layout.init == TensorInit::File &&
        tensor.replica == tensor.owner && count++ == 0)
      first = &tensor;
  if (!first)
    return;
  throwInAll(
      trainer.world(),
      Error("tensor '" + first->name + "'" +
                (count > 1 ? " and " + std::to_string(count - 1) +
                                 (count > 2 ? " others get" : " other get")
                           : " gets") +
                " first values from a file alone: give --init PATH",
            Exit::Usage));
}

static RunPosition beginRun(Trainer &trainer, const Options &options,
                            Progress &progress) {
  RunPosition position;
  position.seed = options.seed.value_or(1);
  position.optimizer = options.optimizer;
  trainer.state().initialise(position.seed);
  const bool isFirst = trainer.world().isFirst();
  const DataIdentity data = identifyData(trainer);
  const bool resumes =
      !options.resume.empty() && !isFirstStart(options, trainer.world());
  if (!options.resume.empty() && !resumes)
    progress.note("note: checkpoint '" + options.resume +
                  "' does not exist yet; starting from the beginning");
  if (!options.init.empty() && !resumes)
    for (const std::string &line :
         readInitialWeights(options.init, trainer.state()))
      progress.note(line);
  if (options.init.empty() && !resumes)
    requireInitialWeights(trainer);
  if (resumes) {
    position =
        loadCheckpoint(options.resume, trainer.state(), options.optimizer);
    if (isFirst && options.seed && *options.seed != position.seed)
      throw Error("--seed " + std::to_string(*options.seed) +
                  " contradicts checkpoint '" + options.resume +
                  "', which has seed " + std::to_string(position.seed));
    if (const std::string note =
            compareData(options.resume, position.data, data);
        isFirst && !note.empty())
      progress.note(note);
  }
  position.data = data;
  return position;
}

static bool isAdaptive(const Executable &exe, const Options &options) {
  return options.adapts.value_or(exe.extras.search &&
                                 options.schedules.empty());
}

/// Throws if an adaptive run cannot use these schedules. It judges them by
/// iterations that begin and end alone.
static void checkAdapts(const Executable &exe, const Options &options,
                        const std::vector<const ProgramDesc *> &programs,
                        const World &world) {
  auto refuse = [&](const std::string &why) {
    throwInAll(world, Error("--adapt " + why, Exit::Usage));
  };
  for (const ProgramDesc *program : programs)
    if (program->overlap)
      refuse("changes schedules between iterations, but those of '" +
             std::string(program->name) + "' overlap; run it with --adapt off");
  if (programs.front()->uneven)
    refuse("measures one time for each task of a stage, but the micro-batches "
           "of '" +
           std::string(programs.front()->name) +
           "' differ; --schedule chooses one of the program's schedules");
  if (options.searches && !exe.extras.search)
    refuse("search needs a program that carries the search: compile it with "
           "--adaptive");
  // Without extras.adaptive there are neither a search nor several schedules.
  if (!exe.extras.adaptive || (!options.searches && programs.size() < 2))
    refuse("needs several schedules, but there is only '" +
           std::string(programs.front()->name) +
           "'; rondo compile --adaptive adds some");
}

/// The pipelines that a run uses. An adaptive run has all schedules, unless the
/// command line names some.
static std::vector<const ProgramDesc *>
programsOf(const Trainer &trainer, const Options &options, const Turns &turns) {
  const Executable &exe = trainer.executable();
  if (!isAdaptive(exe, options))
    return turns.programs();
  const std::vector<const ProgramDesc *> programs =
      options.schedules.empty() ? pipelinesOf(exe) : turns.programs();
  checkAdapts(exe, options, programs, trainer.world());
  return programs;
}

static std::string skippedStep(const Executable &exe, int64_t iteration,
                               const IterationResult &result, int64_t skipped) {
  std::string text = "iteration " + std::to_string(iteration) + ": a gradient ";
  const char *comma = "of stage '";
  for (int32_t stage : result.skippedStages) {
    text += comma + std::string(exe.stages[stage].name) + "' ";
    comma = "and one of stage '";
  }
  return text +
         (result.skippedStages.size() > 1 ? "are not finite, steps skipped ("
          : result.skippedStages.empty()
              ? "is not finite, step skipped ("
              : "is not finite, its step skipped (") +
         std::to_string(skipped) + " so far)";
}

namespace {

/// A training, from its first iteration here to its end.
class Training {
public:
  Training(Trainer &trainer, const Options &options)
      : trainer(trainer), options(options), exe(trainer.executable()),
        world(trainer.world()), turns(exe, options.schedules),
        programs(programsOf(trainer, options, turns)),
        progress(options, trainer, programs),
        position(beginRun(trainer, options, progress)),
        last(options.iterations > 0 ? options.iterations : 100),
        traces(exe, programs) {}

  /// Returns the exit code.
  int run();

private:
  void checkOutputs();
  void makeRuns();
  /// Runs the next iterations; returns the signal that asked to stop, or 0.
  int runSpan();
  void setTraces(ProgramRun &run, const TrainingSpan &span) const;
  int runBatch(const TrainingSpan &span, const Trainer::Report &report);
  int runAdapted(ProgramRun &run, const TrainingSpan &span,
                 const Trainer::Report &report);
  void evaluate();
  void save();
  void saveBetween();
  int finishedBefore();
  int finish(int signal);

  Trainer &trainer;
  const Options &options;
  const Executable &exe;
  const World &world;
  const Turns turns;
  const std::vector<const ProgramDesc *> programs;
  Progress progress;
  RunPosition position;
  /// The number of the last iteration, and of the first one here.
  const int64_t last;
  int64_t first = 0;
  RunTrace traces;
  /// Indexed by program id.
  std::vector<std::unique_ptr<ProgramRun>> runs;
  std::unique_ptr<ProgramRun> evaluation;
  std::unique_ptr<Adaptation> adaptation;
  /// Null unless the program draws documents.
  std::unique_ptr<Batches> batches;
  bool hasHeldOut = false;
  int64_t skipped = 0, evaluatedAt = -1;
};

} // namespace

/// Reports files that cannot be written before hours of training, not after.
void Training::checkOutputs() {
  if (!options.save.empty())
    checkSavePath(options.save, trainer.state());
  if (world.isFirst() && !options.trace.empty())
    NewFile(options.trace, "trace '" + options.trace + "'");
  if (world.isFirst() && !options.linksFile.empty())
    NewFile(options.linksFile, "links '" + options.linksFile + "'");
}

void Training::makeRuns() {
  runs.resize(exe.numPrograms);
  for (const ProgramDesc *program : programs)
    runs[program->id] = trainer.makeRun(*program);
  hasHeldOut = trainer.hasHeldOut();
  if (exe.extras.batches)
    batches = exe.extras.batches->make(trainer, position.seed, last);
  else if (hasHeldOut)
    evaluation = trainer.makeRun(
        findProgram(exe, ProgramKind::Evaluation, *programs.front()));
  progress.begin();
  if (isAdaptive(exe, options))
    adaptation = exe.extras.adaptive->make(trainer, options.tuner, programs,
                                           options.searches, progress);
}

void Training::evaluate() {
  if (!hasHeldOut || evaluatedAt == position.step)
    return;
  evaluatedAt = position.step;
  if (evaluation)
    return progress.heldOut(position.step,
                            trainer.evaluate(*evaluation, position.seed));
  BatchRun &batch = batches->heldOut();
  progress.heldOut(position.step, trainer.evaluateBatch(*batch.run, batch.rows,
                                                        position.seed));
}

void Training::save() {
  enter(world, Phase::Save);
  saveCheckpoint(options.save, trainer.state(), position);
}

/// The disk may have room again for the next checkpoint.
void Training::saveBetween() {
  try {
    save();
  } catch (const Error &error) {
    if (error.code != Exit::Failure)
      throw;
    progress.note("note: " + std::string(error.what()) +
                  "; continuing without it");
  }
}

int Training::runBatch(const TrainingSpan &span,
                       const Trainer::Report &report) {
  BatchRun &batch = batches->at(span.first);
  setTraces(*batch.run, span);
  const IterationResult result = trainer.trainBatch(
      *batch.run, batch.rows, position.seed, span.first, last, stopSignal);
  traces.take(*batch.run);
  progress.nextBatch(batch);
  report(span.first, result);
  return result.stopSignal;
}

int Training::runAdapted(ProgramRun &run, const TrainingSpan &span,
                         const Trainer::Report &report) {
  adaptation->prepare(run);
  const IterationResult result = trainer.train(
      run, position.seed, span.first, last, stopSignal, adaptation->proposal());
  // Before another found schedule may take the place of this run.
  traces.take(run);
  report(span.first, result);
  return result.stopSignal;
}

void Training::setTraces(ProgramRun &run, const TrainingSpan &span) const {
  for (int32_t r : run.heldRanks())
    run.rank(r).keepTrace = !options.trace.empty() && span.traced > 0;
}

int Training::runSpan() {
  TrainingSpan span;
  span.seed = position.seed;
  span.first = position.step + 1;
  span.last = last;
  span.traced = std::max<int64_t>(0, first + tracedIterations - span.first);
  if (!adaptation)
    span.count = turns.together(
        span.first, last,
        {options.drainEvery, options.evalEvery, options.saveEvery});
  ProgramRun *found = adaptation ? adaptation->foundRun() : nullptr;
  const ProgramDesc &next =
      adaptation ? adaptation->program() : turns.at(span.first);
  ProgramRun &run = found ? *found : *runs[next.id];
  setTraces(run, span);
  auto report = [&](int64_t number, const IterationResult &result) {
    progress.iteration(number, last, run.program(), result);
    if (adaptation)
      adaptation->finish(run, number, result);
    if (!result.isFinite)
      progress.note(skippedStep(exe, number, result, ++skipped));
  };
  int signal = 0;
  if (batches) {
    signal = runBatch(span, report);
  } else if (adaptation) {
    signal = runAdapted(run, span, report);
  } else {
    signal = trainer.trainSpan(run, span, report, stopSignal);
    traces.take(run);
  }
  position.step = span.first + span.count - 1;
  return signal;
}

/// A launcher starts a run that has just ended again, with the same flags.
int Training::finishedBefore() {
  progress.note("checkpoint '" + options.resume + "' is at iteration " +
                std::to_string(position.step) +
                ", the last: the run is finished");
  if (!options.save.empty() && options.save != options.resume) {
    checkSavePath(options.save, trainer.state());
    save();
    progress.note("saved iteration " + std::to_string(position.step) + " to '" +
                  options.save + "'");
  }
  return static_cast<int>(Exit::Fine);
}

int Training::finish(int signal) {
  if (signal == 0)
    evaluate();
  progress.end();
  if (options.showLinks || !options.linksFile.empty())
    reportLinks(*trainer.connections(), exe, options, world, progress);
  if (!options.save.empty()) {
    save();
    progress.note("saved iteration " + std::to_string(position.step) + " to '" +
                  findCheckpoint(options.save) + "'");
  }
  if (!options.trace.empty())
    traces.write(options.trace, world);
  if (signal == 0)
    return static_cast<int>(Exit::Fine);
  progress.note(
      "stopped by " + std::string(signal == SIGINT ? "SIGINT" : "SIGTERM") +
      " after iteration " + std::to_string(position.step) + " of " +
      std::to_string(last) + (options.save.empty() ? ", nothing saved" : ""));
  return static_cast<int>(options.save.empty() ? Exit::Failure
                                               : Exit::Interrupted);
}

int Training::run() {
  if (position.step == last)
    return finishedBefore();
  if (position.step > last)
    throwInAll(world,
               Error("checkpoint '" + options.resume + "' is at iteration " +
                     std::to_string(position.step) +
                     "; --iterations must name a later one"));
  checkOutputs();
  makeRuns();
  stopOnSignals();
  first = position.step + 1;
  int signal = 0;
  while (position.step < last && signal == 0) {
    signal = runSpan();
    if (options.evalEvery > 0 && position.step % options.evalEvery == 0)
      evaluate();
    if (options.saveEvery > 0 && position.step % options.saveEvery == 0 &&
        position.step < last)
      saveBetween();
  }
  return finish(signal);
}

int rondo::runtime::trainModel(Trainer &trainer, const Options &options) {
  return Training(trainer, options).run();
}
