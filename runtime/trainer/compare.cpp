//===- compare.cpp - Runs from the start, and what they end with ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/compare.h"

#include "runtime/base/error.h"
#include "runtime/execution/weights.h"
#include "runtime/launch/phase.h"
#include "runtime/launch/store.h"
#include "runtime/trainer/progress.h"

#include <cmath>
#include <cstring>

using namespace rondo::runtime;

/// A tensor of this process, or in process 0 of any other that holds it.
static void copyTensor(const State &state, const Tensor &tensor,
                       std::vector<float> &values) {
  const auto bytes = static_cast<int64_t>(4 * values.size());
  const bool isHere = state.holds(tensor.replica),
             isFirst = state.world().isFirst();
  if (isHere)
    state.read(tensor.replica, values.data(), tensor.weights, bytes);
  if (isHere && isFirst)
    return;
  const std::string key =
      tensor.name + " of replica " + std::to_string(tensor.replica);
  if (isHere)
    return state.world().store->give(
        key, std::string(reinterpret_cast<const char *>(values.data()),
                         static_cast<size_t>(bytes)));
  const std::string data = state.world().store->take(key);
  if (static_cast<int64_t>(data.size()) != bytes)
    throw Error("'" + key + "' came with " + std::to_string(data.size()) +
                    " bytes instead of " + std::to_string(bytes),
                Exit::RunFailure);
  std::memcpy(values.data(), data.data(), data.size());
}

/// Those of all processes, in process 0.
static Weights copyWeights(const State &state) {
  enter(state.world(), Phase::Gather);
  Weights weights;
  for (const Tensor &tensor : state.tensors()) {
    if (!state.world().isFirst() && !state.holds(tensor.replica))
      continue;
    weights.emplace_back(tensor.count);
    if (tensor.count > 0)
      copyTensor(state, tensor, weights.back());
  }
  return weights;
}

/// Begins again, with NaNs where nothing has been written, which makes reads
/// that come too early visible.
static Snapshot begin(Trainer &trainer, const RunFromStart &how) {
  trainer.state().poison();
  trainer.state().initialise(how.seed);
  Snapshot snapshot;
  if (how.keepBefore)
    snapshot.before = copyWeights(trainer.state());
  return snapshot;
}

static void print(const Trainer &trainer, const ProgramDesc &program,
                  const RunFromStart &how, int64_t iteration,
                  const IterationResult &result) {
  if (how.quiet)
    return;
  const char *name = how.label.empty() ? program.name : how.label.c_str();
  if (trainer.hasLoss())
    std::printf("%s  iteration %lld  loss %.6f  %s\n", name,
                static_cast<long long>(iteration), result.loss,
                duration(result.ns).c_str());
  else
    std::printf("%s  iteration %lld  %s\n", name,
                static_cast<long long>(iteration), duration(result.ns).c_str());
  std::fflush(stdout);
}

Snapshot rondo::runtime::runPipelines(Trainer &trainer, const Turns &turns,
                                      const RunFromStart &how) {
  Snapshot snapshot = begin(trainer, how);
  std::vector<std::unique_ptr<ProgramRun>> runs(
      trainer.executable().numPrograms);
  TrainingSpan span;
  span.seed = how.seed;
  span.last = how.iterations;
  for (; span.first <= span.last; span.first += span.count) {
    const ProgramDesc &program = turns.at(span.first);
    span.count = turns.together(span.first, span.last, {how.drainEvery});
    std::unique_ptr<ProgramRun> &run = runs[program.id];
    if (!run)
      run = trainer.makeRun(program);
    trainer.trainSpan(*run, span,
                      [&](int64_t number, const IterationResult &result) {
                        snapshot.skipped += !result.isFinite;
                        print(trainer, program, how, number, result);
                      });
  }
  snapshot.after = copyWeights(trainer.state());
  return snapshot;
}

Snapshot rondo::runtime::runReference(Trainer &trainer, const Turns &turns,
                                      const RunFromStart &how) {
  Snapshot snapshot = begin(trainer, how);
  const Executable &exe = trainer.executable();
  std::vector<std::unique_ptr<ProgramRun>> runs(exe.numPrograms);
  int64_t count = 0;
  for (int64_t first = 1; first <= how.iterations; first += count) {
    const ProgramDesc &pipeline = turns.at(first);
    count = turns.together(first, how.iterations, {how.drainEvery});
    const ProgramDesc &program =
        findProgram(exe, ProgramKind::Sequential, pipeline);
    std::unique_ptr<ProgramRun> &run = runs[program.id];
    if (!run)
      run = trainer.makeRun(program);
    std::unique_ptr<WeightHistory> history;
    Emulation emulation;
    if (pipeline.overlap) {
      history =
          std::make_unique<WeightHistory>(trainer.state(), *pipeline.overlap);
      emulation = {&pipeline, pipeline.overlap, 0, history.get()};
    }
    for (int64_t i = first; i < first + count; ++i, ++emulation.iteration) {
      const IterationResult result = trainer.train(
          *run, how.seed, i, how.iterations, Trainer::noSignal, -1, emulation);
      snapshot.skipped += !result.isFinite;
      print(trainer, program, how, i, result);
    }
  }
  snapshot.after = copyWeights(trainer.state());
  return snapshot;
}

static uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

Difference rondo::runtime::compareBits(const State &state,
                                       const Snapshot &reference,
                                       const Snapshot &other) {
  Difference difference;
  for (size_t t = 0; t < reference.after.size(); ++t) {
    const std::vector<float> &a = reference.after[t], &b = other.after[t];
    for (size_t i = 0; i < a.size(); ++i) {
      if (bitsOf(a[i]) == bitsOf(b[i]) || difference.count++ > 0)
        continue;
      char values[64];
      std::snprintf(values, sizeof values, "%.9g and %.9g",
                    static_cast<double>(a[i]), static_cast<double>(b[i]));
      const Tensor &tensor = state.tensors()[t];
      difference.first =
          "tensor '" + tensor.name + "', element " +
          std::to_string(tensor.first + static_cast<int64_t>(i)) + ": " +
          values;
    }
  }
  return difference;
}

Difference rondo::runtime::compareChange(const State &state,
                                         const Snapshot &reference,
                                         const Snapshot &other) {
  Difference difference;
  for (size_t t = 0; t < reference.after.size(); ++t) {
    double changed = 0, differs = 0;
    for (size_t i = 0; i < reference.after[t].size(); ++i) {
      double a = reference.after[t][i];
      changed += std::pow(a - reference.before[t][i], 2);
      differs += std::pow(a - other.after[t][i], 2);
    }
    if (differs <= tolerance * tolerance * changed || difference.count++ > 0)
      continue;
    char share[32];
    std::snprintf(share, sizeof share, "%.1f",
                  100 * std::sqrt(differs / changed));
    difference.first = "tensor '" + state.tensors()[t].name +
                       "': the difference is " + share +
                       " % of what training changed";
  }
  return difference;
}
