//===- verify.cpp - The pipeline against the sequential reference ---------===//

#include "runtime/base/error.h"
#include "runtime/launch/store.h"
#include "runtime/trainer/gather.h"
#include "runtime/trainer/progress.h"
#include "runtime/trainer/trainer.h"

#include <cmath>
#include <cstring>

using namespace rondo::runtime;

namespace {

/// By tensor, in global order.
using Weights = std::vector<std::vector<float>>;

struct Snapshot {
  /// Weights; `before` is empty where only the end is compared.
  Weights before, after;
  int64_t skipped = 0;
};

/// What a comparison found.
struct Difference {
  std::string first;
  /// Of weights, or of tensors where there is a tolerance.
  int64_t count = 0;
};

constexpr double tolerance = 0.05;

} // namespace

/// Of all processes, in process 0.
static Weights copyWeights(const State &state) {
  Weights weights;
  for (const Tensor &tensor : state.tensors()) {
    if (!takesPart(state, tensor.home))
      continue;
    weights.emplace_back(tensor.layout.count);
    gather(state, tensor.home, tensor.name, tensor.weights,
           weights.back().data(), 4 * tensor.layout.count);
  }
  return weights;
}

static Snapshot runFromStart(Trainer &trainer, const ProgramDesc &program,
                             uint64_t seed, int64_t iterations, bool keepBefore,
                             bool quiet) {
  // A buffer that is read too early must show.
  trainer.state().poison();
  trainer.state().initialise(seed);
  std::unique_ptr<ProgramRun> run = trainer.makeRun(program);
  Snapshot snapshot;
  if (keepBefore)
    snapshot.before = copyWeights(trainer.state());
  for (int64_t i = 1; i <= iterations; ++i) {
    IterationResult result = trainer.train(*run, seed, i, iterations);
    snapshot.skipped += !result.isFinite;
    if (!quiet && trainer.hasLoss())
      std::printf("%s  iteration %lld  loss %.6f  %s\n", program.name,
                  static_cast<long long>(i), result.loss,
                  duration(result.ns).c_str());
    else if (!quiet)
      std::printf("%s  iteration %lld  %s\n", program.name,
                  static_cast<long long>(i), duration(result.ns).c_str());
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

/// For another order of adding. AdamW moves a weight by about the learning rate
/// however small its gradient is, so single elements tell nothing: the
/// difference of a tensor is measured against how far training moved it.
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

int rondo::runtime::verifyModel(Trainer &trainer, const Options &options) {
  const Executable &exe = trainer.executable();
  const int64_t iterations = options.iterations > 0 ? options.iterations : 3;
  const uint64_t seed = options.seed.value_or(1);
  const bool isExact = exe.accumulateInIndexOrder;
  const World &world = trainer.world();
  auto run = [&](Trainer &where, ProgramKind kind) {
    // A change is measured by the reference's.
    const bool keepBefore = !isExact && kind == ProgramKind::Sequential;
    return runFromStart(where, findProgram(exe, kind), seed, iterations,
                        keepBefore, options.quiet || !world.isFirst());
  };
  Snapshot reference;
  if (world.isAlone()) {
    reference = run(trainer, ProgramKind::Sequential);
  } else {
    // The reference needs all stages in one process; process 0 holds them as
    // long as it runs.
    if (world.isFirst()) {
      Trainer alone(exe, options, true);
      reference = run(alone, ProgramKind::Sequential);
    }
    world.store->exchange("the reference", "", Store::Patience::Endless);
  }
  Snapshot pipeline = run(trainer, ProgramKind::Pipeline);
  if (!world.isFirst())
    return 0;
  if (!isExact)
    std::printf("the schedule adds gradients in its own order: tensors may "
                "differ by %g %% of their change\n",
                100 * tolerance);
  auto compare = isExact ? compareBits : compareChange;
  Difference difference = compare(trainer.state(), reference, pipeline);
  int64_t elements = 0;
  for (const std::vector<float> &values : reference.after)
    elements += static_cast<int64_t>(values.size());
  std::string scope = std::to_string(elements) + " weights in " +
                      std::to_string(reference.after.size()) + " tensors";
  std::string after = " after " + std::to_string(iterations) +
                      (iterations == 1 ? " iteration" : " iterations");

  int64_t skipped = std::max(reference.skipped, pipeline.skipped);
  if (difference.count > 0) {
    std::printf("first difference, sequential and pipeline: %s\n",
                difference.first.c_str());
    std::printf("verify: FAIL %lld %s of %s differ%s\n",
                static_cast<long long>(difference.count),
                isExact ? "weights" : "tensors", scope.c_str(), after.c_str());
    return static_cast<int>(Exit::Failure);
  }
  if (skipped > 0) {
    std::printf("verify: FAIL gradients of %lld iterations are not finite\n",
                static_cast<long long>(skipped));
    return static_cast<int>(Exit::Failure);
  }
  std::printf("verify: PASS %s are %s%s\n", scope.c_str(),
              isExact ? "bit-equal" : "equal within the tolerance",
              after.c_str());
  return 0;
}
