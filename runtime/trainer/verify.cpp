//===- verify.cpp - Compares pipelines with the sequential reference ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/trainer/trainer.h"

#include "kinds/Counts.h"
#include "runtime/base/error.h"
#include "runtime/execution/weights.h"
#include "runtime/launch/store.h"
#include "runtime/launch/world.h"
#include "runtime/trainer/extras.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace rondo::runtime;

using rondo::countOf;

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

/// The weights of all processes, in process 0; elsewhere those that it holds.
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

/// Begins again. Memory that nothing has written is NaN, so that early reads
/// are visible.
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

/// Trains on batches of documents.
static void runBatches(Trainer &trainer, const RunFromStart &how,
                       bool isReference, Snapshot &snapshot) {
  const std::unique_ptr<Batches> batches =
      trainer.executable().extras.batches->make(trainer, how.seed,
                                                how.iterations);
  for (int64_t i = 1; i <= how.iterations; ++i) {
    BatchRun &batch = isReference ? batches->referenceAt(i) : batches->at(i);
    const IterationResult result =
        trainer.trainBatch(*batch.run, batch.rows, how.seed, i, how.iterations);
    snapshot.skipped += !result.isFinite;
    print(trainer, batch.run->program(), how, i, result);
  }
  snapshot.after = copyWeights(trainer.state());
}

Snapshot rondo::runtime::runPipelines(Trainer &trainer, const Turns &turns,
                                      const RunFromStart &how) {
  Snapshot snapshot = begin(trainer, how);
  if (trainer.executable().extras.batches) {
    runBatches(trainer, how, /*isReference=*/false, snapshot);
    return snapshot;
  }
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
  if (exe.extras.batches) {
    runBatches(trainer, how, /*isReference=*/true, snapshot);
    return snapshot;
  }
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
      history = std::make_unique<WeightHistory>(trainer.state(), pipeline);
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

namespace {

/// Pipelines that run in turn, and references with the same micro-batches.
struct Case {
  Turns turns;
  /// Index into Verification::references.
  size_t reference = 0;

  bool isExact() const {
    for (const ProgramDesc *program : turns.programs())
      if (!program->accumulatesInIndexOrder)
        return false;
    return true;
  }
};

class Verification {
public:
  Verification(Trainer &trainer, const Options &options);

  /// Runs each distinct sequence of references once.
  void runReferences();
  /// Whether a case passes. Only process 0 knows.
  bool run(const Case &each);

  std::vector<Case> cases;

private:
  void add(Turns turns);
  const ProgramDesc &referenceAt(const Turns &turns, int64_t iteration) const {
    return findProgram(exe, ProgramKind::Sequential, turns.at(iteration));
  }
  /// The pipeline that the reference emulates; null: it only computes the same.
  static const ProgramDesc *emulatedAt(const Turns &turns, int64_t iteration) {
    const ProgramDesc &program = turns.at(iteration);
    return program.overlap ? &program : nullptr;
  }
  RunFromStart how() const {
    RunFromStart how;
    how.seed = seed;
    how.iterations = iterations;
    how.drainEvery = options.drainEvery;
    how.quiet = isQuiet;
    return how;
  }

  Trainer &trainer;
  const Options &options;
  const Executable &exe;
  int64_t iterations;
  const uint64_t seed;
  const bool isQuiet;
  std::vector<Snapshot> references;
};

} // namespace

/// Enough that versions repeat, and so their slots.
static int64_t leastIterations(const Executable &exe,
                               const ProgramDesc &program) {
  if (!program.overlap)
    return 1;
  int64_t most = 0;
  for (int32_t h = 0; h < exe.numReplicas; ++h)
    most = std::max<int64_t>(
        most, maxDelay(*program.overlap, program.overlap->versions[h]));
  return 2 * (most + 2);
}

Verification::Verification(Trainer &trainer, const Options &options)
    : trainer(trainer), options(options), exe(trainer.executable()),
      iterations(options.iterations > 0 ? options.iterations : 3),
      seed(options.seed.value_or(1)),
      isQuiet(options.quiet || !trainer.world().isFirst()) {
  const Turns wanted(exe, options.schedules);
  const std::vector<const ProgramDesc *> programs =
      options.schedules.empty() ? pipelinesOf(exe) : wanted.programs();
  for (const ProgramDesc *program : programs)
    if (!options.hasIterations)
      iterations = std::max(iterations, leastIterations(exe, *program));
  for (const ProgramDesc *program : programs)
    add(Turns(exe, {{program->name, 1}}));
  if (wanted.programs().size() > 1)
    add(wanted);
  if (!exe.extras.search || !options.schedules.empty())
    return;
  // A run that changes its schedule, in every iteration.
  std::vector<ScheduleTurn> all;
  for (const ProgramDesc *program : pipelinesOf(exe))
    all.push_back({program->name, 1});
  if (all.size() > 1)
    add(Turns(exe, all));
}

/// Cases with the same references share them.
void Verification::add(Turns turns) {
  Case each{std::move(turns)};
  auto isSame = [&](const Case &other) {
    for (int64_t i = 1; i <= iterations; ++i)
      if (&referenceAt(each.turns, i) != &referenceAt(other.turns, i) ||
          emulatedAt(each.turns, i) != emulatedAt(other.turns, i))
        return false;
    return true;
  };
  auto other = std::find_if(cases.begin(), cases.end(), isSame);
  each.reference = other != cases.end() ? other->reference : references.size();
  if (other == cases.end())
    references.emplace_back();
  cases.push_back(std::move(each));
}

void Verification::runReferences() {
  const World &world = trainer.world();
  // The reference needs all stages in one process: process 0 holds them while
  // it runs.
  std::unique_ptr<Trainer> alone;
  if (!world.isAlone() && world.isFirst())
    alone = std::make_unique<Trainer>(exe, options, options.data.empty());
  Trainer &where = alone ? *alone : trainer;
  for (size_t r = 0; r < references.size() && world.isFirst(); ++r) {
    const Turns *turns = nullptr;
    // Differences are relative to the reference's change.
    bool keepBefore = false;
    for (const Case &each : cases)
      if (each.reference == r) {
        turns = turns ? turns : &each.turns;
        keepBefore |= !each.isExact();
      }
    RunFromStart from = how();
    from.keepBefore = keepBefore;
    references[r] = runReference(where, *turns, from);
  }
  alone.reset();
  if (!world.isAlone())
    world.store->exchange("the reference", "", Store::Patience::WhileAlive);
}

bool Verification::run(const Case &each) {
  const bool isOnly = pipelinesOf(exe).size() == 1;
  const bool isExact = each.isExact();
  const Snapshot &reference = references[each.reference];
  RunFromStart from = how();
  from.label = isOnly ? "pipeline" : "";
  const Snapshot pipeline = runPipelines(trainer, each.turns, from);
  if (!trainer.world().isFirst())
    return true;
  if (!isExact)
    std::printf("the schedule adds gradients in its own order: tensors may "
                "differ by %g %% of their change\n",
                100 * tolerance);
  auto compare = isExact ? compareBits : compareChange;
  Difference difference = compare(trainer.state(), reference, pipeline);
  // Count each weight once, although those of every replica were compared.
  int64_t elements = 0, tensors = 0;
  for (const Tensor &tensor : trainer.state().tensors())
    if (tensor.replica == tensor.owner) {
      elements += tensor.layout.count;
      ++tensors;
    }
  std::string scope = std::to_string(elements) + " weights in " +
                      std::to_string(tensors) + " tensors";
  std::string after = " after " + countOf(iterations, "iteration");
  const std::string verify =
      isOnly ? "verify" : "verify '" + each.turns.text() + "'";

  int64_t skipped = std::max(reference.skipped, pipeline.skipped);
  if (difference.count > 0) {
    std::printf("first difference, sequential and pipeline: %s\n",
                difference.first.c_str());
    std::printf("%s: FAIL %lld %s of %s differ%s\n", verify.c_str(),
                static_cast<long long>(difference.count),
                isExact ? "weights" : "tensors", scope.c_str(), after.c_str());
    return false;
  }
  if (skipped > 0) {
    std::printf("%s: FAIL gradients of %lld iterations are not finite\n",
                verify.c_str(), static_cast<long long>(skipped));
    return false;
  }
  std::printf("%s: PASS %s are %s%s\n", verify.c_str(), scope.c_str(),
              isExact ? "bit-equal" : "equal within the tolerance",
              after.c_str());
  return true;
}

int rondo::runtime::verifyModel(Trainer &trainer, const Options &options) {
  Verification verification(trainer, options);
  verification.runReferences();
  size_t failed = 0;
  for (const Case &each : verification.cases)
    failed += !verification.run(each);
  const size_t count = verification.cases.size();
  if (trainer.world().isFirst() && count > 1 && failed == 0)
    std::printf("verify: PASS all %zu\n", count);
  else if (trainer.world().isFirst() && count > 1)
    std::printf("verify: FAIL %zu of %zu\n", failed, count);
  return static_cast<int>(failed == 0 ? Exit::Fine : Exit::Failure);
}
