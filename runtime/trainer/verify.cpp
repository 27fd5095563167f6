//===- verify.cpp - The pipeline against the sequential reference ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/error.h"
#include "runtime/launch/store.h"
#include "runtime/trainer/gather.h"
#include "runtime/trainer/progress.h"
#include "runtime/trainer/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

using namespace rondo::runtime;

namespace {

/// By tensor, in global order.
using Weights = std::vector<std::vector<float>>;

struct Snapshot {
  /// Weights; `before` is empty if only the end is compared.
  Weights before, after;
  int64_t skipped = 0;
};

/// Result of a comparison.
struct Difference {
  std::string first;
  /// Counts weights, or tensors if there is a tolerance.
  int64_t count = 0;
};

constexpr double tolerance = 0.05;

} // namespace

/// Those of all processes, in process 0.
static Weights copyWeights(const State &state) {
  Weights weights;
  for (const Tensor &tensor : state.tensors()) {
    if (!takesPart(state, tensor.home))
      continue;
    weights.emplace_back(tensor.layout.count);
    gather(state, tensor.home, keyOf(state, tensor.home, tensor.name),
           tensor.weights, weights.back().data(), 4 * tensor.layout.count);
  }
  return weights;
}

/// Runs the program that `at` gives for each iteration. Lines begin with
/// `label`, or with the program's name if it is empty.
static Snapshot
runFromStart(Trainer &trainer,
             const std::function<const ProgramDesc &(int64_t)> &at,
             const std::string &label, uint64_t seed, int64_t iterations,
             bool keepBefore, bool quiet) {
  // Makes reads that come too early visible.
  trainer.state().poison();
  trainer.state().initialise(seed);
  std::vector<std::unique_ptr<ProgramRun>> runs(
      trainer.executable().numPrograms);
  Snapshot snapshot;
  if (keepBefore)
    snapshot.before = copyWeights(trainer.state());
  for (int64_t i = 1; i <= iterations; ++i) {
    const ProgramDesc &program = at(i);
    std::unique_ptr<ProgramRun> &run = runs[program.id];
    if (!run)
      run = trainer.makeRun(program);
    IterationResult result = trainer.train(*run, seed, i, iterations);
    snapshot.skipped += !result.isFinite;
    const char *name = label.empty() ? program.name : label.c_str();
    if (!quiet && trainer.hasLoss())
      std::printf("%s  iteration %lld  loss %.6f  %s\n", name,
                  static_cast<long long>(i), result.loss,
                  duration(result.ns).c_str());
    else if (!quiet)
      std::printf("%s  iteration %lld  %s\n", name, static_cast<long long>(i),
                  duration(result.ns).c_str());
    std::fflush(stdout);
  }
  snapshot.after = copyWeights(trainer.state());
  return snapshot;
}

static uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

static Difference compareBits(const State &state, const Snapshot &reference,
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
      difference.first = "tensor '" + state.tensors()[t].name + "', element " +
                         std::to_string(i) + ": " + values;
    }
  }
  return difference;
}

/// For runs that add in a different order. AdamW moves a weight by about the
/// learning rate however small its gradient, so single elements say nothing: a
/// tensor's difference is measured relative to how far training moved it.
static Difference compareChange(const State &state, const Snapshot &reference,
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

/// Pipelines that run in turn, beside references with the same micro-batches.
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
  Snapshot runReference(Trainer &where, const Turns &turns, bool keepBefore);

  Trainer &trainer;
  const Options &options;
  const Executable &exe;
  const int64_t iterations;
  const uint64_t seed;
  const bool isQuiet;
  std::vector<Snapshot> references;
};

} // namespace

Verification::Verification(Trainer &trainer, const Options &options)
    : trainer(trainer), options(options), exe(trainer.executable()),
      iterations(options.iterations > 0 ? options.iterations : 3),
      seed(options.seed.value_or(1)),
      isQuiet(options.quiet || !trainer.world().isFirst()) {
  const Turns wanted(exe, options.schedules);
  for (const ProgramDesc *program :
       options.schedules.empty() ? pipelinesOf(exe) : wanted.programs())
    add(Turns(exe, {{program->name, 1}}));
  if (wanted.programs().size() > 1)
    add(wanted);
  if (!exe.search || !options.schedules.empty())
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
      if (&referenceAt(each.turns, i) != &referenceAt(other.turns, i))
        return false;
    return true;
  };
  auto other = std::find_if(cases.begin(), cases.end(), isSame);
  each.reference = other != cases.end() ? other->reference : references.size();
  if (other == cases.end())
    references.emplace_back();
  cases.push_back(std::move(each));
}

Snapshot Verification::runReference(Trainer &where, const Turns &turns,
                                    bool keepBefore) {
  return runFromStart(
      where,
      [&](int64_t i) -> const ProgramDesc & { return referenceAt(turns, i); },
      "", seed, iterations, keepBefore, isQuiet);
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
    references[r] = runReference(where, *turns, keepBefore);
  }
  alone.reset();
  if (!world.isAlone())
    world.store->exchange("the reference", "", Store::Patience::Endless);
}

bool Verification::run(const Case &each) {
  const bool isOnly = pipelinesOf(exe).size() == 1;
  const bool isExact = each.isExact();
  const Snapshot &reference = references[each.reference];
  const Snapshot pipeline = runFromStart(
      trainer,
      [&](int64_t i) -> const ProgramDesc & { return each.turns.at(i); },
      isOnly ? "pipeline" : "", seed, iterations, false, isQuiet);
  if (!trainer.world().isFirst())
    return true;
  if (!isExact)
    std::printf("the schedule adds gradients in its own order: tensors may "
                "differ by %g %% of their change\n",
                100 * tolerance);
  auto compare = isExact ? compareBits : compareChange;
  Difference difference = compare(trainer.state(), reference, pipeline);
  // Those of the model; every home's have been compared.
  int64_t elements = 0, tensors = 0;
  for (const Tensor &tensor : trainer.state().tensors())
    if (tensor.home == tensor.owner) {
      elements += tensor.layout.count;
      ++tensors;
    }
  std::string scope = std::to_string(elements) + " weights in " +
                      std::to_string(tensors) + " tensors";
  std::string after = " after " + std::to_string(iterations) +
                      (iterations == 1 ? " iteration" : " iterations");
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
