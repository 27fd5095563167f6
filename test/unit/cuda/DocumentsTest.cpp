// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows of documents on CUDA: against the CPU's bodies in double precision, and
// the bits of documents that are alone.

#include "../bodies/LlamaModel.h"
#include "Checks.h"

#include "runtime/model/documents.h"

namespace rondo::runtime::cuda {
namespace {

template <typename T> class DocumentRows : public DeviceTest {};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(DocumentRows, Types);

std::vector<int32_t> startsOf(const std::vector<int32_t> &lengths) {
  std::vector<int32_t> starts = {0};
  for (int32_t length : lengths)
    starts.push_back(starts.back() + length);
  return starts;
}

/// `layers` for a row of `tokens`.
std::vector<LayerDesc> rowsOf(std::vector<LayerDesc> layers, int32_t tokens) {
  for (LayerDesc &layer : layers)
    layer = rowOfDocuments(layer, tokens);
  return layers;
}

/// One ends in part of a tile, and the row is longer than a sequence.
const std::vector<int32_t> starts = startsOf({5, 1, 67, 2, 8});

constexpr Sizes gptSizes = {2, 67, 32, 4, 96, 50};
/// With biases, norms of heads and scaled rotations.
constexpr Llama llamaSizes = {gptSizes, 2, 8, true, true, true, false};

TYPED_TEST(DocumentRows, Gpt) {
  const std::vector<LayerDesc> layers =
      rowsOf(gptModel(gptSizes), starts.back());
  for (const LayerDesc &layer : layers)
    checkModel<TypeParam>(this->stream, {layer}, layer.name, 0.25, starts);
  checkModel<TypeParam>(this->stream, layers, "model", 0.25, starts);
}

TYPED_TEST(DocumentRows, Llama) {
  const std::vector<LayerDesc> layers =
      rowsOf(llamaModel(llamaSizes), starts.back());
  for (const LayerDesc &layer : layers)
    checkModel<TypeParam>(this->stream, {layer}, layer.name, 0.25, starts);
  checkModel<TypeParam>(this->stream, layers, "model", 0.25, starts);
}

// More documents than a warp has lanes, many of which reach a position.
TYPED_TEST(DocumentRows, PositionsOfManyDocuments) {
  std::vector<int32_t> lengths;
  for (int i = 0; i < 75; ++i)
    lengths.push_back(1 + i % 4);
  const std::vector<int32_t> many = startsOf(lengths);
  for (int32_t hidden : {10, 2100})
    checkModel<TypeParam>(this->stream,
                          rowsOf({gptLayer(LayerKind::GptEmbedding, "wte",
                                           {1, 9, hidden, 1, 1, 40})},
                                 many.back()),
                          "embedding", 0.25, many);
}

/// Documents that end just before, at and after the ends of tiles of 16, 64 and
/// 128 rows, and some of one token.
const std::vector<int32_t> tileEnds =
    startsOf({1, 16, 15, 128, 1, 129, 1, 63, 65, 64, 17});

TEST_F(DeviceTest, AttentionOfDocumentsBf16) {
  const int tokens = tileEnds.back();
  for (const AttentionShape &shape :
       {AttentionShape{1, tokens, 2, 32}, AttentionShape{1, tokens, 1, 64},
        AttentionShape{1, tokens, 1, 128}, AttentionShape{1, tokens, 1, 20},
        AttentionShape{1, tokens, 4, 8, 2, 32, 48, 64},
        AttentionShape{1, tokens, 1, 160}})
    checkAttention<Bf16>(stream, shape, tileEnds);
}

TEST_F(DeviceTest, AttentionOfDocumentsFp32) {
  const int tokens = tileEnds.back();
  for (const AttentionShape &shape :
       {AttentionShape{1, tokens, 2, 12},
        AttentionShape{1, tokens, 6, 4, 2, 24, 32, 40}})
    checkAttention<float>(stream, shape, tileEnds);
}

/// The results of attention for a token's row, byte by byte: the output, and
/// the gradients of q, k and v.
template <typename T> struct Attended {
  std::vector<T> output, grads;
};

/// Attends to `count` documents from number `first` on.
template <typename T>
Attended<T> attend(const Stream &stream, AttentionShape shape, size_t first,
                   size_t count) {
  std::vector<int32_t> own;
  for (size_t d = first; d <= first + count; ++d)
    own.push_back(tileEnds[d] - tileEnds[first]);
  const int64_t tokens = own.back(), from = tileEnds[first];
  const DeviceArray<int32_t> onStarts(own);
  shape.documents = Documents(1, static_cast<int>(tokens));
  // One document is a sample.
  if (count > 1) {
    shape.documents.starts = onStarts.get();
    shape.documents.count = static_cast<int>(count);
  }
  auto part = [&](uint64_t stream, int64_t columns) {
    std::vector<T> values(tokens * columns);
    for (int64_t i = 0; i < tokens * columns; ++i)
      values[i] = rounded<T>(2 * uniform(stream, from * columns + i));
    return values;
  };
  DeviceArray<T> qkv(part(1, shape.stride)), output(tokens * shape.hidden());
  DeviceArray<T> grad(part(2, shape.hidden())),
      queryGrad(tokens * shape.hidden());
  DeviceArray<float> sums(tokens * shape.heads), dots(tokens * shape.heads);
  attentionForward<T>(stream, shape, qkv.get(), output.get(), sums.get());
  attentionInputGrad<T>(stream, shape, qkv.get(), output.get(), grad.get(),
                        sums.get(), queryGrad.get(), dots.get());
  RONDO_CUDA(cudaStreamSynchronize(stream.handle));
  return {output.read(), qkv.read()};
}

// A row's documents have the bits of samples of their lengths.
TYPED_TEST(DocumentRows, AttentionHasTheBitsOfEachDocumentAlone) {
  using T = TypeParam;
  for (const AttentionShape &shape :
       {AttentionShape{1, 1, 2, 16, 1, 32, 48, 64}, AttentionShape{1, 1, 1, 64},
        AttentionShape{1, 1, 1, 72}}) {
    const size_t count = tileEnds.size() - 1;
    const Attended<T> together = attend<T>(this->stream, shape, 0, count);
    for (size_t d = 0; d < count; ++d) {
      const Attended<T> alone = attend<T>(this->stream, shape, d, 1);
      auto partOf = [&](const std::vector<T> &values, int64_t columns) {
        return std::vector<T>(values.begin() + tileEnds[d] * columns,
                              values.begin() + tileEnds[d + 1] * columns);
      };
      EXPECT_TRUE(same(partOf(together.output, shape.hidden()), alone.output))
          << "document " << d << " of heads of " << shape.width;
      EXPECT_TRUE(same(partOf(together.grads, shape.stride), alone.grads))
          << "document " << d << " of heads of " << shape.width;
    }
  }
}

/// A loss and all gradients but those of positions after the document.
struct Result {
  double loss;
  std::vector<std::vector<float>> gradients;
};

template <typename T>
Result run(const Stream &stream, const std::vector<LayerDesc> &layers,
           const std::vector<int32_t> &starts, int64_t positions) {
  Model<double> reference(layers, 1, 0.5, starts);
  setWeights<T>(reference);
  DeviceModel<T> model(stream, reference, 1);
  Result result{model.forward(0), {}};
  model.inputGrad(0);
  model.weightGrad(0);
  for (size_t l = 0; l < layers.size(); ++l) {
    const std::vector<float> all = model.gradientsOf(l);
    for (const LayerTensor &tensor : layerTensors(layers[l])) {
      const int64_t count = tensorName(tensor) == "wpe.weight"
                                ? positions * layers[l].hidden
                                : tensor.count;
      result.gradients.emplace_back(all.begin() + tensor.offset,
                                    all.begin() + tensor.offset + count);
    }
  }
  return result;
}

template <typename T>
void expectBitsOfEvenMicrobatch(const Stream &stream,
                                const std::vector<LayerDesc> &layers) {
  for (int32_t tokens : {1, 5, 66}) {
    std::vector<LayerDesc> even = layers;
    for (LayerDesc &layer : even) {
      layer.batch = 1;
      layer.sequence = tokens;
    }
    const Result expected = run<T>(stream, even, {}, tokens);
    const Result result =
        run<T>(stream, rowsOf(layers, tokens), {0, tokens}, tokens);
    EXPECT_EQ(result.loss, expected.loss);
    EXPECT_EQ(result.gradients, expected.gradients) << tokens;
  }
}

TYPED_TEST(DocumentRows, OneDocumentHasTheBitsOfAnEvenMicrobatch) {
  expectBitsOfEvenMicrobatch<TypeParam>(this->stream, gptModel(gptSizes));
  expectBitsOfEvenMicrobatch<TypeParam>(this->stream, llamaModel(llamaSizes));
}

// A row has at most one block more for each document than tiles of its length.
TEST(DocumentGrid, FollowsTheRow) {
  Documents row(1, 1000);
  const int32_t any = 0;
  row.starts = &any;
  row.count = 7;
  EXPECT_EQ(row.gridOf<128>(3).x, 7u + 7u);
  EXPECT_EQ(row.gridOf<128>(3).y, 3u);
  EXPECT_EQ(row.gridOf<128>(3).z, 1u);
  EXPECT_EQ(Documents(7, 1000).gridOf<128>(3).x, 8u);
  EXPECT_EQ(Documents(7, 1000).gridOf<128>(3).z, 7u);
}

} // namespace
} // namespace rondo::runtime::cuda
