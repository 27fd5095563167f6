// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// F, I and W of a Llama's layers on CUDA against the CPU's bodies in double
// precision.

#include "../bodies/LlamaModel.h"
#include "Checks.h"

#include "runtime/model/layer_work.h"

#include "runtime/model/llama_sizes.h"

#include <array>

namespace rondo::runtime::cuda {
namespace {

template <typename T> class Llamas : public DeviceTest {};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(Llamas, Types);

struct Shape {
  Sizes sizes;
  int32_t kvHeads, headWidth;
};

std::string nameOf(const Llama &options) {
  return "hidden " + std::to_string(options.sizes.hidden) + ", " +
         std::to_string(options.sizes.heads) + " heads, " +
         std::to_string(options.kvHeads) + " of keys, of " +
         std::to_string(options.headWidth) +
         (options.qkvBias ? ", biases" : "") +
         (options.headNorm ? ", head norms" : "") +
         (options.isScaled ? ", scaled positions" : "");
}

// Without options, then biases with norms of heads, and scaled positions. Few
// tokens; gaps between q, k, v, gate and up, and weights that are not side by
// side; pairs without packs; more than one tile and more than one chunk of
// tokens; heads whose widths do not add up to `hidden`, as wide as those of
// Llama 3, and wider than tensor cores take.
TYPED_TEST(Llamas, Block) {
  const Shape shapes[] = {
      {{1, 3, 12, 3, 20, 3}, 3, 6},    {{2, 5, 10, 6, 19, 7}, 2, 4},
      {{1, 67, 32, 4, 96, 50}, 2, 8},  {{1, 33, 48, 4, 72, 130}, 1, 36},
      {{2, 9, 64, 2, 64, 37}, 1, 160}, {{1, 20, 64, 3, 128, 37}, 3, 128}};
  for (const Shape &shape : shapes)
    for (auto [qkvBias, headNorm, isScaled] : {std::array{false, false, false},
                                               {true, true, false},
                                               {false, false, true}}) {
      const Llama options{shape.sizes, shape.kvHeads, shape.headWidth, qkvBias,
                          headNorm,    isScaled,      /*tied=*/false};
      checkModel<TypeParam>(
          this->stream,
          {llamaLayer(LayerKind::LlamaBlock, "model.layers.0", options)},
          nameOf(options));
    }
}

TYPED_TEST(Llamas, EmbeddingAndHead) {
  for (const Sizes &sizes : {Sizes{1, 1, 4, 1, 8, 3}, {2, 67, 32, 4, 96, 50}}) {
    const Llama options{sizes, sizes.heads, 4, false, false, false, false};
    checkModel<TypeParam>(
        this->stream, {llamaLayer(LayerKind::LlamaEmbedding, "wte", options)},
        "embedding");
    checkModel<TypeParam>(this->stream,
                          {llamaLayer(LayerKind::LlamaHead, "head", options)},
                          "head");
  }
}

TYPED_TEST(Llamas, Model) {
  for (bool tied : {false, true})
    checkModel<TypeParam>(
        this->stream,
        llamaModel({{2, 33, 32, 4, 96, 50}, 2, 16, true, true, true, tied}),
        "model");
}

// Weights have the CPU's layout, so that checkpoints and the optimizer do not
// depend on the target.
TEST(Llama, WeightsAreTheCpus) {
  LayerDesc layer =
      llamaLayer(LayerKind::LlamaBlock, "h",
                 {{2, 5, 12, 6, 20, 7}, 2, 4, true, true, false, false});
  const int64_t gradients = layerSizes(layer).gradients;
  const int64_t parameters = layerParameters(layer);
  layer.target = Target::Cuda;
  layer.dtype = DType::Bf16;
  EXPECT_EQ(layerSizes(layer).gradients, gradients);
  EXPECT_EQ(layerSizes(layer).weights, gradients + alignedBytes(gradients / 2));
  EXPECT_EQ(layerParameters(layer), parameters);
  EXPECT_EQ(layerTensors(layer).size(), 14u);
}

// Bytes that a block of Llama 3 8B keeps of a token in bf16: both norms,
// attention and two gradients at 4096, q, k and v at 6144, gate, up and product
// at 14336.
TEST(Llama, SavedBytesOfLlama3) {
  LayerDesc layer = llamaLayer(
      LayerKind::LlamaBlock, "h",
      {{1, 8192, 4096, 32, 14336, 128256}, 8, 128, false, false, true, false});
  layer.target = Target::Cuda;
  layer.dtype = DType::Bf16;
  const LayerSizes sizes = layerSizes(layer);
  EXPECT_EQ(sizes.savedForWeightGrad,
            int64_t(8192) * 2 * (5 * 4096 + 6144 + 3 * 14336) + 2 * 4 * 4096);
  // Two scales and a sum of each head.
  EXPECT_EQ(sizes.savedForInputGrad, int64_t(8192) * 4 * (2 + 32));
  EXPECT_EQ(QkvColumns(layer).stride, qkvWidth(layer));
  EXPECT_EQ(GateColumns(layer).stride, 2 * layer.ffn);
}

} // namespace
} // namespace rondo::runtime::cuda
