//===- profile.cpp - Measured costs and times -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kinds/Counts.h"
#include "runtime/backend/backend.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"
#include "runtime/execution/copies.h"
#include "runtime/trainer/trainer.h"

#include <algorithm>
#include <cstdio>

using namespace rondo;
using namespace rondo::runtime;

namespace {

/// Tasks are timed in these kinds.
constexpr ActionKind timed[] = {ActionKind::Forward, ActionKind::InputGrad,
                                ActionKind::WeightGrad, ActionKind::Recompute};
constexpr int numTimed = 4;

/// Times of tasks in ns, by replica and kind: [replica * numTimed + kind].
using Times = std::vector<std::vector<int64_t>>;

} // namespace

/// Runs `iterations` of a program after one that warms caches and is not
/// counted.
static Times measure(Trainer &trainer, ProgramRun &run, uint64_t seed,
                     int64_t iterations) {
  TrainingSpan span;
  span.seed = seed;
  span.last = iterations + 1;
  trainer.trainSpan(run, span, {});
  for (int32_t r : run.heldRanks())
    run.rank(r).keepTrace = run.rank(r).splitsBackward = true;
  span.count = run.program().overlap ? iterations : 1;
  for (span.first = 2; span.first <= span.last; span.first += span.count)
    trainer.trainSpan(run, span, {});
  Times times(trainer.executable().numReplicas * numTimed);
  for (int32_t r : run.heldRanks())
    for (const TraceEvent &event : run.rank(r).trace)
      for (int k = 0; k < numTimed; ++k)
        if (event.what == Traced::Action && event.kind == timed[k])
          times[event.replica * numTimed + k].push_back(event.endNs -
                                                        event.startNs);
  return times;
}

/// Appends a stage's object. Replicas that share its micro-batches take the sum
/// of their times for one; of replicas that take whole micro-batches in turns,
/// the mean counts.
static void writeStage(JsonWriter &json, const Executable &exe,
                       const ProgramDesc &program, int32_t stage,
                       const Times &times) {
  json.line().object().member("name", exe.stages[stage].name);
  int32_t taskSamples = 0;
  for (int k = 0; k < numTimed; ++k) {
    int64_t ns = 0;
    int32_t turns = 1;
    bool isRun = timed[k] != ActionKind::Recompute;
    for (int32_t h = 0; h < exe.numReplicas; ++h)
      if (exe.replicas[h].stage == stage) {
        isRun |= !times[h * numTimed + k].empty();
        ns += median(times[h * numTimed + k]);
        turns = program.shares[h].turns;
        taskSamples = std::max(taskSamples, program.shares[h].samples);
      }
    if (isRun)
      json.member(std::string(traitsOf(timed[k]).keyword) + "_ns", ns / turns);
  }
  json.key("layers").array();
  for (int32_t k = 0; k < exe.stages[stage].numLayers; ++k)
    json.value(exe.layers[exe.stages[stage].firstLayer + k].name);
  json.end();
  // Other programs may have micro-batches of another size.
  if (taskSamples < program.layers[0].batch)
    json.member("task_samples", taskSamples);
  json.end();
}

int rondo::runtime::profileModel(Trainer &trainer, const Options &options) {
  const Executable &exe = trainer.executable();
  // The tasks of the schedule that training would start with. If each rank has
  // a core, they run at the same time, since they share caches and memory;
  // otherwise one at a time, so that none is interrupted.
  const ProgramDesc &pipeline =
      *Turns(exe, options.schedules).programs().front();
  if (pipeline.uneven)
    throwInAll(
        trainer.world(),
        Error("--profile measures one time for each task of a stage, but "
              "the micro-batches of program '" +
                  std::string(pipeline.name) +
                  "' differ: profile the plan without " +
                  (exe.extras.batches ? "`tokens`" : "`documents`") +
                  " at three "
                  "lengths or more, and fit the costs of any documents by "
                  "`rondo import costs --lengths`",
              Exit::Usage));
  const bool runsPipeline = trainer.world().isAlone() && !exe.backend &&
                            pipeline.numRanks <= trainer.cores();
  const uint64_t seed = options.seed.value_or(1);
  trainer.state().initialise(seed);
  const std::unique_ptr<ProgramRun> run = trainer.makeRun(
      runsPipeline ? pipeline
                   : findProgram(exe, ProgramKind::Sequential, pipeline));
  const Times times = measure(trainer, *run, seed,
                              options.iterations > 0 ? options.iterations : 10);
  size_t samples = 0;
  for (const std::vector<int64_t> &ns : times)
    samples = std::max(samples, ns.size());
  const LayerDesc &first = run->program().layers[0];
  // A run with another number of threads has other times.
  const bool usesThreads = backendOf(exe).usesThreads && needsCores(exe);
  const int32_t threads = trainer.threadsOfRank();
  JsonWriter json;
  json.object().member("format", "rondo-costs/1").key("stages").array();
  for (int32_t s = 0; s < exe.numStages; ++s)
    writeStage(json, exe, run->program(), s, times);
  json.line().end().member("samples", static_cast<int64_t>(samples));
  if (first.batch > 0)
    json.member("microbatch_samples", first.batch)
        .member("target", first.target == Target::Cuda ? "cuda" : "cpu")
        .member("dtype", first.dtype == DType::Bf16 ? "bf16" : "fp32");
  if (usesThreads)
    json.member("threads", threads);
  std::string link;
  if (exe.extras.copies && exe.hostArenaBytes)
    link = "; " + exe.extras.copies->measureLink(
                      trainer.state().device(run->heldRanks().front()),
                      json.key("host_link"));
  writeTextFile(options.profile, "'" + options.profile + "'",
                json.end().text() + "\n");
  if (options.quiet)
    return 0;
  const std::string with =
      usesThreads ? " with " + countOf(threads, "thread") + " a rank" : "";
  std::printf("wrote the costs of %d stages, medians of %zu tasks each%s, in "
              "'%s'%s\n",
              exe.numStages, samples, with.c_str(), options.profile.c_str(),
              link.c_str());
  return 0;
}
