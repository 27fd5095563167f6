//===- trainer.cpp - The state of an executable ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/trainer.h"

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/launch/cores.h"
#include "runtime/launch/store.h"
#include "runtime/model/documents.h"
#include "runtime/trainer/extras.h"
#include "runtime/trainer/last_words.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

using namespace rondo::runtime;

static int32_t mostRanks(const Executable &executable) {
  int32_t ranks = std::max(1, executable.numRanks);
  for (int32_t p = 0; p < executable.numPrograms; ++p)
    ranks = std::max(ranks, executable.programs[p].numRanks);
  return ranks;
}

bool rondo::runtime::needsData(const Executable &executable) {
  return std::any_of(executable.layers,
                     executable.layers + executable.numLayers,
                     runtime::readsData);
}

bool rondo::runtime::needsCores(const Executable &executable) {
  return std::any_of(executable.layers,
                     executable.layers + executable.numLayers,
                     [](const LayerDesc &layer) {
                       return layer.kind != LayerKind::Synthetic;
                     });
}

int64_t rondo::runtime::boundOnCores(const ProgramDesc &program, int cores) {
  int32_t devices = std::min(cores, program.numRanks);
  return std::max(program.predictedNs, program.predictedWorkNs / devices);
}

int64_t rondo::runtime::median(std::vector<int64_t> values) {
  if (values.empty())
    return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2,
                   values.end());
  return values[values.size() / 2];
}

/// All processes call it.
static int32_t threadsOfRank(const Executable &exe, const Options &options,
                             const World &world) {
  const int cores = exchangeOwnCores(world);
  if (options.threads > 0)
    return options.threads;
  if (!backendOf(exe).usesThreads || !needsCores(exe))
    return 1;
  return std::max(1, cores / (world.isAlone() ? mostRanks(exe) : 1));
}

Trainer::Trainer(const Executable &executable, const Options &options,
                 bool useGeneratedData, const World &world)
    : exe(executable), options(options), numCores(allowedCores().count()),
      numThreads(::threadsOfRank(executable, options, world)),
      threads(world.isAlone() ? mostRanks(executable) : 1, numThreads),
      programState(executable, world,
                   backendOf(executable).usesThreads
                       ? [&](const std::function<void(int32_t)>
                                 &task) { runOnRanks(world, task); }
                       : State::OnRanks()) {
  if (!options.failureDir.empty())
    lastWords = std::make_unique<LastWords>(options.failureDir, exe,
                                            programState.world());
  for (int32_t s = 0; s < exe.numStages; ++s)
    for (int32_t l = 0; l < exe.stages[s].numLayers; ++l) {
      const LayerDesc &layer = exe.layers[exe.stages[s].firstLayer + l];
      const LayerData data = dataOf(layer);
      if (runtime::hasLoss(layer))
        lossStage = s;
      if (data == LayerData::Tokens) {
        embeddingStage = s;
        embeddingLayer = l;
      } else if (data == LayerData::Targets) {
        headStage = s;
        headLayer = l;
      }
    }
  if (needsData(exe) || exe.extras.batches)
    openData(useGeneratedData);
}

Trainer::~Trainer() = default;

void Trainer::runOnRanks(const World &world,
                         const std::function<void(int32_t)> &task) {
  if (world.isAlone())
    threads.run(exe.numRanks, task);
  else
    threads.run(1, [&](int32_t) { task(world.process); });
}

void Trainer::failed(const std::exception_ptr &why) {
  if (lastWords && rankConnections)
    lastWords->note(*rankConnections, nullptr, -1, why)();
}

bool Trainer::holdsStage(int32_t stage) const {
  for (int32_t h = 0; h < exe.numReplicas; ++h)
    if (exe.replicas[h].stage == stage && programState.holds(h))
      return true;
  return false;
}

std::unique_ptr<ProgramRun> Trainer::makeRun(const ProgramDesc &program) {
  if (rankConnections)
    return std::make_unique<ProgramRun>(*rankConnections, program);
  ProgramOptions programOptions;
  programOptions.checksMessages = options.checksMessages;
  programOptions.fault = options.fault;
  EmulatedLinks links;
  if (exe.extras.links)
    links = exe.extras.links->read(options, mostRanks(exe));
  programOptions.imposeLinks = links.impose;
  programOptions.imposesHostLinks = options.imposeHostLinks;
  // Ranks that wait spin if no thread of another rank needs their core.
  programOptions.transport.cores = std::max(1, numCores / numThreads);
  programOptions.transport.timeoutSeconds = options.timeoutSeconds;
  programOptions.transport.useGraph = options.useGraph;
  if (lastWords)
    programOptions.failed = [this](const ProgramRun &run, int32_t rank,
                                   const std::exception_ptr &why) {
      return lastWords->note(*rankConnections, &run, rank, why);
    };
  OptimizerConfig &optimizer = programOptions.optimizer;
  optimizer.rule.kind = options.optimizer;
  optimizer.rule.adamw.weightDecay = optimizer.rule.sgd.weightDecay =
      static_cast<float>(options.weightDecay);
  optimizer.rule.sgd.momentum =
      static_cast<float>(options.momentum.value_or(0.9));
  optimizer.maxNorm = options.clip;
  optimizer.delayAnneal = options.delayAnneal;
  optimizer.extrapolationDecay = options.extrapolationDecay;
  rankConnections = std::make_unique<Connections>(programState, programOptions);
  if (links.hasOtherTraffic)
    traffic = exe.extras.links->startOtherTraffic(*rankConnections, world());
  return std::make_unique<ProgramRun>(*rankConnections, program);
}

int64_t Trainer::allocatedBytes() {
  int64_t bytes = programState.allocatedBytes();
  if (world().isAlone())
    return bytes;
  int64_t sum = 0;
  for (const std::string &each :
       world().store->exchange("allocated bytes", std::to_string(bytes)))
    sum += std::atoll(each.c_str());
  return sum;
}

const LayerDesc *Trainer::head() const {
  if (headStage < 0)
    return nullptr;
  const LayerDesc &layer = layerOf(headStage, headLayer);
  return layer.kind == LayerKind::Custom ? nullptr : &layer;
}
