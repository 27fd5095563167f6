// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shapes of GPT-2 and of Llama 3 on a device: too large for the emulation. The
// references in double precision take a few seconds each on one core.

#include "runtime/bodies/cuda/attention.h"
#include "test/unit/bodies/LlamaModel.h"
#include "test/unit/cuda/Checks.h"

namespace rondo::runtime::cuda {
namespace {

template <typename T> class Wide : public DeviceTest {};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(Wide, Types);

/// For elements of matrices, in sums over 768 and 3,072 of them.
constexpr double scale = 0.05;

TYPED_TEST(Wide, Block) {
  checkModel<TypeParam>(
      this->stream,
      {gptLayer(LayerKind::GptBlock, "h0", {1, 150, 768, 12, 3072, 50257})},
      "block of GPT-2", scale);
}

TYPED_TEST(Wide, Head) {
  checkModel<TypeParam>(
      this->stream,
      {gptLayer(LayerKind::GptHead, "lm_head", {1, 24, 768, 12, 3072, 50257})},
      "head of GPT-2", scale);
}

TYPED_TEST(Wide, Embedding) {
  checkModel<TypeParam>(this->stream,
                        {gptLayer(LayerKind::GptEmbedding, "wte",
                                  {2, 1024, 768, 12, 3072, 50257})},
                        "embedding of GPT-2", scale);
}

// Whole tiles and not, one head for each of keys and several for one.
TEST_F(DeviceTest, AttentionByCudnn) {
  std::string why;
  std::unique_ptr<CudnnAttention> attention = CudnnAttention::load(why);
  if (!attention)
    GTEST_SKIP() << why;
  Stream with = stream;
  with.attention = attention.get();
  for (const AttentionShape &shape :
       {AttentionShape{2, 128, 3, 64}, AttentionShape{1, 1000, 2, 64},
        AttentionShape{1, 193, 2, 128}, AttentionShape{3, 77, 2, 32},
        AttentionShape{1, 256, 8, 128, 2, 1024, 1280, 1536}}) {
    checkAttention<Bf16>(with, shape);
    EXPECT_EQ(attention->refusal(), "");
  }
  EXPECT_GT(attention->bytes(), 0);
}

// Groups of 4 heads of 128 as in Llama 3, with fewer of them, and the widths of
// Qwen3 0.6B.
TYPED_TEST(Wide, LlamaBlock) {
  checkModel<TypeParam>(this->stream,
                        {llamaLayer(LayerKind::LlamaBlock, "model.layers.0",
                                    {{1, 150, 1024, 8, 3584, 128256},
                                     2,
                                     128,
                                     false,
                                     false,
                                     true,
                                     false})},
                        "block of Llama 3", scale);
  checkModel<TypeParam>(
      this->stream,
      {llamaLayer(
          LayerKind::LlamaBlock, "model.layers.0",
          {{1, 70, 1024, 16, 3072, 151936}, 8, 128, true, true, false, false})},
      "block of Qwen3", scale);
}

TYPED_TEST(Wide, Attention) {
  for (const AttentionShape &shape : {AttentionShape{2, 1024, 2, 64},
                                      {1, 1000, 1, 128},
                                      {1, 1000, 4, 128, 1, 512, 640, 768}})
    checkAttention<TypeParam>(this->stream, shape);
}

} // namespace
} // namespace rondo::runtime::cuda
