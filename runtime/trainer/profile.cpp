//===- profile.cpp - Measured costs and times -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/new_file.h"
#include "runtime/trainer/safetensors.h"
#include "runtime/trainer/trainer.h"

#include <algorithm>
#include <cstdio>

using namespace rondo;
using namespace rondo::runtime;

static void writeFile(const std::string &path, const std::string &text) {
  NewFile file(path, "'" + path + "'");
  file.write(text.data(), text.size());
  file.commit();
}

int rondo::runtime::profileModel(Trainer &trainer, const Options &options) {
  const Executable &exe = trainer.executable();
  // The tasks of the schedule that training would start with: where each rank
  // has a core, beside each other, since they share caches and memory; else
  // alone, so that none is interrupted.
  const ProgramDesc &pipeline =
      *Turns(exe, options.schedules).programs().front();
  const bool areBeside = trainer.world().isAlone() && !exe.backend &&
                         pipeline.numRanks <= trainer.cores();
  const ProgramDesc &program =
      areBeside ? pipeline
                : findProgram(exe, ProgramKind::Sequential, pipeline);
  const int64_t iterations = options.iterations > 0 ? options.iterations : 10;
  const uint64_t seed = options.seed.value_or(1);
  trainer.state().initialise(seed);
  std::unique_ptr<ProgramRun> run = trainer.makeRun(program);
  // The first iteration warms caches and is not counted.
  TrainingSpan span;
  span.seed = seed;
  span.last = iterations + 1;
  trainer.trainSpan(*run, span, {});
  for (int32_t r : run->heldRanks())
    run->rank(r).keepTrace = true;
  span.count = program.overlap ? iterations : 1;
  for (span.first = 2; span.first <= span.last; span.first += span.count)
    trainer.trainSpan(*run, span, {});

  constexpr ActionKind timed[] = {ActionKind::Forward, ActionKind::InputGrad,
                                  ActionKind::WeightGrad,
                                  ActionKind::Recompute};
  constexpr int kinds = 4;
  std::vector<std::vector<int64_t>> times(exe.numReplicas * kinds);
  for (int32_t r : run->heldRanks())
    for (const TraceEvent &event : run->rank(r).trace)
      for (int k = 0; k < kinds; ++k)
        if (event.what == Traced::Action && event.kind == timed[k])
          times[event.replica * kinds + k].push_back(event.endNs -
                                                     event.startNs);
  // Of this program: others may have micro-batches of another size.
  const LayerDesc &first = run->program().layers[0];
  std::string json = "{\"format\":\"rondo-costs/1\",\"stages\":[";
  size_t samples = 0;
  for (int32_t s = 0; s < exe.numStages; ++s) {
    json += std::string(s ? "," : "") +
            "\n{\"name\":" + jsonString(exe.stages[s].name);
    for (int k = 0; k < kinds; ++k) {
      // Of all samples: those of the replicas that share them together, or the
      // mean of those that take whole micro-batches.
      int64_t ns = 0;
      int32_t turns = 1;
      bool isRun = timed[k] != ActionKind::Recompute;
      for (int32_t h = 0; h < exe.numReplicas; ++h)
        if (exe.replicas[h].stage == s) {
          isRun |= !times[h * kinds + k].empty();
          samples = std::max(samples, times[h * kinds + k].size());
          ns += median(times[h * kinds + k]);
          turns = run->program().shares[h].turns;
        }
      ns /= turns;
      if (isRun)
        json += ",\"" + std::string(traitsOf(timed[k]).keyword) +
                "_ns\":" + std::to_string(ns);
    }
    json += ",\"layers\":[";
    for (int32_t k = 0; k < exe.stages[s].numLayers; ++k)
      json += (k ? "," : "") +
              jsonString(exe.layers[exe.stages[s].firstLayer + k].name);
    json += "]";
    int32_t taskSamples = 0;
    for (int32_t h = 0; h < exe.numReplicas; ++h)
      if (exe.replicas[h].stage == s)
        taskSamples = std::max(taskSamples, run->program().shares[h].samples);
    if (taskSamples < first.batch)
      json += ",\"task_samples\":" + std::to_string(taskSamples);
    json += "}";
  }
  json += "\n],\"samples\":" + std::to_string(samples);
  if (first.batch > 0)
    json += ",\"microbatch_samples\":" + std::to_string(first.batch) +
            ",\"target\":\"" + (first.target == Target::Cuda ? "cuda" : "cpu") +
            "\",\"dtype\":\"" + (first.dtype == DType::Bf16 ? "bf16" : "fp32") +
            "\"";
  writeFile(options.profile, json + "}\n");
  if (!options.quiet)
    std::printf("wrote the costs of %d stages, medians of %zu tasks each, in "
                "'%s'\n",
                exe.numStages, samples, options.profile.c_str());
  return 0;
}
