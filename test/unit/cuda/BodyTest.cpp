// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// F, I and W of each layer kind on CUDA against the CPU's bodies in double
// precision. DeviceModel.h poisons every buffer outside its lifetime.

#include "Checks.h"

#include "runtime/bodies/cuda/layers.h"

namespace rondo::runtime::cuda {
namespace {

template <typename T> class Bodies : public DeviceTest {};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(Bodies, Types);

// One token, heads of every kind of width, rows not divisible by packs,
// sequences that end within a tile, and gradients of GELU in one to three
// parts.
const Sizes someSizes[] = {
    {1, 1, 4, 1, 8, 3},     {2, 5, 12, 3, 20, 7},     {1, 7, 10, 2, 9, 13},
    {2, 67, 32, 4, 96, 50}, {1, 33, 72, 2, 144, 130}, {2, 16, 64, 1, 256, 37},
    {1, 19, 16, 2, 88, 11},
};

template <typename T>
void checkKind(const Stream &stream, LayerKind kind, const char *name) {
  for (const Sizes &sizes : someSizes)
    checkModel<T>(stream, {gptLayer(kind, name, sizes)},
                  std::string(name) + " with hidden " +
                      std::to_string(sizes.hidden) + ", sequence " +
                      std::to_string(sizes.sequence));
}

TYPED_TEST(Bodies, Embedding) {
  checkKind<TypeParam>(this->stream, LayerKind::GptEmbedding, "wte");
  // Wide rows, and a token that occurs again and again.
  checkModel<TypeParam>(
      this->stream,
      {gptLayer(LayerKind::GptEmbedding, "wte", {2, 70, 2100, 1, 1, 2})},
      "wide embedding");
  // More tokens than the warps of a block check together.
  checkModel<TypeParam>(
      this->stream,
      {gptLayer(LayerKind::GptEmbedding, "wte", {2, 210, 260, 1, 1, 60})},
      "embedding of many tokens");
}

TYPED_TEST(Bodies, Block) {
  checkKind<TypeParam>(this->stream, LayerKind::GptBlock, "h0");
}

TYPED_TEST(Bodies, BlockWithoutFusedGelu) {
  Gemms plain(Gemms::GeluFusion::Never);
  const Stream other{this->stream.handle, &plain};
  for (int i : {3, 6})
    checkModel<TypeParam>(
        other, {gptLayer(LayerKind::GptBlock, "h0", someSizes[i])}, "block");
}

TYPED_TEST(Bodies, Head) {
  checkKind<TypeParam>(this->stream, LayerKind::GptHead, "lm_head");
}

TYPED_TEST(Bodies, Model) {
  for (int i : {3, 4})
    checkModel<TypeParam>(this->stream, gptModel(someSizes[i]), "model");
}

// A head whose logits do not fit: chunks of 64, 64 and 6 tokens.
TYPED_TEST(Bodies, HeadInChunks) {
  using T = TypeParam;
  const LayerDesc onCpu = gptLayer(LayerKind::GptHead, "lm_head", someSizes[3]);
  LayerDesc layer = onCpu;
  layer.target = Target::Cuda;
  layer.dtype = dtypeOf<T>();
  const HeadChunks chunks(layer, 0, 1);
  ASSERT_FALSE(chunks.kept);
  ASSERT_EQ(chunks.rows, 64);
  const int64_t tokens = numTokens(layer), count = tokens * layer.hidden;
  Model<double> reference({onCpu}, 1, 0.25);
  setWeights<T>(reference);
  const double loss = reference.forward(0);
  const std::vector<double> inputGrad = reference.inputGrad(0);
  reference.weightGrad(0);

  const LayerSizes sizes = layerSizes(layer);
  DeviceArray<char> weights(sizes.weights), gradients(sizes.gradients);
  DeviceArray<char> forI(HeadSavedForI(layer, chunks).all.stays.bytes());
  DeviceArray<char> forW(HeadSavedForW(layer, chunks).all.stays.bytes());
  DeviceArray<char> workspace(HeadWorkspace(layer, chunks).all.bytes());
  std::vector<float> masters(reference.weights[0]->get(),
                             reference.weights[0]->get() + sizes.gradients / 4);
  writeDevice(weights.get(), masters.data(), sizes.gradients);
  if (sizeof(T) == 2)
    toBf16(this->stream, reinterpret_cast<const float *>(weights.get()),
           reinterpret_cast<Bf16 *>(weights.get() + sizes.gradients),
           masters.size());
  gradients.clear();
  std::vector<T> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = rounded<T>(reference.inputAt(0, i));
  std::vector<int32_t> ids(tokens);
  for (int64_t t = 0; t < tokens; ++t)
    ids[t] = reference.dataAt(0, 0, t);
  DeviceArray<T> input(values), onInputGrad(count);
  DeviceArray<int32_t> targets(ids);
  DeviceArray<float> onLoss(1);
  DeviceArray<T> logits(tokens * chunks.stride);

  LayerArgs args{};
  args.weights = weights.get();
  args.savedForInputGrad = forI.get();
  args.savedForWeightGrad = forW.get();
  args.workspace = workspace.get();
  args.stream = &this->stream;
  LayerArgs forwardArgs = args;
  forwardArgs.inputs[0] = input.get();
  forwardArgs.data = targets.get();
  forwardArgs.loss = onLoss.get();
  forwardArgs.lossScale = 0.25;
  forwardArgs.logits = logits.get();
  headForward<T>(layer, chunks, forwardArgs);
  this->wait();
  // The logits are from before the gradients: they give the loss.
  const std::vector<double> rows = doubles(logits.read());
  double sum = 0;
  for (int64_t t = 0; t < tokens; ++t) {
    const double *row = rows.data() + t * chunks.stride;
    double exponentials = 0;
    for (int64_t word = 0; word < layer.vocab; ++word)
      exponentials += std::exp(row[word]);
    sum += std::log(exponentials) - row[ids[t]];
  }
  EXPECT_NEAR(sum / static_cast<double>(tokens), loss, tolerance<T>() * loss);
  EXPECT_NEAR(onLoss.read()[0], loss, tolerance<T>() * loss);
  workspace.poison();
  targets.poison();
  args.inputGrads[0] = onInputGrad.get();
  headInputGrad<T>(layer, chunks, args);
  this->wait();
  expectClose(onInputGrad.read(), inputGrad, tolerance<T>(), "input gradient");
  workspace.poison();
  forI.poison();
  args.savedForInputGrad = args.inputGrads[0] = nullptr;
  args.gradients = gradients.get();
  headWeightGrad<T>(layer, chunks, args);
  this->wait();
  std::vector<char> bytes = gradients.read();
  // Rows after the vocabulary take part in the products.
  const runtime::HeadWeights at(layer);
  ASSERT_GT(paddedVocab(layer), layer.vocab);
  EXPECT_EQ(
      std::count(bytes.begin() +
                     4 * (at.vocabulary + int64_t(layer.vocab) * layer.hidden),
                 bytes.end(), 0),
      sizes.gradients -
          4 * (at.vocabulary + int64_t(layer.vocab) * layer.hidden));
  for (const LayerTensor &tensor : layerTensors(layer)) {
    std::vector<float> part(tensor.count);
    std::memcpy(part.data(), bytes.data() + 4 * tensor.offset,
                4 * tensor.count);
    expectClose(
        part,
        first(reference.gradients[0]->get() + tensor.offset, tensor.count),
        tolerance<T>(), "gradient of " + tensorName(tensor));
  }
}

// Large vocabularies are split so that a chunk stays below its limit.
TEST(HeadChunks, DependOnTheSize) {
  LayerDesc layer =
      gptLayer(LayerKind::GptHead, "lm_head", {4, 1024, 768, 12, 3072, 50257});
  layer.target = Target::Cuda;
  layer.dtype = DType::Bf16;
  const HeadChunks kept(layer);
  EXPECT_EQ(kept.stride, 50304);
  EXPECT_TRUE(kept.kept);
  EXPECT_EQ(kept.rows, 4096);
  layer.batch = 64;
  const HeadChunks cut(layer);
  EXPECT_FALSE(cut.kept);
  EXPECT_EQ(cut.rows % 64, 0);
  EXPECT_LE(cut.rows * cut.stride * 2, HeadChunks::maxLive);
  EXPECT_GT((cut.rows + 64) * cut.stride * 2, HeadChunks::maxLive);
  EXPECT_LT(HeadSavedForW(layer).all.stays.bytes(),
            int64_t(65) * 1024 * 768 * 2);
}

} // namespace
} // namespace rondo::runtime::cuda
