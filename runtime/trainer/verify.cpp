//===- verify.cpp - The pipeline against the sequential reference ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "kinds/Counts.h"
#include "runtime/base/error.h"
#include "runtime/launch/store.h"
#include "runtime/trainer/compare.h"

#include <algorithm>

using rondo::countOf;
using namespace rondo::runtime;

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
  // Those of the model; every replica's have been compared.
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
