// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names, places and initial values of tensors.

#include "Model.h"

#include "runtime/model/layer_work.h"

#include <cmath>
#include <set>

namespace rondo::runtime {
namespace {

constexpr Sizes sizes = {2, 24, 32, 4, 96, 50};

std::vector<float> firstValues(const LayerDesc &layer, const std::string &name,
                               uint64_t seed, int32_t numBlocks) {
  std::vector<float> weights(layerSizes(layer).weights / 4, 0.0f);
  for (const LayerTensor &tensor : layerTensors(layer))
    if (tensorName(tensor) == name) {
      initialiseTensor(tensor, seed, numBlocks, weights.data());
      return {weights.begin() + tensor.offset,
              weights.begin() + tensor.offset + tensor.count};
    }
  return {};
}

double deviation(const std::vector<float> &values) {
  double sum = 0, squares = 0;
  for (float value : values) {
    sum += value;
    squares += double(value) * value;
  }
  double mean = sum / values.size();
  return std::sqrt(squares / values.size() - mean * mean);
}

TEST(Tensors, LieApartInTheWeights) {
  std::set<std::string> names;
  for (const LayerDesc &layer : gptModel(sizes)) {
    int64_t end = 0;
    std::vector<LayerTensor> tensors = layerTensors(layer);
    ASSERT_LE(tensors.size(), size_t(maxLayerTensors));
    for (const LayerTensor &tensor : tensors) {
      EXPECT_TRUE(names.insert(tensorName(tensor)).second)
          << tensorName(tensor);
      EXPECT_EQ(tensor.shape[0] * tensor.shape[1], tensor.count);
      EXPECT_EQ(tensor.decay, tensor.numDims == 2);
      EXPECT_EQ(tensor.offset * 4 % bufferAlignment, 0);
      EXPECT_GE(tensor.offset, end);
      end = tensor.offset + tensor.count;
    }
    EXPECT_LE(4 * end, layerSizes(layer).weights);
  }
  EXPECT_TRUE(names.count("wte.weight"));
  EXPECT_TRUE(names.count("h1.attn.c_attn.weight"));
  EXPECT_TRUE(names.count("ln_f.bias"));
  EXPECT_TRUE(names.count("lm_head.weight"));
}

TEST(Tensors, ListStopsAtItsCapacity) {
  LayerDesc block = gptLayer(LayerKind::GptBlock, "h0", sizes);
  LayerTensor tensors[3] = {};
  EXPECT_EQ(cpuBody(block.kind).tensors(&block, tensors, 2), 12);
  EXPECT_EQ(tensorName(tensors[1]), "h0.ln_1.bias");
  EXPECT_EQ(tensors[2].suffix, nullptr);
}

TEST(Tensors, ParametersCountEachOnce) {
  // No size is a multiple of what regions and the vocabulary are padded to.
  constexpr Sizes odd = {2, 23, 36, 4, 100, 50};
  for (bool tied : {false, true})
    for (LayerDesc layer : gptModel(odd)) {
      layer.tied = tied;
      int64_t own = 0;
      for (const LayerTensor &tensor : layerTensors(layer))
        own += tensor.sharedWith ? 0 : tensor.count;
      EXPECT_EQ(layerParameters(layer), own) << layer.name;
    }
}

TEST(Tensors, TiedHeadSharesTheEmbedding) {
  LayerDesc embedding = gptLayer(LayerKind::GptEmbedding, "tokens", sizes);
  LayerDesc head = gptLayer(LayerKind::GptHead, "out", sizes);
  head.tied = true;
  std::vector<LayerTensor> tensors = layerTensors(head);
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensorName(tensors[2]), "wte.weight");
  ASSERT_NE(tensors[2].sharedWith, nullptr);
  EXPECT_STREQ(tensors[2].sharedWith, "wte.weight");
  EXPECT_EQ(layerTensors(embedding)[0].sharedWith, nullptr);
  EXPECT_EQ(firstValues(embedding, "wte.weight", 7, 4),
            firstValues(head, "wte.weight", 7, 4));
}

TEST(Tensors, FirstValuesDependOnSeedAndNameAlone) {
  LayerDesc h0 = gptLayer(LayerKind::GptBlock, "h0", sizes);
  LayerDesc h1 = gptLayer(LayerKind::GptBlock, "h1", sizes);
  std::vector<float> values = firstValues(h0, "h0.mlp.c_fc.weight", 7, 2);
  ASSERT_EQ(values.size(), 32u * 96u);
  EXPECT_EQ(values, firstValues(h0, "h0.mlp.c_fc.weight", 7, 9));
  EXPECT_NE(values, firstValues(h0, "h0.mlp.c_fc.weight", 8, 2));
  EXPECT_NE(values, firstValues(h1, "h1.mlp.c_fc.weight", 7, 2));
  // The same on every machine and in every version.
  EXPECT_EQ(values[0], 0x1.006e14p-5f);
}

TEST(Tensors, FirstValuesAreSpreadAsAsked) {
  LayerDesc block = gptLayer(LayerKind::GptBlock, "h0", sizes);
  std::vector<float> normal = firstValues(block, "h0.mlp.c_fc.weight", 1, 8);
  EXPECT_NEAR(deviation(normal), 0.02, 0.001);
  std::vector<float> residual =
      firstValues(block, "h0.mlp.c_proj.weight", 1, 8);
  EXPECT_NEAR(deviation(residual), 0.005, 0.00025);
  EXPECT_EQ(firstValues(block, "h0.ln_1.weight", 1, 8),
            std::vector<float>(32, 1.0f));
  EXPECT_EQ(firstValues(block, "h0.mlp.c_fc.bias", 1, 8),
            std::vector<float>(96, 0.0f));
}

// The sizes that the compiler plans with, for a stage of several layers.
TEST(Sizes, StageAddsItsLayers) {
  std::vector<LayerDesc> model = gptModel(sizes);
  LayerSizes all = stageSizes(model.data(), 4);
  int64_t weights = 0, saved = 0;
  for (const LayerDesc &layer : model) {
    LayerSizes one = layerSizes(layer);
    weights += one.weights;
    saved += one.savedForInputGrad + one.savedForWeightGrad;
    for (int64_t bytes :
         {one.weights, one.savedForInputGrad, one.savedForWeightGrad, one.input,
          one.output, one.workspace, one.data})
      EXPECT_EQ(bytes % bufferAlignment, 0);
  }
  EXPECT_EQ(all.weights, weights);
  EXPECT_EQ(all.savedForInputGrad + all.savedForWeightGrad, saved);
  EXPECT_EQ(all.input, 0);
  EXPECT_EQ(all.output, 0);
  // Two activations of 2 * 24 * 32 floats are used in turn.
  EXPECT_EQ(innerBytes(model.data(), 4), 6144);
  EXPECT_EQ(all.workspace, layerSizes(model[1]).workspace + 2 * 6144);
  EXPECT_EQ(stageSizes(model.data() + 1, 1).workspace,
            layerSizes(model[1]).workspace);
}

TEST(Sizes, FlopsOfABlock) {
  LayerDesc block =
      gptLayer(LayerKind::GptBlock, "h0", {4, 64, 128, 4, 512, 256});
  LayerFlops flops = layerFlops(block);
  const int64_t tokens = 256, hidden = 128;
  EXPECT_EQ(flops.weightGrad, 24 * tokens * hidden * hidden);
  EXPECT_EQ(flops.forward - flops.weightGrad, 2 * tokens * hidden * 65);
  EXPECT_EQ(flops.inputGrad - flops.weightGrad, 5 * tokens * hidden * 65);
}

} // namespace
} // namespace rondo::runtime
