//===- verify.cpp - The pipeline against the sequential reference ---------===//

#include "runtime/error.h"
#include "runtime/trainer/progress.h"
#include "runtime/trainer/trainer.h"

#include <cmath>
#include <cstring>

using namespace rondo::runtime;

namespace {

struct Snapshot {
  /// By tensor, in global order.
  std::vector<std::vector<float>> weights;
  std::vector<double> losses;
  int64_t skipped = 0;
};

/// What a comparison found.
struct Difference {
  std::string where;
  int64_t elements = 0;
};

} // namespace

static Snapshot runFromStart(Trainer &trainer, const PlanDesc &plan,
                             uint64_t seed, int64_t iterations, bool quiet) {
  // A buffer that is read too early must show.
  trainer.state().poison();
  trainer.state().initialise(seed);
  std::unique_ptr<PlanRun> run = trainer.makeRun(plan);
  Snapshot snapshot;
  for (int64_t i = 1; i <= iterations; ++i) {
    IterationResult result = trainer.train(*run, seed, i, iterations);
    snapshot.losses.push_back(result.loss);
    snapshot.skipped += !result.isFinite;
    if (!quiet && trainer.hasLoss())
      std::printf("%s  iteration %lld  loss %.6f  %s\n", plan.name,
                  static_cast<long long>(i), result.loss,
                  duration(result.ns).c_str());
    else if (!quiet)
      std::printf("%s  iteration %lld  %s\n", plan.name,
                  static_cast<long long>(i), duration(result.ns).c_str());
    std::fflush(stdout);
  }
  for (const Tensor &tensor : trainer.state().tensors()) {
    std::vector<float> values(tensor.layout.count);
    trainer.state().read(tensor.stage, values.data(), tensor.weights,
                         4 * tensor.layout.count);
    snapshot.weights.push_back(std::move(values));
  }
  return snapshot;
}

/// Compares bits, or with a tolerance that covers another order of adding.
static Difference compare(const State &state, const Snapshot &reference,
                          const Snapshot &other, bool isExact) {
  constexpr float relative = 1e-3f, absolute = 1e-5f;
  Difference difference;
  for (size_t t = 0; t < reference.weights.size(); ++t) {
    const std::vector<float> &a = reference.weights[t], &b = other.weights[t];
    for (size_t i = 0; i < a.size(); ++i) {
      bool isSame = isExact ? std::memcmp(&a[i], &b[i], sizeof(float)) == 0
                            : std::fabs(a[i] - b[i]) <=
                                  absolute + relative * std::fabs(a[i]);
      if (isSame)
        continue;
      if (difference.elements++ == 0) {
        char values[64];
        std::snprintf(values, sizeof values, "%.9g and %.9g",
                      static_cast<double>(a[i]), static_cast<double>(b[i]));
        difference.where = "tensor '" + state.tensors()[t].name +
                           "', element " + std::to_string(i) + ": " + values;
      }
    }
  }
  return difference;
}

int rondo::runtime::verifyModel(Trainer &trainer, const Options &options) {
  const Executable &exe = trainer.executable();
  const int64_t iterations = options.iterations > 0 ? options.iterations : 3;
  const uint64_t seed = options.seed.value_or(1);
  const bool isExact = exe.accumulateInIndexOrder;
  auto run = [&](PlanKind kind) {
    return runFromStart(trainer, findPlan(exe, kind), seed, iterations,
                        options.quiet);
  };
  Snapshot reference = run(PlanKind::Sequential);
  Snapshot pipeline = run(PlanKind::Pipeline);
  if (!isExact)
    std::printf("the schedule adds gradients in its own order: weights are "
                "compared with a tolerance\n");
  Difference difference =
      compare(trainer.state(), reference, pipeline, isExact);
  int64_t elements = 0;
  for (const std::vector<float> &values : reference.weights)
    elements += static_cast<int64_t>(values.size());
  std::string scope = std::to_string(elements) + " weights in " +
                      std::to_string(reference.weights.size()) + " tensors";
  std::string after = " after " + std::to_string(iterations) +
                      (iterations == 1 ? " iteration" : " iterations");

  int64_t skipped = std::max(reference.skipped, pipeline.skipped);
  bool isSame = difference.elements == 0;
  if (!isSame)
    std::printf("first difference, sequential and pipeline: %s\n",
                difference.where.c_str());
  if (isSame && skipped == 0) {
    std::printf("verify: PASS %s are %s%s\n", scope.c_str(),
                isExact ? "bit-equal" : "equal within the tolerance",
                after.c_str());
    return 0;
  }
  if (!isSame)
    std::printf("verify: FAIL %lld of %s differ%s\n",
                static_cast<long long>(difference.elements), scope.c_str(),
                after.c_str());
  else
    std::printf("verify: FAIL gradients of %lld iterations are not finite\n",
                static_cast<long long>(skipped));
  return static_cast<int>(Exit::Failure);
}
