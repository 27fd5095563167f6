// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A block's W reads the output of GELU that F left, and keeping it takes no
// memory: the gradient of GELU's input takes the place of the input.

#include "DeviceModel.h"

namespace rondo::runtime::cuda {
namespace {

LayerDesc onDevice(const Sizes &sizes, DType dtype) {
  LayerDesc layer = gptLayer(LayerKind::GptBlock, "h0", sizes);
  layer.target = Target::Cuda;
  layer.dtype = dtype;
  return layer;
}

// One part, halves, halves of which the first has more rows, three and nine
// parts, and rows that are not whole packs.
const Sizes someSizes[] = {{1, 5, 12, 3, 20, 7},   {2, 32, 16, 2, 64, 7},
                           {2, 67, 32, 4, 96, 7},  {1, 19, 16, 2, 88, 7},
                           {1, 75, 8, 2, 136, 7},  {1, 7, 4, 1, 19, 7},
                           {1, 33, 20, 2, 133, 7}, {1, 1, 4, 1, 64, 7}};

TEST(KeptGelu, GradientIsWrittenOverWhatWasRead) {
  for (const Sizes &sizes : someSizes)
    for (DType dtype : {DType::Fp32, DType::Bf16}) {
      SCOPED_TRACE(std::to_string(sizes.ffn) + " columns");
      const LayerDesc layer = onDevice(sizes, dtype);
      const BlockSavedForW s(layer);
      const int64_t rows = numTokens(layer), hidden = layer.hidden;
      const int64_t ffn = activationBytes(layer, layer.ffn);
      const int64_t wide = activationBytes(layer, rows * hidden);
      const int64_t atOnce = geluGradRows(rows, hidden, layer.ffn);
      ASSERT_GT(atOnce, 0);
      EXPECT_LE(s.afterGelu + rows * ffn, s.geluGrad);
      for (int64_t first = 0; first < rows; first += atOnce) {
        const int64_t end = smaller(first + atOnce, rows);
        EXPECT_LE(s.geluGrad + end * ffn, s.beforeGelu + first * ffn);
        EXPECT_EQ(first * ffn % 16, 0);
      }
      EXPECT_LE(s.geluGrad + rows * ffn, s.middleGrad);
      EXPECT_LE(s.middleGrad + wide, s.outputGrad);
      EXPECT_LE(s.outputGrad + wide, s.vectorGrads);
      EXPECT_LE(s.beforeGelu + rows * ffn, s.vectorGrads);
      for (int64_t at : {s.geluGrad, s.beforeGelu, s.middleGrad, s.outputGrad,
                         s.vectorGrads})
        EXPECT_EQ(at % bufferAlignment, 0);
    }
}

// Bytes that a block of GPT-2 124M keeps of a token in bf16: norms, attention,
// q, k and v, and two gradients, 8 tensors at 768; GELU's input and output at
// 3072.
TEST(KeptGelu, TakesNoMemory) {
  const LayerDesc layer =
      onDevice({8, 1024, 768, 12, 3072, 50257}, DType::Bf16);
  EXPECT_EQ(geluGradRows(8192, 768, 3072), 4096);
  EXPECT_EQ(layerSizes(layer).savedForWeightGrad,
            int64_t(8192) * 2 * (8 * 768 + 2 * 3072) + 4 * 6 * 768);
}

template <typename T> class KeptGeluOf : public DeviceTest {};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(KeptGeluOf, Types);

template <typename T>
std::vector<T> partOf(const Bytes &buffer, int64_t offset, int64_t count) {
  const std::vector<char> bytes = buffer.read();
  std::vector<T> values(count);
  std::memcpy(values.data(), bytes.data() + offset, count * sizeof(T));
  return values;
}

TYPED_TEST(KeptGeluOf, WReadsWhatFLeft) {
  using T = TypeParam;
  for (auto fusion : {Gemms::GeluFusion::Never, Gemms::GeluFusion::Always})
    for (const Sizes &sizes : someSizes) {
      const std::string what = std::to_string(sizes.ffn) + " columns";
      Gemms products(fusion);
      const Stream stream{this->stream.handle, &products};
      Model<double> reference({gptLayer(LayerKind::GptBlock, "h0", sizes)}, 1,
                              0.5);
      reference.setRandomWeights();
      DeviceModel<T> model(stream, reference, 1);
      const LayerDesc &layer = model.layers[0];
      const BlockSavedForW s(layer);
      const int64_t rows = numTokens(layer), ffn = layer.ffn,
                    hidden = layer.hidden;
      const Bytes &saved = model.keptForW(0, 0);
      model.forward(0);
      const auto left = partOf<T>(saved, s.afterGelu, rows * ffn);
      model.inputGrad(0);
      EXPECT_TRUE(same(partOf<T>(saved, s.afterGelu, rows * ffn), left))
          << what << ": I changed GELU's output";

      // Other numbers show where W reads.
      const std::vector<T> others = randoms<T>(7, rows * ffn);
      writeDevice(saved.get() + s.afterGelu, others.data(),
                  others.size() * sizeof(T));
      const std::vector<double> y = doubles(others);
      const std::vector<double> dy =
          doubles(partOf<T>(saved, s.outputGrad, rows * hidden));
      const std::vector<double> dx =
          doubles(partOf<T>(saved, s.geluGrad, rows * ffn));
      model.weightGrad(0);
      const std::vector<float> gradients = model.gradientsOf(0);
      std::vector<double> fcProj(ffn * hidden), fcBias(ffn);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t f = 0; f < ffn; ++f) {
          fcBias[f] += dx[r * ffn + f];
          for (int64_t h = 0; h < hidden; ++h)
            fcProj[f * hidden + h] += y[r * ffn + f] * dy[r * hidden + h];
        }
      const runtime::BlockWeights at(layer);
      auto part = [&](int64_t offset, size_t count) {
        return std::vector<float>(gradients.begin() + offset,
                                  gradients.begin() + offset + count);
      };
      expectClose(part(at.fcProj, fcProj.size()), fcProj, tolerance<float>(),
                  what + ": gradient of fcProj");
      expectClose(part(at.fcBias, fcBias.size()), fcBias, tolerance<float>(),
                  what + ": gradient of fc's bias");
    }
}

} // namespace
} // namespace rondo::runtime::cuda
