//===- profile.cpp - Measured costs and times -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/store.h"
#include "runtime/trainer/new_file.h"
#include "runtime/trainer/safetensors.h"
#include "runtime/trainer/trainer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <type_traits>

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
  std::vector<std::vector<int64_t>> times(exe.numHomes * kinds);
  for (int32_t r : run->heldRanks())
    for (const TraceEvent &event : run->rank(r).trace)
      for (int k = 0; k < kinds; ++k)
        if (event.kind == timed[k])
          times[event.home * kinds + k].push_back(event.endNs - event.startNs);
  std::string json = "{\"format\":\"rondo-costs/1\",\"stages\":[";
  size_t samples = 0;
  for (int32_t s = 0; s < exe.numStages; ++s) {
    json += std::string(s ? "," : "") +
            "\n{\"name\":" + jsonString(exe.stages[s].name);
    for (int k = 0; k < kinds; ++k) {
      // Of all samples: those of the homes that share them together, or the
      // mean of those that take whole micro-batches.
      int64_t ns = 0;
      int32_t turns = 1;
      bool isRun = timed[k] != ActionKind::Recompute;
      for (int32_t h = 0; h < exe.numHomes; ++h)
        if (exe.homes[h].stage == s) {
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
    json += "]}";
  }
  json += "\n],\"samples\":" + std::to_string(samples);
  if (const LayerDesc &layer = exe.layers[0]; layer.batch > 0)
    json += ",\"microbatch_samples\":" + std::to_string(layer.batch) +
            ",\"target\":\"" + (layer.target == Target::Cuda ? "cuda" : "cpu") +
            "\",\"dtype\":\"" + (layer.dtype == DType::Bf16 ? "bf16" : "fp32") +
            "\"";
  writeFile(options.profile, json + "}\n");
  if (!options.quiet)
    std::printf("wrote the costs of %d stages, medians of %zu tasks each, in "
                "'%s'\n",
                exe.numStages, samples, options.profile.c_str());
  return 0;
}

void rondo::runtime::takeTrace(ProgramRun &run, RankTraces &traces) {
  for (int32_t r : run.heldRanks()) {
    std::vector<TraceEvent> &fresh = run.rank(r).trace;
    traces[r].insert(traces[r].end(), fresh.begin(), fresh.end());
    fresh.clear();
  }
}

/// Of all ranks, on process 0's clock. Only process 0 gets those of other
/// processes.
static RankTraces collectTraces(RankTraces traces, const World &world) {
  if (world.isAlone())
    return traces;
  static_assert(std::is_trivially_copyable_v<TraceEvent>);
  const std::string key = "the trace of rank ";
  if (!world.isFirst()) {
    std::vector<TraceEvent> &mine = traces[world.process];
    const int64_t offsetNs = world.store->clockOffsetNs();
    for (TraceEvent &event : mine) {
      event.startNs += offsetNs;
      event.endNs += offsetNs;
    }
    world.store->give(key + std::to_string(world.process),
                      std::string(reinterpret_cast<const char *>(mine.data()),
                                  mine.size() * sizeof(TraceEvent)));
    return traces;
  }
  for (int32_t r = 1; r < world.processes; ++r) {
    std::string bytes = world.store->take(key + std::to_string(r));
    traces[r].resize(bytes.size() / sizeof(TraceEvent));
    if (!traces[r].empty())
      std::memcpy(traces[r].data(), bytes.data(),
                  traces[r].size() * sizeof(TraceEvent));
  }
  return traces;
}

void rondo::runtime::writeTrace(const std::string &path, RankTraces own,
                                const World &world) {
  const RankTraces traces = collectTraces(std::move(own), world);
  const int32_t ranks = static_cast<int32_t>(traces.size());
  if (!world.isFirst())
    return;
  int64_t zeroNs = INT64_MAX;
  for (int32_t r = 0; r < ranks; ++r)
    for (const TraceEvent &event : traces[r])
      zeroNs = std::min(zeroNs, event.startNs);
  std::string json = "{\"traceEvents\":[";
  const char *comma = "\n";
  for (int32_t r = 0; r < ranks; ++r)
    for (const TraceEvent &event : traces[r]) {
      bool isMessage = traitsOf(event.kind).subject != Subject::Home;
      std::string name =
          actionName(event.kind, event.message, event.number, event.microbatch);
      char line[200];
      std::snprintf(line, sizeof line,
                    "%s{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,"
                    "\"ts\":%.3f,\"dur\":%.3f}",
                    comma, name.c_str(), r, isMessage ? 1 : 0,
                    static_cast<double>(event.startNs - zeroNs) * 1e-3,
                    static_cast<double>(event.endNs - event.startNs) * 1e-3);
      json += line;
      comma = ",\n";
    }
  writeFile(path, json + "\n],\"displayTimeUnit\":\"ns\"}\n");
}
