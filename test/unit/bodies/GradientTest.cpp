// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients against finite differences in fp64, for each layer and for a whole
// model. Model.h poisons every buffer outside its lifetime, so these tests also
// prove what must be kept and what need not be.

#include "Model.h"

#include <algorithm>
#include <cmath>

namespace rondo::runtime {
namespace {

/// Some elements of a tensor: all of a small one, otherwise a spread that
/// includes both ends.
std::vector<int64_t> sample(int64_t count) {
  std::vector<int64_t> picked;
  if (count <= 24) {
    for (int64_t i = 0; i < count; ++i)
      picked.push_back(i);
    return picked;
  }
  for (int64_t i = 0; i < 16; ++i)
    picked.push_back(static_cast<int64_t>(mix(5, i) % count));
  picked.push_back(0);
  picked.push_back(count - 1);
  return picked;
}

/// Compares with (loss(x + step) - loss(x - step)) / (2 step).
template <typename Loss>
void expectSlope(double gradient, double &x, Loss loss,
                 const std::string &what) {
  const double step = 1e-5, before = x;
  x = before + step;
  double above = loss();
  x = before - step;
  double below = loss();
  x = before;
  double slope = (above - below) / (2 * step);
  EXPECT_NEAR(gradient, slope, 1e-7 + 1e-6 * std::abs(slope)) << what;
}

void checkGradients(const std::vector<LayerDesc> &layers) {
  const double scale = 0.25;
  Model<double> model(layers, 1, scale);
  model.setRandomWeights();
  auto loss = [&] { return scale * model.forward(0); };
  loss();
  std::vector<double> inputGrad = model.inputGrad(0);
  model.weightGrad(0);

  for (size_t l = 0; l < layers.size(); ++l)
    for (const LayerTensor &tensor : layerTensors(layers[l]))
      for (int64_t i : sample(tensor.count)) {
        int64_t at = tensor.offset + i;
        expectSlope(model.gradients[l]->get()[at], model.weights[l]->get()[at],
                    loss, tensorName(tensor) + " " + std::to_string(i));
      }
  for (int64_t i : sample(inputGrad.size())) {
    model.shiftedInput = i;
    expectSlope(inputGrad[i], model.inputShift, loss,
                "input " + std::to_string(i));
  }
}

// Odd sizes, one token, one head, and sequences that end in part of a block of
// 64 queries.
const Sizes someSizes[] = {
    {1, 1, 4, 1, 8, 3},    {2, 5, 12, 3, 20, 7},  {3, 16, 16, 4, 64, 32},
    {1, 64, 8, 2, 12, 11}, {2, 67, 10, 2, 9, 13}, {1, 130, 6, 1, 5, 4},
};

class Gradients : public testing::TestWithParam<Sizes> {};

TEST_P(Gradients, Embedding) {
  checkGradients({gptLayer(LayerKind::GptEmbedding, "wte", GetParam())});
}

TEST_P(Gradients, Block) {
  checkGradients({gptLayer(LayerKind::GptBlock, "h0", GetParam())});
}

TEST_P(Gradients, Head) {
  checkGradients({gptLayer(LayerKind::GptHead, "lm_head", GetParam())});
}

TEST_P(Gradients, Model) { checkGradients(gptModel(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Sizes, Gradients, testing::ValuesIn(someSizes));

/// All gradients of a model, one layer after another, without padding.
template <typename Real> std::vector<Real> allGradients(Model<Real> &model) {
  std::vector<Real> all;
  for (size_t l = 0; l < model.layers.size(); ++l)
    for (const LayerTensor &tensor : layerTensors(model.layers[l])) {
      const Real *first = model.gradients[l]->get() + tensor.offset;
      all.insert(all.end(), first, first + tensor.count);
    }
  return all;
}

constexpr Sizes usual = {2, 67, 32, 4, 96, 50};

// W may run long after I, with other micro-batches in between: the bits are
// those of F, I and W in succession.
TEST(Tasks, WeightGradMayWait) {
  Model<float> fused(gptModel(usual), 3, 1.0 / 3);
  Model<float> split(gptModel(usual), 3, 1.0 / 3);
  fused.setRandomWeights();
  split.setRandomWeights();
  for (int i = 0; i < 3; ++i) {
    fused.forward(i);
    fused.inputGrad(i);
    fused.weightGrad(i);
  }
  split.forward(0);
  split.forward(1);
  split.inputGrad(0);
  split.forward(2);
  split.inputGrad(2);
  split.inputGrad(1);
  for (int i = 0; i < 3; ++i)
    split.weightGrad(i);
  EXPECT_EQ(allGradients(fused), allGradients(split));
}

// W adds to existing gradients.
TEST(Tasks, WeightGradAccumulates) {
  Model<double> model(gptModel(usual), 2, 0.5);
  model.setRandomWeights();
  std::vector<double> sum;
  for (int i = 0; i < 2; ++i) {
    model.clearGradients();
    model.forward(i);
    model.inputGrad(i);
    model.weightGrad(i);
    std::vector<double> one = allGradients(model);
    sum.resize(one.size());
    std::transform(sum.begin(), sum.end(), one.begin(), sum.begin(),
                   [](double a, double b) { return a + b; });
  }
  model.clearGradients();
  for (int i = 0; i < 2; ++i) {
    model.forward(i);
    model.inputGrad(i);
    model.weightGrad(i);
  }
  std::vector<double> together = allGradients(model);
  for (size_t i = 0; i < sum.size(); ++i)
    ASSERT_NEAR(sum[i], together[i], 1e-12) << i;
}

TEST(Tasks, Fp32AgreesWithFp64) {
  Model<float> single(gptModel(usual), 1, 1);
  Model<double> twice(gptModel(usual), 1, 1);
  single.setRandomWeights();
  twice.setRandomWeights();
  double loss = twice.forward(0);
  EXPECT_NEAR(single.forward(0), loss, 2e-6 * loss);
  single.inputGrad(0);
  single.weightGrad(0);
  twice.inputGrad(0);
  twice.weightGrad(0);
  std::vector<float> a = allGradients(single);
  std::vector<double> b = allGradients(twice);
  double most = 0, error = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(b[i]));
    error = std::max(error, std::abs(a[i] - b[i]));
  }
  EXPECT_LT(error, 1e-5 * most);
}

// A token sees only itself and those before it.
TEST(Tasks, AttentionIsCausal) {
  const Sizes sizes = {1, 70, 8, 2, 16, 5};
  const LayerDesc block = gptLayer(LayerKind::GptBlock, "h0", sizes);
  auto output = [&](int64_t changed) {
    HostileBuffer<float> weights(layerSizes(block).weights);
    weights.fill(0);
    for (const LayerTensor &tensor : layerTensors(block))
      initialiseTensor(tensor, 3, 1, weights.get());
    HostileBuffer<float> forI(layerSizes(block).savedForInputGrad);
    HostileBuffer<float> forW(layerSizes(block).savedForWeightGrad);
    HostileBuffer<float> workspace(layerSizes(block).workspace);
    HostileBuffer<float> input(layerSizes(block).input);
    HostileBuffer<float> result(layerSizes(block).output);
    for (int64_t i = 0; i < 70 * 8; ++i)
      input.get()[i] = static_cast<float>(uniform(1, i));
    input.get()[changed * 8] += 1;
    LayerArgs args{};
    args.weights = weights.get();
    args.savedForInputGrad = forI.get();
    args.savedForWeightGrad = forW.get();
    args.workspace = workspace.get();
    args.inputs[0] = input.get();
    args.output = result.get();
    cpuBody(block.kind).forward(&block, &args);
    return std::vector<float>(result.get(), result.get() + 70 * 8);
  };
  std::vector<float> a = output(66), b = output(67);
  for (int64_t i = 0; i < 66 * 8; ++i)
    EXPECT_EQ(a[i], b[i]) << i;
  for (int64_t t = 67; t < 70; ++t)
    EXPECT_FALSE(std::equal(&a[t * 8], &a[t * 8] + 8, &b[t * 8])) << t;
}

} // namespace
} // namespace rondo::runtime
