// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Llama's layers with every combination of their options.

#include "LlamaModel.h"

#include "runtime/model/layer_work.h"

#include "runtime/bodies/attention.h"
#include "runtime/bodies/gradient_check.h"

#include <cmath>

namespace rondo::runtime {
namespace {

/// Every combination of the options, for groups of 1, 2 and 3 query heads and
/// for heads whose widths do not add up to `hidden`.
std::vector<Llama> allOptions() {
  struct Shape {
    Sizes sizes;
    int32_t kvHeads, headWidth;
  };
  const Shape shapes[] = {{{1, 1, 4, 2, 8, 3}, 2, 2},
                          {{2, 5, 12, 6, 20, 7}, 2, 4},
                          {{1, 67, 8, 4, 9, 13}, 2, 4}};
  std::vector<Llama> all;
  for (const Shape &shape : shapes)
    for (int bits = 0; bits < 8; ++bits)
      all.push_back({shape.sizes, shape.kvHeads, shape.headWidth,
                     (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, false});
  return all;
}

class LlamaGradients : public testing::TestWithParam<Llama> {};

// Gradients of the whole model in fp64, against finite differences.
TEST_P(LlamaGradients, Model) {
  const std::vector<LayerDesc> layers = llamaModel(GetParam());
  Model<double> model(layers, 1, 0.25);
  model.setRandomWeights();
  auto loss = [&] { return 0.25 * model.forward(0); };
  loss();
  EXPECT_TRUE(model.inputGrad(0).empty());
  model.weightGrad(0);
  // Normalised heads bend much: a larger step errs by the third derivative.
  const double step = 1e-6;
  for (size_t l = 0; l < layers.size(); ++l)
    for (const LayerTensor &tensor : layerTensors(layers[l]))
      for (int64_t k = 0; k < 8 && k < tensor.count; ++k) {
        const int64_t i = tensor.count <= 8
                              ? k
                              : static_cast<int64_t>(mix(5, k) % tensor.count);
        double &weight = model.weights[l]->get()[tensor.offset + i];
        const double gradient = model.gradients[l]->get()[tensor.offset + i];
        const double before = weight;
        weight = before + step;
        const double above = loss();
        weight = before - step;
        const double slope = (above - loss()) / (2 * step);
        weight = before;
        EXPECT_NEAR(gradient, slope, 1e-7 + 1e-6 * std::abs(slope))
            << tensorName(tensor) << " " << i;
      }
}

// The gradients of inputs too, and that bodies keep their contract.
TEST_P(LlamaGradients, LayersPassTheCheck) {
  for (const LayerDesc &layer : llamaModel(GetParam())) {
    const GradientCheck check = checkGradients(layer, cpuBody(layer.kind), 3);
    EXPECT_EQ(check.fault, "") << layer.name;
    EXPECT_EQ(check.tensors, static_cast<int32_t>(layerTensors(layer).size()));
    EXPECT_EQ(check.inputs, layer.kind == LayerKind::LlamaEmbedding ? 0 : 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Options, LlamaGradients,
                         testing::ValuesIn(allOptions()));

constexpr Llama usual = {{2, 5, 12, 6, 20, 7}, 2, 4, true, true, false, false};

TEST(Llama, TensorsHaveHuggingFacesNamesAndShapes) {
  std::vector<std::string> tensors;
  int64_t end = 0;
  const LayerDesc block = llamaModel(usual)[1];
  for (const LayerTensor &tensor : layerTensors(block)) {
    EXPECT_GE(tensor.offset, end);
    EXPECT_EQ(tensor.offset * 4 % bufferAlignment, 0);
    end = tensor.offset + tensor.count;
    tensors.push_back(tensorName(tensor) + " " +
                      std::to_string(tensor.shape[0]) + " " +
                      std::to_string(tensor.shape[1]));
  }
  EXPECT_LE(4 * end, layerSizes(block).weights);
  const std::vector<std::string> expected = {
      "model.layers.0.input_layernorm.weight 12 1",
      "model.layers.0.self_attn.q_proj.weight 24 12",
      "model.layers.0.self_attn.k_proj.weight 8 12",
      "model.layers.0.self_attn.v_proj.weight 8 12",
      "model.layers.0.self_attn.q_proj.bias 24 1",
      "model.layers.0.self_attn.k_proj.bias 8 1",
      "model.layers.0.self_attn.v_proj.bias 8 1",
      "model.layers.0.self_attn.q_norm.weight 4 1",
      "model.layers.0.self_attn.k_norm.weight 4 1",
      "model.layers.0.self_attn.o_proj.weight 12 24",
      "model.layers.0.post_attention_layernorm.weight 12 1",
      "model.layers.0.mlp.gate_proj.weight 20 12",
      "model.layers.0.mlp.up_proj.weight 20 12",
      "model.layers.0.mlp.down_proj.weight 12 20"};
  EXPECT_EQ(tensors, expected);
}

TEST(Llama, TiedHeadSharesTheEmbedding) {
  Llama options = usual;
  options.tied = true;
  const std::vector<LayerDesc> model = llamaModel(options);
  const std::vector<LayerTensor> head = layerTensors(model[3]);
  ASSERT_EQ(head.size(), 2u);
  EXPECT_EQ(tensorName(head[0]), "model.norm.weight");
  EXPECT_STREQ(head[1].sharedWith, "model.embed_tokens.weight");
  ASSERT_EQ(layerTensors(model[0]).size(), 1u);
  EXPECT_EQ(tensorName(layerTensors(model[0])[0]), "model.embed_tokens.weight");
  EXPECT_EQ(tensorName(layerTensors(llamaModel(usual)[3])[1]),
            "lm_head.weight");
}

// With Llama 3.1's figures: from _compute_llama3_parameters of transformers.
TEST(Llama, FrequenciesAreScaledAsHuggingFaceDoes) {
  LayerDesc layer = llamaLayer(LayerKind::LlamaBlock, "h", usual);
  layer.sequence = 2;
  layer.llama.headWidth = 128;
  layer.llama.ropeTheta = 500000;
  layer.llama.ropeScaling = {8, 1, 4, 8192};
  std::vector<double> cosines(2 * 64), sines(2 * 64);
  rotaryTable(layer, cosines.data(), sines.data());
  auto frequency = [&](int j) {
    return std::atan2(sines[64 + j], cosines[64 + j]);
  };
  auto plain = [](int j) { return std::pow(500000.0, -j / 64.0); };
  EXPECT_EQ(cosines[0], 1);
  EXPECT_NEAR(frequency(0), 1, 1e-12);
  // A wavelength below 2048 stays, one above 8192 becomes 8 times as long.
  EXPECT_NEAR(frequency(28) / plain(28), 1, 1e-12);
  EXPECT_NEAR(frequency(36) / plain(36), 0.125, 1e-12);
  // Between them: wavelength 3851.2, smooth factor (8192 / 3851.2 - 1) / 3.
  const double smooth = (8192 * plain(31) / 6.283185307179586 - 1) / 3;
  ASSERT_GT(smooth, 0);
  ASSERT_LT(smooth, 1);
  EXPECT_NEAR(frequency(31) / plain(31), (1 - smooth) / 8 + smooth, 1e-12);
}

// A half of each head is the other's partner, as in Hugging Face's
// rotate_half().
TEST(Llama, HalvesOfAHeadAreRotated) {
  LayerDesc layer = llamaLayer(LayerKind::LlamaBlock, "h", usual);
  layer.batch = 1;
  layer.sequence = 2;
  layer.llama.headWidth = 4;
  std::vector<double> cosines(4), sines(4);
  rotaryTable(layer, cosines.data(), sines.data());
  std::vector<double> rows = {1, 2, 3, 4, 9, 1, 2, 3, 4, 9};
  rotate(TaskDocuments(layer, LayerArgs{}), 1, 5, 1.0, cosines.data(),
         sines.data(), rows.data());
  EXPECT_EQ(rows[0], 1);
  EXPECT_EQ(rows[4], 9);
  EXPECT_EQ(rows[9], 9);
  // theta is 100: frequencies 1 and 0.1.
  EXPECT_NEAR(rows[5], std::cos(1.0) - 3 * std::sin(1.0), 1e-12);
  EXPECT_NEAR(rows[7], 3 * std::cos(1.0) + std::sin(1.0), 1e-12);
  EXPECT_NEAR(rows[6], 2 * std::cos(0.1) - 4 * std::sin(0.1), 1e-12);
  EXPECT_NEAR(rows[8], 4 * std::cos(0.1) + 2 * std::sin(0.1), 1e-12);
}

TEST(Llama, FlopsOfABlock) {
  const LayerFlops flops = layerFlops(llamaModel(usual)[1]);
  // 10 tokens; q and o 24 * 12, k and v 8 * 12, three matrices of 20 * 12.
  const int64_t linear = 2 * 10 * (2 * 288 + 2 * 96 + 3 * 240);
  EXPECT_EQ(flops.weightGrad, linear);
  EXPECT_EQ(flops.forward - linear, 2 * 10 * 24 * 6);
  EXPECT_EQ(flops.inputGrad - linear, 5 * 10 * 24 * 6);
}

} // namespace
} // namespace rondo::runtime
