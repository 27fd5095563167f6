//===- iterations.cpp - Iterations and evaluations of a trainer -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/trainer.h"

#include "runtime/base/clock.h"
#include "runtime/launch/store.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

using namespace rondo::runtime;

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
