// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Single kernels against double precision on random input. Buffers start full
// of NaNs and end with a guard.

#include "Checks.h"

#include "runtime/bodies/attention.h"
#include "runtime/bodies/cuda/attention.h"
#include "runtime/bodies/cuda/kernels.h"
#include "runtime/bodies/norm.h"
#include "runtime/model/cuda_layouts.h"

namespace rondo::runtime::cuda {
namespace {

using Types = testing::Types<float, Bf16>;

template <typename T> class Kernels : public DeviceTest {};
TYPED_TEST_SUITE(Kernels, Types);

struct Extent {
  int64_t rows, columns;
};

TYPED_TEST(Kernels, Norm) {
  using T = TypeParam;
  // One row, rows without packs, more rows than a chunk, chunks that end within
  // the rows read at once, and rows of each number of packs a lane, with the
  // longest of a block and of registers and longer ones.
  for (auto [rows, columns] : {Extent{1, 4},
                               {3, 7},
                               {13, 144},
                               {21, 768},
                               {600, 36},
                               {4101, 16},
                               {9, 2052},
                               {5, 1600},
                               {9, 1024},
                               {3, 2048},
                               {2, 2056},
                               {3, 4096},
                               {2, 4104}}) {
    auto x = randoms<T>(1, rows * columns), dy = randoms<T>(2, rows * columns);
    auto residual = randoms<T>(3, rows * columns);
    auto gain = randoms<float>(4, columns), bias = randoms<float>(5, columns);
    std::vector<double> normal(rows * columns), scale(rows), y(rows * columns);
    std::vector<double> dx(rows * columns), grads(2 * columns);
    runtime::normForward<double>(rows, columns, doubles(x).data(),
                                 doubles(gain).data(), doubles(bias).data(),
                                 normal.data(), scale.data(), y.data());
    runtime::normInputGrad<double>(
        rows, columns, doubles(dy).data(), normal.data(), scale.data(),
        doubles(gain).data(), doubles(residual).data(), dx.data(),
        grads.data());

    DeviceArray<T> onX(x), onDy(dy), onResidual(residual);
    DeviceArray<float> onGain(gain), onBias(bias);
    DeviceArray<T> onNormal(rows * columns), onY(rows * columns);
    DeviceArray<T> onDx(rows * columns);
    DeviceArray<float> onScale(rows), onGrads(2 * columns);
    DeviceArray<float> partials(normChunks(rows) * 2 * columns);
    normForward(this->stream, rows, columns, onX.get(), onGain.get(),
                onBias.get(), onNormal.get(), onScale.get(), onY.get());
    this->wait();
    const std::vector<T> madeNormal = onNormal.read();
    normInputGrad(this->stream, rows, columns, onDy.get(), onNormal.get(),
                  onScale.get(), onGain.get(), onBias.get(), onResidual.get(),
                  onDx.get(), onGrads.get(), partials.get());
    this->wait();
    const std::string size =
        " of " + std::to_string(rows) + " x " + std::to_string(columns);
    const double part = tolerance<T>();
    expectClose(madeNormal, normal, part, "normal" + size);
    expectClose(onScale.read(), scale, 1e-5, "scale" + size);
    expectClose(onY.read(), y, part, "y" + size);
    expectClose(onNormal.read(), y, part, "y again" + size);
    expectClose(onDx.read(), dx, part, "dx" + size);
    expectClose(onGrads.read(), grads, part, "gradients" + size);

    // Without a residual, and the same bits each time.
    auto before = onGrads.read();
    onNormal.write(madeNormal);
    normInputGrad<T>(this->stream, rows, columns, onDy.get(), onNormal.get(),
                     onScale.get(), onGain.get(), onBias.get(), nullptr,
                     onDx.get(), onGrads.get(), partials.get());
    this->wait();
    EXPECT_TRUE(same(before, onGrads.read()));
    runtime::normInputGrad<double>(
        rows, columns, doubles(dy).data(), normal.data(), scale.data(),
        doubles(gain).data(), nullptr, dx.data(), grads.data());
    expectClose(onDx.read(), dx, part, "dx without residual" + size);

    // With the sums of the residual and of dx.
    std::vector<double> sums(4 * columns);
    runtime::normInputGrad<double>(
        rows, columns, doubles(dy).data(), normal.data(), scale.data(),
        doubles(gain).data(), doubles(residual).data(), dx.data(), sums.data());
    for (int64_t i = 0; i < rows * columns; ++i) {
      sums[2 * columns + i % columns] += number(residual[i]);
      sums[3 * columns + i % columns] += dx[i];
    }
    DeviceArray<float> onSums(4 * columns);
    DeviceArray<float> more(normChunks(rows) * 4 * columns);
    DeviceArray<T> kept(rows * columns);
    onNormal.write(madeNormal);
    normInputGradKeeping(this->stream, rows, columns, onDy.get(),
                         onNormal.get(), onScale.get(), onGain.get(),
                         onBias.get(), onResidual.get(), kept.get(), onDx.get(),
                         onSums.get(), more.get());
    this->wait();
    expectClose(onDx.read(), dx, part, "dx with sums" + size);
    expectClose(onSums.read(), sums, part, "sums" + size);
    EXPECT_TRUE(same(residual, kept.read())) << "residual" << size;
    expectClose(onNormal.read(), y, part, "y once more" + size);
  }
}

double gelu(double x) {
  return 0.5 * x *
         (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

TYPED_TEST(Kernels, Gelu) {
  using T = TypeParam;
  for (int64_t count : {1, 7, 8, 1000, 4099}) {
    std::vector<T> x(count);
    for (int64_t i = 0; i < count; ++i)
      x[i] = rounded<T>(12 * uniform(1, i));
    // The exponential inside is close to overflow, and beyond.
    if (count > 8)
      for (int i : {0, 1})
        x[i] = rounded<T>(i == 0 ? -10.03 : -40);
    auto grad = randoms<T>(2, count);
    std::vector<double> y(count), dx(count);
    for (int64_t i = 0; i < count; ++i) {
      double value = number(x[i]), step = 1e-5;
      y[i] = gelu(value);
      dx[i] = number(grad[i]) * (gelu(value + step) - gelu(value - step)) /
              (2 * step);
    }
    DeviceArray<T> onX(x), onGrad(grad), onY(count);
    geluForward(this->stream, count, onX.get(), onY.get());
    geluInputGrad(this->stream, count, onX.get(), onGrad.get());
    this->wait();
    expectClose(onY.read(), y, tolerance<T>(), "gelu");
    expectClose(onGrad.read(), dx, tolerance<T>(), "gradient of gelu");
  }
}

// Rows that end within a pack, of one pass of a block, of several, and the
// longest that are kept in shared memory: one logit more is read twice. The
// third row's target is the last logit, and one logit is far above the others.
// The last row is padding.
TYPED_TEST(Kernels, CrossEntropy) {
  using T = TypeParam;
  const int64_t rows = 4;
  const float share = 0.25;
  const int64_t longest = ((112 << 10) - 128) / sizeof(T);
  for (int64_t vocab :
       {int64_t(3), int64_t(7), int64_t(200), int64_t(8192), int64_t(8201),
        int64_t(20011), longest - 1, longest, longest + 1, longest + 4099}) {
    const int64_t stride = (vocab + 63) / 64 * 64, packs = (vocab + 7) / 8 * 8;
    auto values = randoms<T>(vocab, rows * stride);
    values[stride + vocab / 2] = rounded<T>(30);
    const std::vector<int32_t> ids = {0, int32_t(vocab / 3), int32_t(vocab - 1),
                                      -1};
    std::vector<double> losses(rows), sums(rows), grads(rows * packs);
    for (int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < vocab; ++c)
        sum += std::exp(number(values[r * stride + c]));
      sums[r] = std::log(sum);
      if (ids[r] < 0)
        continue;
      losses[r] = sums[r] - number(values[r * stride + ids[r]]);
      for (int64_t c = 0; c < vocab; ++c)
        grads[r * packs + c] =
            (std::exp(number(values[r * stride + c]) - sums[r]) -
             (c == ids[r])) *
            share;
    }
    DeviceArray<T> logits(values);
    DeviceArray<int32_t> targets(ids);
    DeviceArray<float> onLosses(rows), onSums(rows), onShare(1), mean(1);
    const Logits<T> on{rows, vocab, stride, logits.get()};
    auto gradients = [&] {
      this->wait();
      std::vector<T> all = logits.read(), read;
      for (int64_t r = 0; r < rows; ++r)
        read.insert(read.end(), all.begin() + r * stride,
                    all.begin() + r * stride + packs);
      return read;
    };
    crossEntropy(this->stream, on, targets.get(), share, onLosses.get(),
                 onSums.get(), onShare.get());
    meanLoss(this->stream, rows, onLosses.get(), mean.get());
    const std::vector<T> first = gradients();
    const std::string size = " of " + std::to_string(vocab);
    expectClose(first, grads, tolerance<T>(), "gradients" + size);
    expectClose(onLosses.read(), losses, 1e-5, "losses" + size);
    expectClose(onSums.read(), sums, 1e-5, "log-sum-exp" + size);
    EXPECT_NEAR(mean.read()[0], (losses[0] + losses[1] + losses[2]) / rows,
                1e-4);
    for (int64_t c = 0; c < packs; ++c)
      EXPECT_EQ(number(first[(rows - 1) * packs + c]), 0) << size;

    logits.write(values);
    crossEntropyAgain(this->stream, on, targets.get(), onSums.get(),
                      onShare.get());
    EXPECT_TRUE(same(first, gradients())) << "again" << size;
  }
}

/// d = a b + c with plain loops.
std::vector<double> multiplied(int64_t rows, int64_t columns, int64_t inner,
                               const std::vector<double> &a, bool transposedA,
                               const std::vector<double> &b, bool transposedB) {
  std::vector<double> d(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t k = 0; k < inner; ++k)
        d[i * columns + j] += a[transposedA ? k * rows + i : i * inner + k] *
                              b[transposedB ? j * inner + k : k * columns + j];
  return d;
}

TYPED_TEST(Kernels, Products) {
  using T = TypeParam;
  const Workspace scratch;
  const GemmWorkspace workspace = scratch.get();
  for (auto [rows, columns, inner] :
       {std::array<int64_t, 3>{1, 1, 1}, {5, 8, 3}, {33, 24, 40}})
    for (int transposed = 0; transposed < 4; ++transposed) {
      const bool transposedA = transposed & 1, transposedB = transposed & 2;
      auto a = randoms<T>(1, rows * inner), b = randoms<T>(2, inner * columns);
      auto bias = randoms<T>(3, columns), c = randoms<T>(4, rows * columns);
      DeviceArray<T> onA(a), onB(b), onBias(bias), onC(c), onD(rows * columns);
      Product product{};
      product.rows = rows;
      product.columns = columns;
      product.inner = inner;
      product.type = product.resultType = dtypeOf<T>();
      product.a = {onA.get(), transposedA ? rows : inner, transposedA};
      product.b = {onB.get(), transposedB ? inner : columns, transposedB};
      product.d = onD.get();
      product.stride = columns;
      std::vector<double> d = multiplied(rows, columns, inner, doubles(a),
                                         transposedA, doubles(b), transposedB);
      this->gemms->multiply(this->stream, product, workspace);
      this->wait();
      expectClose(onD.read(), d, tolerance<T>(), "product");

      // With a separate residual and a bias.
      product.c = onC.get();
      product.epilogue = Epilogue::Bias;
      product.bias = onBias.get();
      this->gemms->multiply(this->stream, product, workspace);
      this->wait();
      std::vector<double> sum = d;
      for (int64_t i = 0; i < rows * columns; ++i)
        sum[i] += number(c[i]) + number(bias[i % columns]);
      expectClose(onD.read(), sum, tolerance<T>(), "with bias and residual");

      // Added to fp32.
      auto start = randoms<float>(5, rows * columns);
      DeviceArray<float> onSum(start);
      product.epilogue = Epilogue::None;
      product.bias = nullptr;
      product.c = product.d = onSum.get();
      product.resultType = DType::Fp32;
      for (int i = 0; i < 2; ++i)
        this->gemms->multiply(this->stream, product, workspace);
      this->wait();
      for (int64_t i = 0; i < rows * columns; ++i)
        sum[i] = start[i] + 2 * d[i];
      expectClose(onSum.read(), sum, 1e-5, "accumulated");
    }
}

// One setup serves all layers, and the library inspects the addresses when it
// chooses an algorithm: the first ones may be better aligned than later ones.
TYPED_TEST(Kernels, ProductsTakeEveryAlignment) {
  using T = TypeParam;
  const int64_t rows = 3, columns = 8, inner = 8, each = 16 / sizeof(T);
  const Workspace scratch;
  auto a = randoms<T>(1, rows * inner), b = randoms<T>(2, inner * columns);
  auto bias = randoms<T>(3, columns + each);
  DeviceArray<T> onA(a), onB(b), onBias(bias), onD(rows * columns);
  Product product{};
  product.rows = rows;
  product.columns = columns;
  product.inner = inner;
  product.type = product.resultType = dtypeOf<T>();
  product.a = {onA.get(), inner};
  product.b = {onB.get(), columns};
  product.d = onD.get();
  product.stride = columns;
  product.epilogue = Epilogue::Bias;
  const std::vector<double> d =
      multiplied(rows, columns, inner, doubles(a), false, doubles(b), false);
  for (int64_t first : {int64_t(0), each}) {
    product.bias = onBias.get() + first;
    this->gemms->multiply(this->stream, product, scratch.get());
    this->wait();
    std::vector<double> sum = d;
    for (int64_t i = 0; i < rows * columns; ++i)
      sum[i] += number(bias[first + i % columns]);
    expectClose(onD.read(), sum, tolerance<T>(), "with a bias");
  }
}

TEST_F(DeviceTest, ProductsWithGelu) {
  const int64_t rows = 9, columns = 24, inner = 16;
  const Workspace scratch;
  const GemmWorkspace workspace = scratch.get();
  auto a = randoms<Bf16>(1, rows * inner),
       b = randoms<Bf16>(2, inner * columns);
  auto bias = randoms<Bf16>(3, columns);
  DeviceArray<Bf16> onA(a), onB(b), onBias(bias), aux(rows * columns);
  DeviceArray<Bf16> onD(rows * columns);
  Product product{};
  product.rows = rows;
  product.columns = columns;
  product.inner = inner;
  product.type = product.resultType = DType::Bf16;
  product.a = {onA.get(), inner};
  product.b = {onB.get(), columns};
  product.d = onD.get();
  product.stride = columns;
  product.epilogue = Epilogue::BiasGelu;
  product.bias = onBias.get();
  product.aux = aux.get();
  EXPECT_FALSE(
      Gemms(Gemms::GeluFusion::Never).tryGelu(stream, product, workspace));
  Gemms fusing(Gemms::GeluFusion::Always);
  if (!fusing.tryGelu(stream, product, workspace))
    GTEST_SKIP() << "cuBLASLt has no fused GELU here";
  wait();
  std::vector<double> x =
      multiplied(rows, columns, inner, doubles(a), false, doubles(b), false);
  std::vector<double> y(x.size()), dx = x;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] += number(bias[i % columns]);
    y[i] = gelu(x[i]);
    dx[i] *= (gelu(x[i] + 1e-5) - gelu(x[i] - 1e-5)) / 2e-5;
  }
  expectClose(aux.read(), x, 1e-2, "before gelu");
  expectClose(onD.read(), y, 1e-2, "gelu");
  product.epilogue = Epilogue::GeluGrad;
  product.bias = nullptr;
  if (!fusing.tryGelu(stream, product, workspace))
    GTEST_SKIP() << "cuBLASLt has no fused gradient of GELU here";
  wait();
  expectClose(onD.read(), dx, 1e-2, "gradient of gelu");
  product.columns = product.stride = 12;
  EXPECT_FALSE(fusing.tryGelu(stream, product, workspace));
}

// Every padded width, widths not divisible by packs, sequences that end within
// a tile and just after one, several heads and samples.
TEST_F(DeviceTest, AttentionBf16) {
  for (const AttentionShape &shape : {AttentionShape{1, 1, 1, 32},
                                      {2, 67, 2, 36},
                                      {1, 130, 2, 64},
                                      {1, 193, 1, 64},
                                      {1, 290, 1, 48},
                                      {1, 70, 1, 128},
                                      {1, 33, 2, 20},
                                      {1, 128, 1, 32},
                                      {1, 40, 1, 100},
                                      {1, 20, 1, 160}})
    checkAttention<Bf16>(stream, shape);
}

TEST_F(DeviceTest, AttentionFp32) {
  for (const AttentionShape &shape : {AttentionShape{1, 1, 1, 4},
                                      {2, 37, 2, 36},
                                      {1, 66, 1, 64},
                                      {1, 33, 1, 256}})
    checkAttention<float>(stream, shape);
}

} // namespace
} // namespace rondo::runtime::cuda
