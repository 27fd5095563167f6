//===- train.cpp - The training loop --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/launch/store.h"
#include "runtime/trainer/adaptation.h"
#include "runtime/trainer/checkpoint.h"
#include "runtime/trainer/checkpoint_files.h"
#include "runtime/trainer/initial_weights.h"
#include "runtime/trainer/link_report.h"
#include "runtime/trainer/new_file.h"
#include "runtime/trainer/progress.h"
#include "runtime/trainer/run_trace.h"
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

/// A launcher starts a run that has just ended again, with the same flags.
static int finishedBefore(Trainer &trainer, const Options &options,
                          const RunPosition &position, Progress &progress) {
  progress.note("checkpoint '" + options.resume + "' is at iteration " +
                std::to_string(position.step) +
                ", the last: the run is finished");
  if (!options.save.empty() && options.save != options.resume) {
    saveCheckpoint(options.save, trainer.state(), position);
    progress.note("saved iteration " + std::to_string(position.step) + " to '" +
                  options.save + "'");
  }
  return static_cast<int>(Exit::Fine);
}

/// An adaptive run judges its schedules by iterations that begin and end alone.
static void checkAdapts(const Executable &exe,
                        const std::vector<const ProgramDesc *> &programs,
                        const World &world) {
  for (int32_t h = 0; h < exe.numReplicas; ++h)
    if (exe.replicas[h].shards > 1)
      throwInAll(world,
                 Error("--adapt estimates schedules, which it cannot do yet "
                       "where state is sharded, as that of stage '" +
                           std::string(exe.stages[exe.replicas[h].stage].name) +
                           "'; run it with --adapt off",
                       Exit::Usage));
  for (const ProgramDesc *program : programs)
    if (program->overlap)
      throwInAll(world, Error("--adapt changes schedules between iterations, "
                              "but those of '" +
                                  std::string(program->name) +
                                  "' overlap; run it with --adapt off",
                              Exit::Usage));
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

int rondo::runtime::trainModel(Trainer &trainer, const Options &options) {
  const Executable &exe = trainer.executable();
  const Turns turns(exe, options.schedules);
  const World &world = trainer.world();
  const bool adapts =
      options.adapts.value_or(exe.search && options.schedules.empty());
  // An adaptive run has all schedules, unless the command line names some.
  const std::vector<const ProgramDesc *> programs =
      adapts && options.schedules.empty() ? pipelinesOf(exe) : turns.programs();
  if (adapts)
    checkAdapts(exe, programs, world);
  if (adapts && options.searches && !exe.search)
    throwInAll(world, Error("--adapt search needs a program that carries the "
                            "search: compile it with --adaptive",
                            Exit::Usage));
  if (adapts && !options.searches && programs.size() < 2)
    throwInAll(world, Error("--adapt needs several schedules, but there is "
                            "only '" +
                                std::string(programs.front()->name) +
                                "'; rondo compile --adaptive adds some",
                            Exit::Usage));
  Progress progress(options, trainer, programs);
  RunPosition position = beginRun(trainer, options, progress);
  const int64_t last = options.iterations > 0 ? options.iterations : 100;
  if (position.step == last)
    return finishedBefore(trainer, options, position, progress);
  if (position.step > last)
    throwInAll(world,
               Error("checkpoint '" + options.resume + "' is at iteration " +
                     std::to_string(position.step) +
                     "; --iterations must name a later one"));

  // Report files that cannot be written before hours of training, not after.
  if (!options.save.empty())
    checkSavePath(options.save, trainer.state());
  if (world.isFirst() && !options.trace.empty())
    NewFile(options.trace, "trace '" + options.trace + "'");
  if (world.isFirst() && !options.linksFile.empty())
    NewFile(options.linksFile, "links '" + options.linksFile + "'");

  // By program id.
  std::vector<std::unique_ptr<ProgramRun>> runs(exe.numPrograms);
  std::unique_ptr<ProgramRun> evaluation;
  for (const ProgramDesc *program : programs)
    runs[program->id] = trainer.makeRun(*program);
  if (trainer.hasHeldOut())
    evaluation = trainer.makeRun(
        findProgram(exe, ProgramKind::Evaluation, *programs.front()));
  progress.begin();
  std::unique_ptr<Adaptation> adaptation;
  if (adapts)
    adaptation = std::make_unique<Adaptation>(trainer, options.tuner, programs,
                                              options.searches, progress);

  stopOnSignals();
  auto save = [&] {
    enter(world, Phase::Save);
    saveCheckpoint(options.save, trainer.state(), position);
  };
  // The disk may have room again for the next checkpoint.
  auto saveBetween = [&] {
    try {
      save();
    } catch (const Error &error) {
      if (error.code != Exit::Failure)
        throw;
      progress.note("note: " + std::string(error.what()) +
                    "; continuing without it");
    }
  };
  const int64_t first = position.step + 1;
  int64_t skipped = 0, evaluatedAt = -1;
  auto evaluate = [&] {
    if (evaluation && evaluatedAt != position.step)
      progress.heldOut(position.step, trainer.evaluate(*evaluation));
    evaluatedAt = position.step;
  };
  RunTrace traces(exe, programs);
  int signal = 0;
  while (position.step < last && signal == 0) {
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
    ProgramRun &run =
        found
            ? *found
            : *runs[(adaptation ? adaptation->program() : turns.at(span.first))
                        .id];
    for (int32_t r : run.heldRanks())
      run.rank(r).keepTrace = !options.trace.empty() && span.traced > 0;
    auto report = [&](int64_t number, const IterationResult &result) {
      progress.iteration(number, last, run.program(), result);
      if (adaptation)
        adaptation->finish(run, number, result);
      if (!result.isFinite)
        progress.note(skippedStep(exe, number, result, ++skipped));
    };
    if (adaptation) {
      adaptation->prepare(run);
      const IterationResult result =
          trainer.train(run, position.seed, span.first, last, stopSignal,
                        adaptation->proposal());
      signal = result.stopSignal;
      // Before another found schedule may take the place of this run.
      traces.take(run);
      report(span.first, result);
    } else {
      signal = trainer.trainSpan(run, span, report, stopSignal);
      traces.take(run);
    }
    const int64_t iteration = position.step = span.first + span.count - 1;
    if (options.evalEvery > 0 && iteration % options.evalEvery == 0)
      evaluate();
    if (options.saveEvery > 0 && iteration % options.saveEvery == 0 &&
        iteration < last)
      saveBetween();
  }
  if (signal == 0)
    evaluate();
  progress.end();
  if (options.showLinks || !options.linksFile.empty())
    reportLinks(*trainer.connections(), trainer.executable(), options, world,
                progress);
  if (!options.save.empty()) {
    save();
    progress.note("saved iteration " + std::to_string(position.step) + " to '" +
                  findCheckpoint(options.save) + "'");
  }
  if (!options.trace.empty())
    traces.write(options.trace, world);
  if (signal == 0)
    return 0;
  progress.note(
      "stopped by " + std::string(signal == SIGINT ? "SIGINT" : "SIGTERM") +
      " after iteration " + std::to_string(position.step) + " of " +
      std::to_string(last) + (options.save.empty() ? ", nothing saved" : ""));
  return static_cast<int>(options.save.empty() ? Exit::Failure
                                               : Exit::Interrupted);
}
