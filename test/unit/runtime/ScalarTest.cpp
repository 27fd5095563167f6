//===- ScalarTest.cpp - Two weights, moved back, against numbers by hand --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// y = w2 * (w1 * x) with x = 1, the loss (y - 2)^2 / 2, both weights 1 at the
// start, a learning rate of 0.1: the run of PipeMare's two stages, which are 3
// and 1 updates late. The numbers were computed in fp64.
//
//===----------------------------------------------------------------------===//

#include "Overlapped.h"

#include "runtime/bodies/rondo_body.h"
#include "runtime/trainer/trainer.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace rondo::runtime;
using namespace rondo::runtime::test;

namespace {

const float *in(const void *buffer) {
  return static_cast<const float *>(buffer);
}
float &out(void *buffer) { return *static_cast<float *>(buffer); }

const char *sizes(const rondo_layer *layer, rondo_sizes *sizes) {
  const bool isLast = layer->num_inputs > 0;
  sizes->weight_bytes = 64;
  sizes->saved_for_input_grad_bytes = isLast ? 64 : 0;
  sizes->saved_for_weight_grad_bytes = 64;
  sizes->output_bytes = isLast ? 0 : 64;
  return nullptr;
}

int32_t tensors(const rondo_layer *, rondo_tensor *tensors, int32_t capacity) {
  if (capacity > 0)
    tensors[0] = {"w", 1, {1, 1}, 0, RONDO_INIT_ONES, 0, 0};
  return 1;
}

// w1 * x.
const char *multiply(const rondo_layer *, const rondo_task *task) {
  out(task->output) = *in(task->weights);
  return nullptr;
}
const char *keepGradient(const rondo_layer *, const rondo_task *task) {
  out(task->saved_for_weight_grad) = *in(task->output_grad);
  return nullptr;
}
const char *addGradient(const rondo_layer *, const rondo_task *task) {
  out(task->gradients) += *in(task->saved_for_weight_grad);
  return nullptr;
}

/// Weight gradients of the first layer until one is infinite, if it is to be.
int64_t untilInfinite = 0;
const char *addFirstGradient(const rondo_layer *layer, const rondo_task *task) {
  addGradient(layer, task);
  if (untilInfinite > 0 && --untilInfinite == 0)
    out(task->gradients) = INFINITY;
  return nullptr;
}

// w2 * a and its loss. Keeps the difference for I, and for W its product with
// a.
const char *compare(const rondo_layer *, const rondo_task *task) {
  const float a = *in(task->inputs[0]);
  const float difference = *in(task->weights) * a - 2;
  *task->loss = difference * difference / 2;
  const float scaled = difference * static_cast<float>(task->loss_scale);
  out(task->saved_for_input_grad) = scaled;
  out(task->saved_for_weight_grad) = scaled * a;
  return nullptr;
}
const char *passBack(const rondo_layer *, const rondo_task *task) {
  out(task->input_grads[0]) =
      *in(task->weights) * *in(task->saved_for_input_grad);
  return nullptr;
}

const rondo_body first = {
    RONDO_BODY_VERSION,
    0,
    0,
    sizes,
    tensors,
    {multiply, keepGradient, addFirstGradient, nullptr, nullptr},
    {},
    nullptr,
    nullptr,
    0};
const rondo_body second = {RONDO_BODY_VERSION,
                           1,
                           1,
                           sizes,
                           tensors,
                           {compare, passBack, addGradient, nullptr, nullptr},
                           {},
                           nullptr,
                           nullptr,
                           0};

Spec twoWeights(Overlap::Policy policy) {
  Spec spec;
  spec.microbatches = 1;
  spec.layers.resize(2);
  for (LayerDesc &layer : spec.layers) {
    layer.kind = LayerKind::Custom;
    layer.weightBytes = 64;
    layer.activationBytes = 64;
  }
  LayerDesc &one = spec.layers[0], &two = spec.layers[1];
  one.name = "one";
  one.outputBytes = 64;
  one.custom.name = "first";
  one.custom.body = &first;
  two.name = "two";
  two.numInputs = 1;
  two.inputBytes[0] = 64;
  two.activationBytes = 128;
  two.inputGradFreesBytes = 64;
  two.custom.name = "second";
  two.custom.body = &second;
  two.custom.hasLoss = true;
  spec.layersOfStage = {1, 1};
  spec.rankOfStage = {0, 1};
  spec.messageSlots = spec.savedSlots = 5;
  spec.overlap.policy = policy;
  spec.overlap.spatial = true;
  spec.keepsChanges = policy == Overlap::Extrapolated;
  return spec;
}

struct Ended {
  double w1, w2, changes1 = 0, changes2 = 0;
};

class Scalar {
public:
  explicit Scalar(Overlap::Policy policy) : Scalar(twoWeights(policy)) {}
  explicit Scalar(const Spec &spec, const char *clip = "0")
      : program(spec),
        options(optionsOf({"--optimizer", "sgd", "--momentum", "0", "--lr",
                           "0.1", "--min-lr", "0.1", "--warmup", "0", "--clip",
                           clip, "--extrapolation-decay", "0.125"})),
        trainer(std::make_unique<Trainer>(program.exe, options, true)) {}
  /// After n updates of both weights.
  Ended after(int64_t updates, int64_t infiniteStep = 0) {
    RunFromStart how;
    how.iterations = updates;
    how.drainEvery = 1000;
    const Turns turns(program.exe, {});
    untilInfinite = infiniteStep;
    const Snapshot pipeline = runPipelines(*trainer, turns, how);
    EXPECT_EQ(pipeline.skipped, infiniteStep > 0);
    const std::vector<Tensor> &tensors = trainer->state().tensors();
    Ended ended = {pipeline.after[0][0], pipeline.after[1][0]};
    if (tensors[0].changes)
      ended.changes1 = *tensors[0].changes,
      ended.changes2 = *tensors[1].changes;
    untilInfinite = infiniteStep;
    const Snapshot reference = runReference(*trainer, turns, how);
    EXPECT_EQ(reference.skipped, infiniteStep > 0);
    EXPECT_EQ(compareBits(trainer->state(), reference, pipeline).count, 0);
    return ended;
  }

private:
  Program program;
  Options options;
  std::unique_ptr<Trainer> trainer;
};

constexpr double rounding = 1e-6;

// The first weight's updates end two slots after the start of the run, the
// second one's one slot.
TEST(Scalar, WeightsAsTheyAre) {
  const double w1[] = {1.1, 1.21, 1.318, 1.4212, 1.500797, 1.5498797393};
  const double w2[] = {1.1, 1.2, 1.29, 1.37, 1.43391, 1.4753283, 1.4898403525};
  Scalar scalar(Overlap::Live);
  for (int n = 1; n <= 6; ++n) {
    const Ended ended = scalar.after(n);
    EXPECT_NEAR(ended.w1, w1[n - 1], rounding) << n;
    EXPECT_NEAR(ended.w2, w2[n - 1], rounding) << n;
  }
  EXPECT_NEAR(scalar.after(7).w2, w2[6], rounding);
  const Ended last = scalar.after(198);
  EXPECT_NEAR(last.w1, 1.457623, 2e-5);
  EXPECT_NEAR(last.w2, 1.372097, 2e-5);
}

TEST(Scalar, WeightsMovedBack) {
  const double w1[] = {1.1,          1.20125,      1.300390625, 1.39630625,
                       1.4711749653, 1.5196349772, 1.5390041148};
  const double w2[] = {1.1,     1.2,          1.29,        1.37,
                       1.43391, 1.4764687859, 1.4940704676};
  Scalar scalar(Overlap::Extrapolated);
  for (int n = 1; n <= 7; ++n) {
    const Ended ended = scalar.after(n);
    EXPECT_NEAR(ended.w1, w1[n - 1], rounding) << n;
    EXPECT_NEAR(ended.w2, w2[n - 1], rounding) << n;
  }
  EXPECT_NEAR(scalar.after(8).w2, 1.4854688589, rounding);
  // Values of slot 3, and of slot 4.
  EXPECT_NEAR(scalar.after(1).changes1, 0.05, rounding);
  EXPECT_NEAR(scalar.after(2).changes2, 0.0984375, rounding);
  EXPECT_NEAR(scalar.after(2).changes1, 0.075625, rounding);
  EXPECT_NEAR(scalar.after(3).changes2, 0.0910546875, rounding);
  const Ended last = scalar.after(198);
  EXPECT_NEAR(last.w1, 1.438544, 2e-5);
  EXPECT_NEAR(last.w2, 1.390295, 2e-5);
}

TEST(Scalar, AGradientThatIsNotFiniteSkipsTheStepOfItsStage) {
  Scalar scalar(Overlap::Extrapolated);
  const Ended before = scalar.after(2), skipped = scalar.after(3, 3),
              free = scalar.after(3);
  EXPECT_EQ(skipped.w1, before.w1);
  EXPECT_NE(free.w1, before.w1);
  // The version still advances, and the mean of changes counts no change.
  EXPECT_EQ(skipped.changes1, before.changes1 / 2);
  // The other stage goes on.
  EXPECT_EQ(skipped.w2, free.w2);
  EXPECT_TRUE(std::isfinite(scalar.after(9, 3).w1));
}

/// The same run in fp64, clipped by the norm of `late` iterations before.
Ended clippedByEarlier(int64_t updates, size_t late, double most,
                       int64_t infiniteStep = 0) {
  std::vector<double> w1 = {1}, w2 = {1}, norms;
  for (size_t t = 0; t < size_t(updates); ++t) {
    const double a = w1[t < 3 ? 0 : t - 3],
                 difference = w2[t < 1 ? 0 : t - 1] * a - 2,
                 g1 = int64_t(t) + 1 == infiniteStep ? INFINITY
                                                     : difference * w2[t],
                 g2 = difference * a;
    norms.push_back(std::sqrt(g1 * g1 + g2 * g2));
    // The own norm if no other exists.
    const bool hasNorm = t >= late && std::isfinite(norms[t - late]);
    auto step = [&](double gradient) {
      const double norm = hasNorm ? norms[t - late] : std::fabs(gradient);
      return std::isfinite(gradient)
                 ? 0.1 * std::min(1., most / norm) * gradient
                 : 0;
    };
    w1.push_back(w1[t] - step(g1));
    w2.push_back(w2[t] - step(g2));
  }
  return {w1.back(), w2.back()};
}

TEST(Scalar, LateNormsClip) {
  for (int late : {1, 2, 4}) {
    Spec spec = twoWeights(Overlap::Live);
    spec.overlap.norm = true;
    spec.overlap.normDelay = late;
    Scalar scalar(spec, "0.5");
    for (int n : {1, 2, 3, 5, 8, 13})
      // A norm that is not finite clips nothing, of no stage.
      for (int infiniteStep : {0, n > 2 ? 2 : 0}) {
        const Ended ended = scalar.after(n, infiniteStep),
                    expected = clippedByEarlier(n, late, 0.5, infiniteStep);
        EXPECT_NEAR(ended.w1, expected.w1, rounding) << late << " " << n;
        EXPECT_NEAR(ended.w2, expected.w2, rounding) << late << " " << n;
      }
  }
}

TEST(Scalar, SkippedStepsAreReported) {
  Program program(twoWeights(Overlap::Live));
  TemporaryFile log;
  untilInfinite = 3;
  Outcome outcome = run(program, {"--iterations", "5", "--json-log", log.path});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\niteration 3: a gradient of stage 's0' is not "
                             "finite, its step skipped (1 so far)\n"),
            std::string::npos)
      << outcome.out;
  const std::string text = log.read();
  const size_t third = text.find("{\"iteration\":3,");
  ASSERT_NE(third, std::string::npos) << text;
  EXPECT_EQ(text.find("\"skipped\":true"), text.find("\"skipped\":", third));
  EXPECT_EQ(text.find("\"skipped\":true"), text.rfind("\"skipped\":true"));
}

} // namespace
