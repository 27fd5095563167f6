// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gradients against finite differences in fp64, for each layer and for a whole
// model. Model.h poisons every buffer outside its lifetime, so these tests also
// prove what must be kept and what need not be.

#include "Slopes.h"

#include <algorithm>
#include <cmath>

namespace rondo::runtime {
namespace {

// Odd sizes, one token, one head, and sequences that end in part of a block of
// 64 queries.
const Sizes someSizes[] = {
    {1, 1, 4, 1, 8, 3},    {2, 5, 12, 3, 20, 7},  {3, 16, 16, 4, 64, 32},
    {1, 64, 8, 2, 12, 11}, {2, 67, 10, 2, 9, 13}, {1, 130, 6, 1, 5, 4},
};

class Gradients : public testing::TestWithParam<Sizes> {};

TEST_P(Gradients, Embedding) {
  checkSlopes({gptLayer(LayerKind::GptEmbedding, "wte", GetParam())});
}

TEST_P(Gradients, Block) {
  checkSlopes({gptLayer(LayerKind::GptBlock, "h0", GetParam())});
}

TEST_P(Gradients, Head) {
  checkSlopes({gptLayer(LayerKind::GptHead, "lm_head", GetParam())});
}

TEST_P(Gradients, Model) { checkSlopes(gptModel(GetParam())); }

INSTANTIATE_TEST_SUITE_P(Sizes, Gradients, testing::ValuesIn(someSizes));

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
