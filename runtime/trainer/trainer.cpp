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

void Trainer::openData(bool useGeneratedData) {
  const std::vector<StreamDesc> declared = streamsOf(exe.layers, exe.numLayers);
  if (needsData(exe) && declared.empty() &&
      (embeddingStage < 0 || headStage < 0))
    throw Error("'" + std::string(exe.name) +
                "' has layers that read data but no embedding or no head");
  auto open = [&] {
    if (!declared.empty()) {
      const StreamReading *reading = exe.extras.streams;
      if (!reading)
        throw Error("'" + std::string(exe.name) +
                    "' has layers that declare streams, but does not name "
                    "streamReading among its extras");
      streams = useGeneratedData
                    ? reading->generate()
                    : reading->open(options.data, options.heldOut, declared);
      return;
    }
    if (exe.extras.batches) {
      // Timed layers have no vocabulary.
      const int32_t vocab =
          needsData(exe) ? layerOf(embeddingStage, embeddingLayer).vocab : 1;
      documents = exe.extras.batches->open(options, vocab, useGeneratedData);
      return;
    }
    const LayerDesc &layer = layerOf(embeddingStage, embeddingLayer);
    tokens = useGeneratedData ? generateData(layer.vocab)
                              : runtime::openData(options.data, options.heldOut,
                                                  layer.vocab, layer.sequence);
  };
  const World &world = this->world();
  enter(world, Phase::Data);
  if (world.isFirst())
    open();
  if (world.isAlone())
    return;
  // Process 0 alone reports errors in the data.
  world.store->barrier("data");
  bool reads = false;
  for (int32_t s = 0; s < exe.numStages; ++s)
    reads |= readsData(s) && holdsStage(s);
  if (!world.isFirst() && reads)
    open();
}

const DataSource &Trainer::data() const {
  if (tokens)
    return *tokens;
  if (documents)
    return *documents;
  return *streams;
}

bool Trainer::readsData(int32_t stage) const {
  const LayerDesc *first = exe.layers + exe.stages[stage].firstLayer;
  return std::any_of(first, first + exe.stages[stage].numLayers,
                     runtime::readsData);
}

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

/// Tokens that have a target.
static int64_t tokensIn(const DocumentsDesc &documents) {
  return documents.starts[documents.count] - documents.padding;
}

int64_t Trainer::tokensOf(const ProgramDesc &program) const {
  if (embeddingStage < 0)
    return 0;
  if (documentsOf(program, 0)) {
    int64_t tokens = 0;
    for (int32_t i = 0; i < program.microbatches; ++i)
      tokens += tokensIn(*documentsOf(program, i));
    return tokens;
  }
  const LayerDesc &layer = layerOf(embeddingStage, embeddingLayer);
  return int64_t(program.microbatches) * program.samples * layer.sequence;
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

std::vector<double> Trainer::meanLosses(const ProgramDesc &program) const {
  std::vector<double> means;
  std::vector<float> losses(program.microbatches);
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    if (exe.replicas[h].stage != lossStage)
      continue;
    means.push_back(0);
    if (!programState.holds(h))
      continue;
    programState.read(h, losses.data(),
                      programState.replicas()[h].control.losses,
                      4 * losses.size());
    if (documentsOf(program, 0)) {
      for (int64_t i = 0; i < program.microbatches; ++i)
        means.back() += losses[i] * documentsOf(program, i)->lossShare;
      continue;
    }
    for (int64_t i = 0; i < program.microbatches; ++i)
      if (takes(program.shares[h], i))
        means.back() += losses[i];
    means.back() /= program.microbatches;
  }
  return means;
}

int64_t Trainer::enqueueNs(const ProgramRun &run) {
  int64_t sum = 0;
  for (int32_t r : run.heldRanks()) {
    const int64_t ns = programState.device(r).enqueueNs();
    if (ns < 0)
      return ns;
    sum += ns;
  }
  return sum;
}

/// Combines what each process knows. Each replica's loss is the mean over its
/// samples of all micro-batches, as if those that it does not take had none.
void Trainer::share(const std::string &name, const ProgramDesc &program,
                    IterationResult &result) {
  std::vector<double> means = meanLosses(program);
  std::vector<int32_t> replicas;
  for (int32_t h = 0; h < exe.numReplicas; ++h)
    if (exe.replicas[h].stage == lossStage)
      replicas.push_back(h);
  if (!world().isAlone()) {
    std::string own = std::to_string(result.stopSignal) + " " +
                      std::to_string(result.proposal);
    for (double mean : means) {
      char text[40];
      // Hexadecimal, so that no bit is lost.
      std::snprintf(text, sizeof text, " %a", mean);
      own += text;
    }
    std::vector<std::string> all =
        world().store->exchange(name, own, Store::Patience::WhileReported);
    for (size_t p = 0; p < all.size(); ++p) {
      char *rest = nullptr;
      result.stopSignal =
          std::max(result.stopSignal,
                   static_cast<int>(std::strtol(all[p].c_str(), &rest, 10)));
      const auto proposal = static_cast<int32_t>(std::strtol(rest, &rest, 10));
      if (p == 0)
        result.proposal = proposal;
      for (size_t k = 0; k < replicas.size(); ++k) {
        const double mean = std::strtod(rest, &rest);
        if (static_cast<int32_t>(p) == exe.replicas[replicas[k]].rank)
          means[k] = mean;
      }
    }
  }
  result.loss = 0;
  for (size_t k = 0; k < replicas.size(); ++k)
    result.loss +=
        means[k] * program.shares[replicas[k]].samples / samplesOf(program);
}

const std::atomic<int> Trainer::noSignal{0};

LearningRateSchedule Trainer::ratesUpTo(int64_t lastIteration) const {
  LearningRateSchedule schedule;
  schedule.peak = options.learningRate;
  schedule.floor = options.minLearningRate;
  schedule.warmupSteps = options.warmup;
  schedule.decaySteps = options.decay > 0 ? options.decay : lastIteration;
  return schedule;
}

IterationResult Trainer::train(ProgramRun &run, uint64_t seed,
                               int64_t iteration, int64_t lastIteration,
                               const std::atomic<int> &stopSignal,
                               int32_t proposal, const Emulation &emulation) {
  return trainOn(trainingSamples(seed, iteration), run, seed, iteration,
                 lastIteration, stopSignal, proposal, emulation);
}

IterationResult Trainer::trainBatch(ProgramRun &run, const WriteRow &rows,
                                    uint64_t seed, int64_t iteration,
                                    int64_t lastIteration,
                                    const std::atomic<int> &stopSignal) {
  Samples samples;
  samples.documents = rows;
  return trainOn(samples, run, seed, iteration, lastIteration, stopSignal,
                 /*proposal=*/-1, {});
}

IterationResult Trainer::trainOn(const Samples &samples, ProgramRun &run,
                                 uint64_t seed, int64_t iteration,
                                 int64_t lastIteration,
                                 const std::atomic<int> &stopSignal,
                                 int32_t proposal, const Emulation &emulation) {
  stageData(run, samples);
  Span span;
  span.before = iteration - 1;
  span.seed = seed;
  span.rates = ratesUpTo(lastIteration);
  span.emulation = emulation;
  IterationResult result;
  result.learningRate = learningRate(span.rates, iteration);
  ControlHeader header{};
  header.step.step = iteration;
  header.step.learningRate = static_cast<float>(result.learningRate);
  header.step.clipFactor = 1;
  header.norm = std::numeric_limits<double>::quiet_NaN();
  header.isFinite = 1;
  header.before = span.before;
  // Every replica's header gets the norm over all replicas.
  int32_t heldReplica = -1;
  for (int32_t h = 0; h < exe.numReplicas; ++h)
    if (programState.holds(h)) {
      programState.write(h, programState.replicas()[h].control.header, &header,
                         sizeof header);
      heldReplica = h;
    }

  rankConnections->transport().beginIteration(iteration);
  const int64_t enqueuedNs = enqueueNs(run);
  int64_t startNs = nowNs();
  run.iterate(threads, span);
  if (enqueuedNs >= 0)
    result.enqueueNs = enqueueNs(run) - enqueuedNs;
  result.stopSignal = stopSignal;
  result.proposal = proposal;
  share("iteration " + std::to_string(iteration), run.program(), result);
  result.ns = nowNs() - startNs;

  if (heldReplica >= 0)
    programState.read(heldReplica, &header,
                      programState.replicas()[heldReplica].control.header,
                      sizeof header);
  result.norm = header.norm;
  result.isFinite = header.isFinite != 0;
  if (emulation.pipeline)
    for (int32_t h = 0; h < exe.numReplicas; ++h)
      result.isFinite &= run.rank(0).record(h)->skipped[0] == 0;
  return result;
}

bool Trainer::hasHeldOut() {
  if (!hasLoss())
    return false;
  const bool mine = (tokens || streams || documents) && data().hasHeldOut();
  if (world().isAlone())
    return mine;
  return world().store->exchange("held-out data", mine ? "1" : "0").front() ==
         "1";
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

/// Runs a program that is no iteration of the training.
static void runApart(ProgramRun &run, State &state, Team &threads,
                     uint64_t seed) {
  // Tasks on a GPU read the number of the iteration there.
  const int64_t none = -1;
  for (int32_t h = 0; h < state.executable().numReplicas; ++h)
    if (state.holds(h))
      state.write(h, &state.replicas()[h].control.header->before, &none,
                  sizeof none);
  Span span;
  span.seed = seed;
  run.iterate(threads, span);
}

/// Samples of an iteration; each document begins one.
static int64_t numSamples(const ProgramDesc &program) {
  if (!documentsOf(program, 0))
    return int64_t(program.microbatches) * program.samples;
  int64_t count = 0;
  for (int32_t i = 0; i < program.microbatches; ++i)
    count += documentsOf(program, i)->count;
  return count;
}

double Trainer::evaluate(ProgramRun &run, uint64_t seed) {
  return evaluateOn(heldOutSamples(numSamples(run.program())), run, seed);
}

double Trainer::evaluateBatch(ProgramRun &run, const WriteRow &rows,
                              uint64_t seed) {
  Samples samples;
  samples.documents = rows;
  return evaluateOn(samples, run, seed);
}

double Trainer::evaluateOn(const Samples &samples, ProgramRun &run,
                           uint64_t seed) {
  stageData(run, samples);
  runApart(run, programState, threads, seed);
  IterationResult result;
  share("evaluation", run.program(), result);
  return result.loss;
}

const LayerDesc *Trainer::head() const {
  if (headStage < 0)
    return nullptr;
  const LayerDesc &layer = layerOf(headStage, headLayer);
  return layer.kind == LayerKind::Custom ? nullptr : &layer;
}

Trainer::Samples Trainer::trainingSamples(uint64_t seed,
                                          int64_t iteration) const {
  Samples samples;
  samples.tokens = [=](int64_t sample, int64_t count, int32_t *out) {
    tokens->trainingSample(seed, iteration, sample, count, out);
  };
  samples.row = [=](int64_t sample) {
    return streams->trainingRow(seed, iteration, sample);
  };
  return samples;
}

Trainer::Samples Trainer::heldOutSamples(int64_t number) const {
  Samples samples;
  samples.tokens = [=](int64_t sample, int64_t count, int32_t *out) {
    tokens->heldOutSample(sample, number, count, out);
  };
  samples.row = [=](int64_t sample) {
    return streams->heldOutRow(sample, number);
  };
  return samples;
}

void Trainer::stageData(ProgramRun &run, const Samples &samples) {
  for (int32_t h = 0; h < exe.numReplicas; ++h) {
    if (!programState.holds(h) || !readsData(exe.replicas[h].stage))
      continue;
    for (int64_t i = 0; i < run.program().microbatches; ++i)
      if (takes(run.program().shares[h], i))
        stageMicrobatch(run.program(), h, i, samples,
                        [&, slot = run.data(h, i)](
                            int64_t offset, const void *values, int64_t bytes) {
                          programState.write(h, slot + offset, values, bytes);
                        });
  }
}

void Trainer::stageMicrobatch(const ProgramDesc &program, int32_t replica,
                              int64_t microbatch, const Samples &samples,
                              const WriteData &write) {
  if (embeddingStage >= 0)
    stageTokens(program, replica, microbatch, samples, write);
  else
    stageStreams(program, replica, microbatch, samples, write);
}

/// The number of the first sample of a replica in a micro-batch.
static int64_t firstSampleOf(const ProgramDesc &program, int32_t replica,
                             int64_t microbatch) {
  return microbatch % program.microbatches * program.samples +
         program.shares[replica].firstSample;
}

void Trainer::stageTokens(const ProgramDesc &program, int32_t replica,
                          int64_t microbatch, const Samples &samples,
                          const WriteData &write) {
  const std::vector<LayerBinding> &layers =
      programState.replicas(program, sizeOf(program, microbatch))[replica]
          .layers;
  std::vector<int32_t> window, inputs, targets;
  // Appends the first tokens of a sample, and the one after each.
  auto append = [&](int64_t sample, int64_t count) {
    window.resize(count + 1);
    samples.tokens(sample, count + 1, window.data());
    inputs.insert(inputs.end(), window.begin(), window.end() - 1);
    targets.insert(targets.end(), window.begin() + 1, window.end());
  };
  const DocumentsDesc *row = documentsOf(program, microbatch);
  if (row && samples.documents) {
    const size_t padded = tokensIn(*row) + row->padding;
    inputs.assign(padded, 0);
    targets.assign(padded, noTarget);
    samples.documents(microbatch, inputs.data(), targets.data());
  } else if (row) {
    int64_t first = 0;
    for (int64_t i = 0; i < microbatch; ++i)
      first += documentsOf(program, i)->count;
    for (int32_t k = 0; k < row->count; ++k)
      append(first + k, row->starts[k + 1] - row->starts[k]);
  } else {
    const int64_t firstSample = firstSampleOf(program, replica, microbatch);
    for (int64_t b = 0; b < program.shares[replica].samples; ++b)
      append(firstSample + b, layerOf(embeddingStage, embeddingLayer).sequence);
  }
  auto writeOf = [&](int32_t stage, int32_t layer,
                     const std::vector<int32_t> &values) {
    if (exe.replicas[replica].stage == stage)
      write(layers[layer].dataOffset, values.data(),
            4 * static_cast<int64_t>(values.size()));
  };
  writeOf(embeddingStage, embeddingLayer, inputs);
  writeOf(headStage, headLayer, targets);
}

void Trainer::stageStreams(const ProgramDesc &program, int32_t replica,
                           int64_t microbatch, const Samples &samples,
                           const WriteData &write) {
  const int64_t firstSample = firstSampleOf(program, replica, microbatch);
  std::vector<char> values;
  for (const LayerBinding &layer :
       programState.replicas(program)[replica].layers) {
    const CustomDesc &custom = layer.desc->custom;
    for (int32_t s = 0; s < custom.numStreams; ++s) {
      const StreamDesc &stream = custom.streams[s];
      const int64_t bytes = rowBytes(stream);
      values.resize(layer.desc->batch * bytes);
      for (int64_t b = 0; b < layer.desc->batch; ++b)
        streams->read(samples.row(firstSample + b), stream,
                      values.data() + b * bytes);
      write(layer.dataOffset + streamOffset(*layer.desc, s), values.data(),
            static_cast<int64_t>(values.size()));
    }
  }
}
