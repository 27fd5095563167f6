// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of a Llama's layers against double precision on random input.

#include "../bodies/LlamaModel.h"
#include "Checks.h"

#include "runtime/bodies/activations.h"
#include "runtime/bodies/attention.h"
#include "runtime/bodies/cuda/kernels.h"
#include "runtime/bodies/norm.h"
#include "runtime/model/llama_sizes.h"

namespace rondo::runtime::cuda {
namespace {

template <typename T> class LlamaKernels : public DeviceTest {};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(LlamaKernels, Types);

TYPED_TEST(LlamaKernels, RmsNorm) {
  using T = TypeParam;
  constexpr float epsilon = 1e-2f;
  // One row, rows without packs, more rows than a chunk, chunks that end within
  // the rows read at once, and the longest rows of a block and of registers.
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 4},
                               {3, 7},
                               {600, 36},
                               {21, 768},
                               {4101, 16},
                               {9, 2052},
                               {3, 2048},
                               {3, 4096},
                               {2, 4104}}) {
    auto x = randoms<T>(1, rows * columns), dy = randoms<T>(2, rows * columns);
    auto residual = randoms<T>(3, rows * columns);
    auto gain = randoms<float>(4, columns);
    std::vector<double> normal(rows * columns), scale(rows), y(rows * columns);
    std::vector<double> dx(rows * columns), grads(columns);
    const std::vector<double> gains = doubles(gain);
    rmsNormalise<double>(rows, columns, epsilon, doubles(x).data(),
                         normal.data(), scale.data());
    rmsOutput<double>(rows, columns, normal.data(), gains.data(), y.data());
    runtime::rmsInputGrad<double>(
        rows, columns, doubles(dy).data(), normal.data(), scale.data(),
        gains.data(), doubles(residual).data(), dx.data(), grads.data());

    DeviceArray<T> onX(x), onDy(dy), onResidual(residual);
    DeviceArray<float> onGain(gain);
    DeviceArray<T> onNormal(rows * columns), onY(rows * columns);
    DeviceArray<T> onDx(rows * columns), kept(rows * columns);
    DeviceArray<float> onScale(rows), onGrads(columns);
    DeviceArray<float> partials(normChunks(rows) * columns);
    rmsForward(this->stream, rows, columns, epsilon, onX.get(), onGain.get(),
               onNormal.get(), onScale.get(), onY.get());
    this->wait();
    const std::vector<T> madeNormal = onNormal.read();
    const std::string size =
        " of " + std::to_string(rows) + " x " + std::to_string(columns);
    const double part = tolerance<T>();
    expectClose(madeNormal, normal, part, "normal" + size);
    expectClose(onScale.read(), scale, 1e-5, "scale" + size);
    expectClose(onY.read(), y, part, "y" + size);
    rmsInputGrad<T>(this->stream, rows, columns, onDy.get(), onNormal.get(),
                    onScale.get(), onGain.get(), onResidual.get(), kept.get(),
                    onDx.get(), onGrads.get(), partials.get());
    this->wait();
    expectClose(onNormal.read(), y, part, "y again" + size);
    expectClose(onDx.read(), dx, part, "dx" + size);
    expectClose(onGrads.read(), grads, part, "gradients" + size);
    EXPECT_TRUE(same(residual, kept.read())) << "residual" << size;

    // With neither, and the same bits each time.
    auto before = onGrads.read();
    onNormal.write(madeNormal);
    rmsInputGrad<T>(this->stream, rows, columns, onDy.get(), onNormal.get(),
                    onScale.get(), onGain.get(), nullptr, nullptr, onDx.get(),
                    onGrads.get(), partials.get());
    this->wait();
    EXPECT_TRUE(same(before, onGrads.read()));
    for (int64_t i = 0; i < rows * columns; ++i)
      dx[i] -= number(residual[i]);
    expectClose(onDx.read(), dx, part, "dx without residual" + size);
  }
}

// Rows with packs, and without; gates for which e^-x overflows.
TYPED_TEST(LlamaKernels, Swiglu) {
  using T = TypeParam;
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{1, 1}, {3, 19}, {5, 64}, {2, 2056}}) {
    const int64_t up = packedColumns(columns), stride = 2 * up;
    auto values = randoms<T>(1, rows * stride);
    auto productGrad = randoms<T>(2, rows * columns);
    for (T &value : values)
      value = rounded<T>(6 * number(value));
    if (columns > 1)
      values[0] = rounded<T>(-100);
    std::vector<double> gate(rows * columns), ups(rows * columns);
    auto split = [&](const std::vector<T> &from, int64_t first) {
      std::vector<double> part;
      for (int64_t i = 0; i < rows * columns; ++i)
        part.push_back(
            number(from[i / columns * stride + first + i % columns]));
      return part;
    };
    gate = split(values, 0);
    ups = split(values, up);
    std::vector<double> product(rows * columns);
    runtime::swigluForward(rows * columns, gate.data(), ups.data(),
                           product.data());
    runtime::swigluInputGrad(rows * columns, doubles(productGrad).data(),
                             gate.data(), ups.data());

    DeviceArray<T> onValues(values), onProduct(rows * columns);
    DeviceArray<T> onGrad(productGrad);
    const Gates<T> gates{rows, columns, up, stride, onValues.get()};
    swigluForward(this->stream, gates, onProduct.get());
    swigluInputGrad(this->stream, gates, onGrad.get());
    this->wait();
    const std::vector<T> grads = onValues.read();
    std::vector<T> gateGrad, upGrad;
    for (int64_t i = 0; i < rows * columns; ++i) {
      const int64_t at = i / columns * stride + i % columns;
      gateGrad.push_back(grads[at]);
      upGrad.push_back(grads[at + up]);
    }
    expectClose(onProduct.read(), product, tolerance<T>(), "product");
    expectClose(gateGrad, gate, tolerance<T>(), "gradient of gate");
    expectClose(upGrad, ups, tolerance<T>(), "gradient of up");
  }
}

// Positions that fp32 could not multiply by a frequency to the needed
// precision, and back.
TYPED_TEST(LlamaKernels, FarPositions) {
  using T = TypeParam;
  const LayerDesc layer =
      llamaLayer(LayerKind::LlamaBlock, "h",
                 {{1, 2000, 8, 2, 8, 8}, 1, 4, false, false, false, false});
  const QkvColumns columns(layer);
  const int64_t tokens = numTokens(layer), stride = columns.stride;
  auto values = randoms<T>(1, tokens * stride);
  std::vector<double> cosines(tokens * 2), sines(tokens * 2), rows;
  rotaryTable(layer, cosines.data(), sines.data());
  auto rotated = [&](const std::vector<T> &from) {
    std::vector<T> dense;
    for (int64_t t = 0; t < tokens; ++t)
      dense.insert(dense.end(), from.begin() + t * stride,
                   from.begin() + t * stride + 12);
    return dense;
  };
  // Both heads of q and that of k have no gaps between them.
  ASSERT_EQ(columns.keys, 8);
  rows = doubles(rotated(values));
  rotate<double>(TaskDocuments(layer, LayerArgs{}), 3, 12, 1, cosines.data(),
                 sines.data(), rows.data());
  DeviceArray<T> onValues(values);
  const Documents samples(layer, LayerArgs{});
  headsForward<T>(this->stream, layer, samples, {}, onValues.get());
  this->wait();
  expectClose(rotated(onValues.read()), rows, tolerance<T>(), "rotated");
  headsInputGrad<T>(this->stream, layer, samples, {}, onValues.get(), nullptr,
                    nullptr);
  this->wait();
  expectClose(rotated(onValues.read()), doubles(rotated(values)),
              tolerance<T>(), "turned back");
}

// Groups of 2, 3 and 8 heads that share keys; with gaps; one token; several
// tiles; each padded width.
TEST_F(DeviceTest, GroupedAttentionBf16) {
  for (const AttentionShape &shape :
       {AttentionShape{1, 1, 2, 32, 1, 64, 96, 128},
        {2, 67, 6, 36, 2, 216, 288, 360},
        {1, 130, 2, 64, 1, 128, 192, 256},
        {1, 70, 4, 128, 2, 512, 768, 1024},
        {1, 40, 8, 8, 1, 64, 72, 80},
        {1, 35, 3, 12, 1, 40, 56, 72},
        {1, 20, 2, 160, 1, 320, 480, 640}})
    checkAttention<Bf16>(stream, shape);
}

TEST_F(DeviceTest, GroupedAttentionFp32) {
  for (const AttentionShape &shape :
       {AttentionShape{2, 37, 6, 4, 2, 24, 32, 40},
        {1, 66, 4, 64, 1, 256, 320, 384},
        {1, 35, 3, 12, 1, 40, 56, 72}})
    checkAttention<float>(stream, shape);
}

} // namespace
} // namespace rondo::runtime::cuda
