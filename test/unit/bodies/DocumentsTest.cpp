// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of documents: gradients, independent documents, and the bits of rows of
// one document.

#include "LlamaModel.h"
#include "Slopes.h"

#include "runtime/bodies/attention.h"
#include "runtime/model/documents.h"

namespace rondo::runtime {
namespace {

/// `layers` for a row of `tokens`.
std::vector<LayerDesc> rowsOf(std::vector<LayerDesc> layers, int32_t tokens) {
  for (LayerDesc &layer : layers)
    layer = rowOfDocuments(layer, tokens);
  return layers;
}

/// Documents of 5, 1, 67, 2 and 8 tokens: one ends in part of a block of 64
/// queries, and the row is longer than a sequence.
const std::vector<int32_t> starts = {0, 5, 6, 73, 75, 83};

constexpr Sizes gptSizes = {2, 67, 12, 3, 20, 7};
/// With biases, norms of heads and scaled rotations.
constexpr Llama llamaSizes = {
    {2, 67, 12, 6, 20, 7}, 2, 4, true, true, true, false};

TEST(Documents, GradientsOfAGpt) {
  const std::vector<LayerDesc> layers = rowsOf(gptModel(gptSizes), 83);
  for (const LayerDesc &layer : layers)
    checkSlopes({layer}, starts);
  checkSlopes(layers, starts);
}

TEST(Documents, GradientsOfALlama) {
  // Normalised heads bend much: a larger step errs by the third derivative.
  checkSlopes(rowsOf(llamaModel(llamaSizes), 83), starts, 1e-6);
}

/// A loss and all gradients but those of positions after the document.
template <typename Real> struct Result {
  double loss;
  std::vector<std::vector<Real>> gradients;
};

/// Runs `layers` on data from `first` on; of a tensor with `sequence` rows the
/// first `positions` count.
template <typename Real>
Result<Real> run(const std::vector<LayerDesc> &layers, double scale,
                 const std::vector<int32_t> &documents, int64_t first,
                 int64_t positions) {
  Model<Real> model(layers, 1, scale, documents);
  model.setRandomWeights();
  model.firstToken = first;
  Result<Real> result{model.forward(0), {}};
  model.inputGrad(0);
  model.weightGrad(0);
  for (size_t l = 0; l < layers.size(); ++l)
    for (const LayerTensor &tensor : layerTensors(layers[l])) {
      const int64_t count = tensorName(tensor) == "wpe.weight"
                                ? positions * layers[l].hidden
                                : tensor.count;
      const Real *values = model.gradients[l]->get() + tensor.offset;
      result.gradients.emplace_back(values, values + count);
    }
  return result;
}

void expectBitsOfEvenMicrobatch(std::vector<LayerDesc> layers) {
  for (int32_t tokens : {1, 5, 66}) {
    std::vector<LayerDesc> even = layers;
    for (LayerDesc &layer : even) {
      layer.batch = 1;
      layer.sequence = tokens;
    }
    const std::vector<LayerDesc> row = rowsOf(layers, tokens);
    const Result<float> expected = run<float>(even, 0.5, {}, 0, tokens);
    for (const std::vector<int32_t> &documents :
         {std::vector<int32_t>(), {0, tokens}}) {
      const Result<float> result = run<float>(row, 0.5, documents, 0, tokens);
      EXPECT_EQ(result.loss, expected.loss);
      EXPECT_EQ(result.gradients, expected.gradients) << tokens;
    }
  }
}

TEST(Documents, OneDocumentHasTheBitsOfAnEvenMicrobatch) {
  expectBitsOfEvenMicrobatch(gptModel({2, 67, 32, 4, 96, 50}));
  expectBitsOfEvenMicrobatch(llamaModel(llamaSizes));
}

/// The loss of a row is the mean over its tokens, and so are the gradients.
void expectMeanOfDocuments(const std::vector<LayerDesc> &layers) {
  const int32_t all = starts.back();
  const Result<double> together =
      run<double>(rowsOf(layers, all), 1, starts, 0, 67);
  Result<double> sum = together;
  sum.loss = 0;
  for (std::vector<double> &tensor : sum.gradients)
    std::fill(tensor.begin(), tensor.end(), 0.0);
  for (size_t d = 0; d + 1 < starts.size(); ++d) {
    const int32_t tokens = starts[d + 1] - starts[d];
    const double share = rowShare(tokens, all);
    const Result<double> alone =
        run<double>(rowsOf(layers, tokens), share, {0, tokens}, starts[d], 67);
    sum.loss += share * alone.loss;
    for (size_t t = 0; t < sum.gradients.size(); ++t)
      for (size_t i = 0; i < sum.gradients[t].size(); ++i)
        sum.gradients[t][i] += alone.gradients[t][i];
  }
  EXPECT_NEAR(together.loss, sum.loss, 1e-12);
  for (size_t t = 0; t < sum.gradients.size(); ++t)
    for (size_t i = 0; i < sum.gradients[t].size(); ++i)
      ASSERT_NEAR(together.gradients[t][i], sum.gradients[t][i], 1e-12)
          << t << " " << i;
}

TEST(Documents, ARowIsTheMeanOfItsDocuments) {
  expectMeanOfDocuments(gptModel(gptSizes));
  expectMeanOfDocuments(llamaModel(llamaSizes));
}

// Rotations and attention compute each document with the bits of it alone.
TEST(Documents, AttentionHasTheBitsOfEachDocumentAlone) {
  const LayerDesc layer = llamaModel(llamaSizes)[1];
  const int64_t stride = qkvWidth(layer), width = attentionWidth(layer);
  auto attend = [&](int64_t first, int32_t tokens,
                    const std::vector<int32_t> &documents) {
    const LayerDesc row = rowOfDocuments(layer, tokens);
    LayerArgs args{};
    args.documentStarts = documents.data();
    args.numDocuments = static_cast<int32_t>(documents.size()) - 1;
    const TaskDocuments all(row, args);
    std::vector<float> qkv(tokens * stride), output(tokens * width),
        sums(tokens * layer.heads), scratch(AttentionWorkspace(row).all.size()),
        cosines(maxDocumentTokens(row) * headWidth(row) / 2), sines(cosines);
    for (size_t i = 0; i < qkv.size(); ++i)
      qkv[i] = static_cast<float>(
          uniform(1, first * stride + static_cast<int64_t>(i)));
    rotaryTable(row, cosines.data(), sines.data());
    rotate<float>(all, rotatedHeads(row), stride, 1, cosines.data(),
                  sines.data(), qkv.data());
    attentionForward(all, qkv.data(), output.data(), sums.data(),
                     scratch.data());
    return output;
  };
  const std::vector<float> together = attend(0, starts.back(), starts);
  for (size_t d = 0; d + 1 < starts.size(); ++d) {
    const int32_t tokens = starts[d + 1] - starts[d];
    const std::vector<float> alone = attend(starts[d], tokens, {0, tokens});
    EXPECT_EQ(std::vector<float>(together.begin() + starts[d] * width,
                                 together.begin() + starts[d + 1] * width),
              alone)
        << d;
  }
}

TEST(Documents, EqualRowsHaveTheShareOfEvenMicrobatches) {
  for (int64_t microbatches = 1; microbatches < 50; ++microbatches)
    for (int64_t tokens : {1, 3, 1000, 8191})
      EXPECT_EQ(rowShare(tokens, microbatches * tokens),
                1 / static_cast<double>(microbatches));
}

// Buffers follow the tokens of the row, weights the longest document.
TEST(Documents, SizesFollowTheRow) {
  for (const LayerDesc &layer : gptModel(gptSizes)) {
    LayerDesc even = layer;
    even.batch = 1;
    even.sequence = 40;
    const LayerSizes row = layerSizes(rowOfDocuments(layer, 40)),
                     expected = layerSizes(even);
    EXPECT_EQ(row.weights, layerSizes(layer).weights);
    EXPECT_EQ(row.savedForInputGrad, expected.savedForInputGrad);
    EXPECT_EQ(row.savedForWeightGrad, expected.savedForWeightGrad);
    EXPECT_EQ(row.input, expected.input);
    EXPECT_EQ(row.output, expected.output);
    EXPECT_EQ(row.workspace, expected.workspace);
    EXPECT_EQ(row.data, expected.data);
  }
}

} // namespace
} // namespace rondo::runtime
