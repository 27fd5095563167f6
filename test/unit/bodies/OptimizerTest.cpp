// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Optimizers, norms and learning rates against plain formulas in fp64.

#include "runtime/optimizer/rule.h"

#include "Model.h"

#include <cmath>

namespace rondo::runtime {
namespace {

void checkAdamW(bool decay) {
  const int64_t count = 37;
  AdamWConfig config;
  config.beta2 = 0.99f;
  std::vector<float> weights(count), moment1(count), moment2(count);
  std::vector<double> w(count), m(count), v(count);
  for (int64_t i = 0; i < count; ++i)
    w[i] = weights[i] = static_cast<float>(uniform(1, i));
  for (int64_t step = 1; step <= 20; ++step) {
    StepControl control{step, 0.01f * static_cast<float>(step), 0.5f};
    const double rate = control.learningRate;
    std::vector<float> gradients(count);
    for (int64_t i = 0; i < count; ++i) {
      gradients[i] = static_cast<float>(uniform(step, i));
      double g = 0.5 * gradients[i];
      m[i] = config.beta1 * m[i] + (1.0 - config.beta1) * g;
      v[i] = config.beta2 * v[i] + (1.0 - config.beta2) * g * g;
      double corrected1 = m[i] / (1 - std::pow(double(config.beta1), step));
      double corrected2 = v[i] / (1 - std::pow(double(config.beta2), step));
      if (decay)
        w[i] -= rate * config.weightDecay * w[i];
      w[i] -= rate * corrected1 / (std::sqrt(corrected2) + config.epsilon);
    }
    adamw(config, &control, decay, count, weights.data(), gradients.data(),
          moment1.data(), moment2.data());
  }
  for (int64_t i = 0; i < count; ++i) {
    EXPECT_NEAR(weights[i], w[i], 1e-5) << i;
    EXPECT_NEAR(moment1[i], m[i], 1e-6) << i;
    EXPECT_NEAR(moment2[i], v[i], 1e-6) << i;
  }
}

TEST(Optimizer, AdamWWithDecay) { checkAdamW(true); }

TEST(Optimizer, AdamWWithoutDecay) { checkAdamW(false); }

void checkSgd(bool decay, float momentum) {
  const int64_t count = 37;
  const SgdConfig config{momentum, 0.2f};
  std::vector<float> weights(count), moments(count);
  std::vector<double> w(count), m(count);
  for (int64_t i = 0; i < count; ++i)
    w[i] = weights[i] = static_cast<float>(uniform(1, i));
  for (int64_t step = 1; step <= 20; ++step) {
    const StepControl control{step, 0.01f * static_cast<float>(step), 0.5f};
    const double rate = control.learningRate;
    std::vector<float> gradients(count);
    for (int64_t i = 0; i < count; ++i) {
      gradients[i] = static_cast<float>(uniform(step, i));
      m[i] = momentum * m[i] + 0.5 * gradients[i];
      if (decay)
        w[i] -= rate * config.weightDecay * w[i];
      w[i] -= rate * m[i];
    }
    sgd(config, &control, decay, count, weights.data(), gradients.data(),
        moments.data());
  }
  for (int64_t i = 0; i < count; ++i) {
    EXPECT_NEAR(weights[i], w[i], 1e-5) << i;
    EXPECT_NEAR(moments[i], m[i], 1e-5) << i;
  }
}

TEST(Optimizer, Sgd) {
  for (bool decay : {false, true})
    for (float momentum : {0.0f, 0.9f})
      checkSgd(decay, momentum);
}

// A program that keeps no moment has the bits of one whose moment is nothing.
TEST(Optimizer, SgdWithoutMomentumNeedsNoMoment) {
  const int64_t count = 37;
  const SgdConfig config{0, 0.2f};
  std::vector<float> with(count), moments(count), gradients(count);
  for (int64_t i = 0; i < count; ++i)
    with[i] = static_cast<float>(uniform(1, i));
  std::vector<float> without = with;
  for (int64_t step = 1; step <= 20; ++step) {
    const StepControl control{step, 0.01f * static_cast<float>(step), 0.5f};
    for (int64_t i = 0; i < count; ++i)
      gradients[i] = static_cast<float>(uniform(step, i));
    sgd(config, &control, true, count, with.data(), gradients.data(),
        moments.data());
    sgd(config, &control, true, count, without.data(), gradients.data(),
        nullptr);
  }
  EXPECT_EQ(with, without);
}

// Around the parts in which changes are kept, and in each of them.
TEST(Optimizer, KeepsTheMeanChangeAndChangesNothingElse) {
  for (OptimizerKind kind : {OptimizerKind::AdamW, OptimizerKind::Sgd})
    for (int64_t count : {0, 1, 2047, 2048, 2049, 5000}) {
      UpdateRule rule;
      rule.kind = kind;
      std::vector<float> weights(count), plain(count), gradients(count),
          moments(4 * count), changes(count);
      std::vector<double> mean(count);
      for (int64_t i = 0; i < count; ++i)
        plain[i] = weights[i] = static_cast<float>(uniform(1, i));
      UpdatedTensor tensor = {count,          true,
                              weights.data(), gradients.data(),
                              moments.data(), moments.data() + count,
                              changes.data(), 0.75f};
      for (int64_t step = 1; step <= 3; ++step) {
        const StepControl control{step, 0.01f, 0.5f};
        for (int64_t i = 0; i < count; ++i)
          gradients[i] = static_cast<float>(uniform(step, i));
        const std::vector<float> before = weights;
        update(rule, &control, tensor);
        for (int64_t i = 0; i < count; ++i)
          mean[i] = 0.75 * mean[i] + 0.25 * (double(weights[i]) - before[i]);
        UpdatedTensor without = tensor;
        without.weights = plain.data();
        without.moment1 = moments.data() + 2 * count;
        without.moment2 = moments.data() + 3 * count;
        without.changes = nullptr;
        update(rule, &control, without);
      }
      EXPECT_EQ(weights, plain) << count;
      skipUpdate(tensor);
      EXPECT_EQ(weights, plain) << count;
      for (int64_t i = 0; i < count; ++i)
        EXPECT_NEAR(changes[i], 0.75 * mean[i], 1e-7) << i;
    }
}

TEST(Optimizer, ChangesLookBackAsFarAsTheForwardIsOld) {
  const double e2 = std::exp(-2.0);
  EXPECT_NEAR(changeDecay(e2, 1.75), 0.318907, 5e-7);
  EXPECT_NEAR(changeDecay(e2, 4), 0.606531, 5e-7);
  EXPECT_NEAR(changeDecay(e2, 10), 0.818731, 5e-7);
  EXPECT_NEAR(changeDecay(0.1, 10), 0.794328, 5e-7);
  EXPECT_EQ(static_cast<float>(changeDecay(0.125, 3)), 0.5f);
  EXPECT_EQ(changeDecay(e2, 0), 0);
  EXPECT_EQ(changeDecay(e2, -1), 0);
}

TEST(Optimizer, MovesBack) {
  const float weights[] = {1, 2, -3}, changes[] = {0.5f, -1, 0.25f};
  float moved[3];
  moveBack(3, 2, weights, changes, moved);
  EXPECT_EQ(moved[0], 0);
  EXPECT_EQ(moved[1], 4);
  EXPECT_EQ(moved[2], -3.5f);
}

TEST(Optimizer, LateStagesBeginWithSmallerRates) {
  EXPECT_EQ(delayFactor(4, 0, 100), 0.25);
  EXPECT_NEAR(delayFactor(4, 25, 100), 0.35355, 5e-6);
  EXPECT_EQ(delayFactor(4, 50, 100), 0.5);
  EXPECT_EQ(delayFactor(4, 100, 100), 1);
  EXPECT_EQ(delayFactor(4, 1000, 100), 1);
  // Less than one update late: no larger rate.
  EXPECT_EQ(delayFactor(0.25, 0, 100), 1);
  // Without annealing.
  EXPECT_EQ(delayFactor(4, 0, 0), 1);
}

TEST(Optimizer, SumOfSquaresIsExactOnWholeNumbers) {
  std::vector<float> values;
  double expected = 0;
  for (int i = 0; i < 1003; ++i) {
    values.push_back(static_cast<float>(i * 1001));
    expected += double(i * 1001) * (i * 1001);
    EXPECT_EQ(sumOfSquares(values.data(), values.size()), expected);
  }
  EXPECT_EQ(sumOfSquares(nullptr, 0), 0);
}

TEST(Optimizer, ClipFactor) {
  EXPECT_EQ(clipFactor(0.5, 1), 1);
  EXPECT_EQ(clipFactor(4, 1), 0.25f);
  EXPECT_EQ(clipFactor(4, 0), 1);
  EXPECT_FALSE(std::isfinite(clipFactor(INFINITY, 1)));
  EXPECT_FALSE(std::isfinite(clipFactor(NAN, 0)));
}

TEST(Optimizer, LearningRateRisesAndFalls) {
  LearningRateSchedule schedule;
  schedule.peak = 1;
  schedule.floor = 0.1;
  schedule.warmupSteps = 10;
  schedule.decaySteps = 110;
  EXPECT_DOUBLE_EQ(learningRate(schedule, 1), 0.1);
  EXPECT_DOUBLE_EQ(learningRate(schedule, 10), 1);
  EXPECT_DOUBLE_EQ(learningRate(schedule, 60), 0.55);
  EXPECT_DOUBLE_EQ(learningRate(schedule, 110), 0.1);
  EXPECT_DOUBLE_EQ(learningRate(schedule, 100000), 0.1);
  for (int64_t step = 10; step < 110; ++step)
    EXPECT_GT(learningRate(schedule, step), learningRate(schedule, step + 1));
  schedule.decaySteps = 0;
  EXPECT_EQ(learningRate(schedule, 100000), 1);
  // A decay that ends before the warm-up does.
  schedule.decaySteps = 5;
  EXPECT_TRUE(std::isfinite(learningRate(schedule, 10)));
}

// A small model memorises a fixed text.
TEST(Optimizer, ModelLearns) {
  const Sizes sizes = {2, 16, 32, 4, 64, 40};
  Model<float> model(gptModel(sizes), 1, 1);
  std::vector<std::vector<float>> moment1, moment2;
  for (size_t l = 0; l < model.layers.size(); ++l) {
    model.weights[l]->fill(0);
    for (const LayerTensor &tensor : layerTensors(model.layers[l]))
      initialiseTensor(tensor, 1, 2, model.weights[l]->get());
    moment1.emplace_back(model.weights[l]->size(), 0.0f);
    moment2.emplace_back(model.weights[l]->size(), 0.0f);
  }
  double first = 0, last = 0;
  for (int64_t step = 1; step <= 100; ++step) {
    model.clearGradients();
    last = model.forward(0);
    if (step == 1)
      first = last;
    model.inputGrad(0);
    model.weightGrad(0);
    StepControl control{step, 3e-3f, 1};
    for (size_t l = 0; l < model.layers.size(); ++l)
      for (const LayerTensor &tensor : layerTensors(model.layers[l]))
        adamw(AdamWConfig(), &control, tensor.decay, tensor.count,
              model.weights[l]->get() + tensor.offset,
              model.gradients[l]->get() + tensor.offset,
              moment1[l].data() + tensor.offset,
              moment2[l].data() + tensor.offset);
  }
  EXPECT_NEAR(first, std::log(40.0), 0.1);
  EXPECT_LT(last, 0.1);
}

} // namespace
} // namespace rondo::runtime
